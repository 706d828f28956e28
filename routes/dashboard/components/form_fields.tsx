/** Form fields with their errors, and the conversion of forms to bodies of API calls. */
import type { Child, JSX } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import { capitalized } from "./format.ts";
import type { Body } from "../../../domain/core/body.ts";

/** Builds the body of the API call equivalent to a form, for that call's parser. */
export function bodyOf(value: Body["value"]): Body {
  return { text: JSON.stringify(value), value };
}

type InputAttributes = Omit<JSX.IntrinsicElements["input"], "name" | "value" | "children">;

/** A value with its label. */
export type Option = readonly [value: string, text: string];

export interface FieldProps extends InputAttributes {
  /** Set if the field takes several names by commas: then the script completes each of them. */
  readonly "data-names"?: "";
  readonly name: string;
  readonly label: string;
  /** The typed text, or the stored one. */
  readonly value?: string | null;
  /** The reason for a rejection; shown here if it names this field. */
  readonly problem?: Problem | null;
  /** Name of the field in the problem, if it differs from `name`. */
  readonly of?: string;
  readonly hint?: Child | undefined;
  /** Lines of a text area. */
  readonly rows?: number;
  /** True for code. Then the place of its problem is always there, for scripts to fill in. */
  readonly isCode?: boolean;
  /** Options of a drop-down field; one without a label of its own is its label. */
  readonly options?: readonly (string | Option)[];
}

const DAY = {
  placeholder: "YYYY-MM-DD",
  pattern: "\\d{4}-\\d{2}-\\d{2}",
  hint: "Such as 2026-01-31.",
};

type More = Omit<FieldProps, "name" | "label">;

/**
 * Returns builders of a form's fields, which know their texts and the problem.
 *
 * @param prefix begins the names of the fields in the form; the texts are without it
 */
export function formOf(texts: Texts, problem: Problem | null, prefix = "") {
  const text = (name: string, label: string, more: More = {}) => (
    <Field name={prefix + name} value={texts[name] ?? ""} {...{ label, problem }} {...more} />
  );
  return {
    /** A text field. */
    text,
    /** A UTC day as text: a browser's date field orders day and month by its locale. */
    day: (name: string, label: string) => text(name, label, DAY),
    /** A drop-down field. */
    choice: (name: string, label: string, options: NonNullable<More["options"]>, more: More = {}) =>
      text(name, label, { options, ...more }),
  };
}

/** A text field; a text area with `rows`, a drop-down field with `options`. */
export function Field({ name, label, problem = null, of = name, hint, ...field }: FieldProps) {
  const { value = "", rows, options, isCode = false, ...more } = field;
  const message = problem?.field === of ? problem.message : isCode ? "" : null;
  const [id, problemId, hintId] = [`field-${name}`, `${name}-problem`, `${name}-hint`];
  const described = [message !== null && problemId, hint !== undefined && hintId].filter(Boolean);
  const all = {
    id,
    name,
    "aria-describedby": described.join(" ") || undefined,
    "aria-invalid": message ? "true" as const : undefined,
    ...more,
    ...isCode && { class: "expression", spellcheck: false, autocapitalize: "off" as const },
  };
  return (
    <div class="labeled">
      <label for={id}>{label}</label>
      {options !== undefined
        ? (
          <select {...all}>
            {withUnknown(options, [value ?? ""]).map(([option, text]) => (
              <option value={option} selected={option === value}>{text}</option>
            ))}
          </select>
        )
        : rows !== undefined
        ? <textarea rows={rows} {...all}>{value}</textarea>
        : <input type="text" value={value ?? ""} autocomplete="off" {...all} />}
      {message !== null && <small id={problemId} class="wrong">{message}</small>}
      {hint !== undefined && <small id={hintId}>{hint}</small>}
    </div>
  );
}

/** Adds the chosen values that are no options. */
function withUnknown<Text>(
  options: readonly (string | readonly [string, Text])[],
  chosen: readonly string[],
) {
  const known = options.map((option) =>
    typeof option === "string" ? [option, option] as const : option
  );
  const unknown = chosen.filter((value) => !known.some(([option]) => option === value));
  return [...known, ...unknown.map((value) => [value, value] as const)];
}

