/** Fields of forms, with what is wrong with them beside them, and forms as the bodies that the API takes. */
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import type { Body } from "../../../domain/core/body.ts";

/** Fields of a form as the body of the call that does the same, for the parser of that call. */
export function bodyOf(value: Body["value"]): Body {
  return { text: JSON.stringify(value), value };
}

/** What a field has besides its name. */
export interface FieldProps {
  readonly name: string;
  readonly label: string;
  /** What was typed, or what is known. */
  readonly value?: string;
  /** Why the form was refused; shown here when it is about this field. */
  readonly problem?: Problem | null;
  /** The field of the problem, where it has another name. */
  readonly of?: string;
  readonly hint?: Child;
  readonly type?: "text" | "email" | "date" | "number";
  readonly required?: boolean;
  readonly maxlength?: number;
  readonly min?: number;
  readonly max?: number;
  readonly rows?: number;
  readonly placeholder?: string;
}

/** A line of text; several lines with `rows`. */
export function Field(props: FieldProps) {
  const { name, label, value = "", problem = null, of = name, hint, rows } = props;
  const message = problem?.field === of ? problem.message : null;
  const shared = {
    id: `field-${name}`,
    name,
    ...described(name, hint, message),
    ...rulesOf(props),
  };
  return (
    <div class="field">
      <label for={shared.id}>{label}</label>
      {rows === undefined
        ? <input type={props.type ?? "text"} value={value} autocomplete="off" {...shared} />
        : <textarea rows={rows} {...shared}>{value}</textarea>}
      {message === null ? null : <small id={`${name}-problem`} class="wrong">{message}</small>}
      {hint === undefined ? null : <small id={`${name}-hint`}>{hint}</small>}
    </div>
  );
}

function rulesOf({ required, maxlength, min, max, placeholder }: FieldProps) {
  const rules = { required, maxlength, min, max, placeholder };
  return Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== undefined));
}

function described(name: string, hint: Child | undefined, message: string | null) {
  const ids = [
    ...message === null ? [] : [`${name}-problem`],
    ...hint === undefined ? [] : [`${name}-hint`],
  ];
  return {
    ...ids.length === 0 ? {} : { "aria-describedby": ids.join(" ") },
    ...message === null ? {} : { "aria-invalid": "true" },
  };
}

/** One of several words; what was typed is shown also where it is none of them. */
export function Choice(
  { name, label, value, words, problem = null, hint }: {
    readonly name: string;
    readonly label: string;
    readonly value: string;
    /** Each with what people read. */
    readonly words: readonly (readonly [string, string])[];
    /** Why the form was refused; shown here when it is about this field. */
    readonly problem?: Problem | null;
    readonly hint?: Child;
  },
) {
  const id = `field-${name}`;
  const message = problem?.field === name ? problem.message : null;
  const isWord = words.some(([word]) => word === value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} {...described(name, hint, message)}>
        {words.map(([word, text]) => <option value={word} selected={word === value}>{text}
        </option>)}
        {isWord ? null : <option value={value} selected>{value}</option>}
      </select>
      {message === null ? null : <small id={`${name}-problem`} class="wrong">{message}</small>}
      {hint === undefined ? null : <small id={`${name}-hint`}>{hint}</small>}
    </div>
  );
}

/** Why a form was refused, where that is about none of its fields. */
export function FormProblem(
  { problem, fields }: { readonly problem: Problem | null; readonly fields: readonly string[] },
) {
  if (problem === null || fields.includes(problem.field ?? "")) return null;
  return <p role="alert" class="notice bad">{problem.message}.</p>;
}
