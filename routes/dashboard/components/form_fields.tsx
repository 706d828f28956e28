/** Form fields with their errors, and the conversion of forms to bodies of API calls. */
import type { Child, PropsWithChildren } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import { capitalized } from "./format.ts";
import type { Body } from "../../../domain/core/body.ts";

/** Builds the body of the API call equivalent to a form, for that call's parser. */
export function bodyOf(value: Body["value"]): Body {
  return { text: JSON.stringify(value), value };
}

export interface FieldProps {
  readonly name: string;
  readonly label: string;
  /** The typed text, or the stored one. */
  readonly value?: string;
  /** The reason for a rejection; shown here if it names this field. */
  readonly problem?: Problem | null;
  /** Name of the field in the problem, if it differs from `name`. */
  readonly of?: string;
  readonly hint?: Child | undefined;
  readonly type?: "text" | "email" | "date" | "number";
  readonly required?: boolean;
  readonly maxlength?: number;
  readonly min?: number;
  readonly max?: number;
  readonly rows?: number;
  readonly placeholder?: string;
  /** Id of a list of suggestions. */
  readonly list?: string;
  readonly inputmode?: "numeric" | "decimal";
  /** Regular expression that the text must match. */
  readonly pattern?: string;
  /** True for code. Then the place of its problem is always there, for scripts to fill in. */
  readonly isCode?: boolean;
}

/** Returns what a form knows of each field: its name, its text and the problem. */
export function formFields(texts: Texts, problem: Problem | null) {
  return (name: string, fallback = "") => ({ name, value: texts[name] ?? fallback, problem });
}

const DAY = {
  placeholder: "YYYY-MM-DD",
  pattern: "\\d{4}-\\d{2}-\\d{2}",
  hint: "Such as 2026-01-31.",
};

type FieldMore = Omit<FieldProps, "name" | "label" | "value" | "problem">;

/**
 * Returns builders of a form's fields, which know their texts and the problem.
 *
 * @param prefix begins the names of the fields in the form; the texts are without it
 */
export function formOf(texts: Texts, problem: Problem | null, prefix = "") {
  const known = (name: string) => ({ name: prefix + name, value: texts[name] ?? "", problem });
  const text = (name: string, label: string, more: FieldMore = {}) => (
    <Field {...known(name)} label={label} {...more} />
  );
  return {
    /** A text field. */
    text,
    /** A UTC day as text: a browser's date field orders day and month by its locale. */
    day: (name: string, label: string) => text(name, label, DAY),
    /** A drop-down field; an option without a label of its own is its label. */
    choice: (
      name: string,
      label: string,
      options: readonly (string | Option)[],
      more: Pick<FieldProps, "hint"> = {},
    ) => (
      <Select
        {...known(name)}
        label={label}
        options={options.map((option) => typeof option === "string" ? [option, option] : option)}
        {...more}
      />
    ),
  };
}

/** A one-line text field; a multi-line one with `rows`. */
export function Field(props: FieldProps) {
  const { name, label, value = "", problem = null, of = name, hint, rows, isCode = false } = props;
  const message = messageAt(problem, of) ?? (isCode ? "" : null);
  const { required, maxlength, min, max, placeholder, list, inputmode, pattern } = props;
  const attributes = {
    id: `field-${name}`,
    name,
    ...described(name, hint, message),
    ...{ required, maxlength, min, max, placeholder, list, inputmode, pattern },
    ...isCode && { class: "expression", spellcheck: false, autocapitalize: "off" as const },
  };
  return (
    <FieldRow {...{ name, label, message, hint }}>
      {rows === undefined
        ? <input type={props.type ?? "text"} value={value} autocomplete="off" {...attributes} />
        : <textarea rows={rows} {...attributes}>{value}</textarea>}
    </FieldRow>
  );
}

/** A value with its label. */
export type Option = readonly [value: string, text: string];

interface SelectProps extends Pick<FieldProps, "name" | "label" | "problem" | "hint"> {
  readonly value: string;
  readonly options: readonly Option[];
}

/** A drop-down field. An unknown value becomes an option of its own. */
export function Select({ name, label, value, options, problem = null, hint }: SelectProps) {
  const message = messageAt(problem, name);
  const isKnown = options.some(([option]) => option === value);
  return (
    <FieldRow {...{ name, label, message, hint }}>
      <select id={`field-${name}`} name={name} {...described(name, hint, message)}>
        {options.map(([option, text]) => (
          <option value={option} selected={option === value}>{text}</option>
        ))}
        {isKnown ? null : <option value={value} selected>{value}</option>}
      </select>
    </FieldRow>
  );
}

type FieldRowProps = Pick<FieldProps, "name" | "label" | "hint"> & { message: string | null };

function FieldRow({ name, label, message, hint, children }: PropsWithChildren<FieldRowProps>) {
  return (
    <div class="labeled">
      <label for={`field-${name}`}>{label}</label>
      {children}
      {message !== null && <small id={`${name}-problem`} class="wrong">{message}</small>}
      {hint !== undefined && <small id={`${name}-hint`}>{hint}</small>}
    </div>
  );
}

function messageAt(problem: Problem | null, field: string): string | null {
  return problem?.field === field ? problem.message : null;
}

function described(name: string, hint: Child | undefined, message: string | null) {
  const ids = [
    ...message === null ? [] : [`${name}-problem`],
    ...hint === undefined ? [] : [`${name}-hint`],
  ];
  return {
    "aria-describedby": ids.length === 0 ? undefined : ids.join(" "),
    "aria-invalid": message ? "true" as const : undefined,
  };
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
export function atFormField(
  problem: Problem | null,
  renamed: Readonly<Record<string, string>> = {},
): Problem | null {
  const [, field, message] = NAMED.exec(problem?.message ?? "") ?? [];
  if (problem === null || field === undefined || message === undefined) return problem;
  return {
    ...problem,
    field: renamed[field] ?? field,
    message: capitalized(message),
  };
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