/** The reason a form was rejected, unless a field shows it. */
export function FormProblem(
  { problem, fields }: { readonly problem: Problem | null; readonly fields: readonly string[] },
) {
  if (problem === null || fields.includes(problem.field ?? "")) return null;
  return <p role="alert" class="notice bad">{problem.message}.</p>;
}

/**
 * Reads an integer from a field. Returns other text unchanged, for the API's parser to reject;
 * undefined for no text.
 */
export function readInteger(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return /^-?\d{1,15}$/.test(trimmed) ? Number(trimmed) : trimmed;
}

export type Texts = Readonly<Record<string, string>>;

/**
 * Reads fields of a submitted form by their names without `prefix`; an absent field is empty.
 * Browsers end lines with CR and LF.
 */
export function readTexts(form: URLSearchParams, names: readonly string[], prefix = ""): Texts {
  const textOf = (name: string) => (form.get(prefix + name) ?? "").trim().replaceAll("\r\n", "\n");
  return Object.fromEntries(names.map((name) => [name, textOf(name)]));
}

/** Fills in fields from stored values; a field without a value is empty. */
export function textsOf(names: readonly string[], values: object): Texts {
  const fields: Record<string, unknown> = { ...values };
  return Object.fromEntries(names.map((name) => [name, String(fields[name] ?? "")]));
}

/** Converts the fields that are filled in to values of a body. */
export function valuesIn(
  texts: Texts,
  convert: (text: string, name: string) => unknown,
  names: readonly string[] = Object.keys(texts),
): Record<string, unknown> {
  const filled = names.map((name) => [name, texts[name] ?? ""] as const)
    .filter(([, text]) => text !== "");
  return Object.fromEntries(filled.map(([name, text]) => [name, convert(text, name)]));
}

/** Names a field of a body: the object that it is in, its own name, and the place in a list. */
const NAMED = /^Field "(?:[a-z]+\.)?([a-z_]+)(?:[.[][^"]*)?" (.*)/s;

/**
 * Returns a problem at the field that its message names, in words that follow the field's label.
 *
 * @param renamed fields of the form by the field of the body, where they differ
 */
export function atFormField(problem: Problem | null, renamed: Texts = {}): Problem | null {
  const [, field, message] = NAMED.exec(problem?.message ?? "") ?? [];
  if (problem === null || field === undefined || message === undefined) return problem;
  return { ...problem, field: renamed[field] ?? field, message: capitalized(message) };
}

/** Splits a text at commas and line ends; returns the parts that are not empty. */
export function listIn(text: string): readonly string[] {
  return text.split(/[,\n]/).map((part) => part.trim()).filter((part) => part !== "");
}

/** Refusal of a text that names no object. */
export const WRONG_SLUG: Problem = {
  code: "invalid_field",
  message: "Must begin with a letter or digit; up to 64 characters a-z, 0-9, dot, dash, underscore",
  field: "slug",
};

/** Check boxes with one name. A chosen value that is no option is an option of its own. */
export function CheckBoxes({ name, label, options, chosen, problem, hint }: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (string | readonly [value: string, text: Child])[];
  readonly chosen: readonly string[];
  readonly problem: Problem | null;
  readonly hint?: string | undefined;
}) {
  const message = problem?.field === name ? problem.message : null;
  return (
    <fieldset
      class="choices"
      aria-invalid={message === null ? undefined : "true"}
      aria-describedby={message === null ? undefined : `${name}-problem`}
    >
      <legend>{label}</legend>
      {withUnknown(options, chosen).map(([value, text]) => (
        <label>
          <input type="checkbox" name={name} value={value} checked={chosen.includes(value)} />
          {text}
        </label>
      ))}
      {message !== null && <small id={`${name}-problem`} class="wrong">{message}</small>}
      {hint !== undefined && <small>{hint}</small>}
    </fieldset>
  );
}
