/** Form fields with their errors, and the conversion of forms to bodies of API calls. */
import type { Child, PropsWithChildren } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import type { Body } from "../../../domain/core/body.ts";
import type { Texts } from "./texts.ts";

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
}

/** Returns what a form knows of each field: its name, its text and the problem. */
export function formFields(texts: Texts, problem: Problem | null) {
  return (name: string, fallback = "") => ({ name, value: texts[name] ?? fallback, problem });
}

/** A one-line text field; a multi-line one with `rows`. */
export function Field(props: FieldProps) {
  const { name, label, value = "", problem = null, of = name, hint, rows } = props;
  const message = messageAt(problem, of);
  const { required, maxlength, min, max, placeholder, list } = props;
  const attributes = {
    id: `field-${name}`,
    name,
    ...described(name, hint, message),
    ...{ required, maxlength, min, max, placeholder, list },
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
    "aria-invalid": message === null ? undefined : "true" as const,
  };
}

interface LabeledInputProps extends Pick<FieldProps, "name" | "label" | "problem" | "hint"> {
  readonly value: string;
  readonly type?: "text" | "date";
  /** Additional attributes. */
  readonly attributes?: Readonly<Record<string, string | boolean>>;
}

/** An input inside its label, for forms with their fields in a row. */
export function LabeledInput(props: LabeledInputProps) {
  const { name, label, value, problem = null, hint, type = "text", attributes = {} } = props;
  const message = messageAt(problem, name);
  const id = `${name}-problem`;
  return (
    <label>
      {label}
      <input
        {...{ type, name, value, ...attributes }}
        {...(message === null ? {} : { "aria-invalid": "true", "aria-describedby": id })}
      />
      {message !== null && <small id={id}>{message}.</small>}
      {hint !== undefined && <small>{hint}</small>}
    </label>
  );
}

interface LabeledSelectProps extends Pick<SelectProps, "name" | "label" | "options"> {
  /** Null if the request has none. */
  readonly value: string | null;
}

/** A drop-down inside its label. */
export function LabeledSelect({ name, label, value, options }: LabeledSelectProps) {
  return (
    <label>
      {label}
      <select name={name}>
        {options.map(([option, text]) => (
          <option value={option} selected={option === value}>{text}</option>
        ))}
      </select>
    </label>
  );
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

interface ConfirmFormProps {
  readonly action: string;
  readonly title: string;
  readonly submit: string;
  /** Class of the button; by default that of a removal. */
  readonly submitClass?: string;
  /** Label of the link that cancels. */
  readonly cancel?: string;
  readonly cancelTo: string;
  readonly children?: Child;
}

/** A form that asks for confirmation of an action. */
export function ConfirmForm(props: ConfirmFormProps) {
  const { submitClass = "btn danger", cancel = "Keep it" } = props;
  return (
    <form class="confirm" method="post" action={props.action}>
      <h2>{props.title}</h2>
      {props.children}
      <div class="buttons">
        <button type="submit" class={submitClass}>{props.submit}</button>
        <a href={props.cancelTo} class="btn">{cancel}</a>
      </div>
    </form>
  );
}
