/**
 * Forms of configured objects. The schema of a kind fills a form, decides the element of each field,
 * and reads a submitted form as the body of the API's call.
 */
import type { Child, PropsWithChildren } from "hono/jsx";
import { z } from "zod";
import { sentSchema } from "../../../domain/config/body.ts";
import type { ObjectKind } from "../../../domain/config/objects.ts";
import type { JsonFields } from "../../../domain/core/body.ts";
import { type Problem, Refused } from "../../../domain/core/errors.ts";
import { isObject } from "../../../domain/core/raw_json.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { durationWord, parseDuration } from "../../../domain/monitors/schedule.ts";
import { InlineNotice } from "../components/elements.tsx";
import {
  atFormField,
  CheckBoxes,
  Field,
  type FieldProps,
  FormProblem,
  listIn,
  type Texts,
} from "../components/form_fields.tsx";

/** Values of a form by name; a field may have several. */
export type FormValues = URLSearchParams;

/** Reads a submitted form. Browsers end lines with CR and LF. */
export function submitted(form: URLSearchParams): FormValues {
  return new URLSearchParams(
    [...form].map(([name, text]) => [name, text.trim().replaceAll("\r\n", "\n")]),
  );
}

type Shape = Readonly<Record<string, z.ZodType>>;

type SomeSchema = Pick<ObjectKind<never, never>, "schema" | "variants">;

/** Returns the schema of a form: of the variant that it names, else of the first one. */
export function schemaOf({ schema, variants }: SomeSchema, form: FormValues): z.ZodObject {
  if (variants === undefined) return schema;
  const { field, schemas } = variants;
  return schemas[form.get(field) ?? ""] ?? Object.values(schemas)[0] ?? schema;
}

/** Returns the fields of a schema; those of objects in it are fields of the form too. */
function fieldsIn(schema: z.ZodObject): readonly (readonly [name: string, field: z.ZodType])[] {
  return Object.entries(schema.shape as Shape)
    .flatMap(([name, field]) => {
      const sent = sentSchema(field);
      return sent instanceof z.ZodObject ? fieldsIn(sent) : [[name, field] as const];
    });
}

/** Returns the names of the fields of an object in a form's schema, such as `params`. */
export function namesIn(of: SomeSchema, form: FormValues, part: string): readonly string[] {
  const sent = sentSchema((schemaOf(of, form).shape as Shape)[part] ?? z.unknown());
  return sent instanceof z.ZodObject ? Object.keys(sent.shape) : [];
}

/** Fields of seconds, which forms have as texts such as "2h". */
function isDuration(name: string): boolean {
  return name.endsWith("seconds");
}

/** Fills in a form from a body; a field that the body lacks has its default. */
export function filledForm(of: SomeSchema, body: JsonFields): FormValues {
  const form = new URLSearchParams();
  const add = (name: string, value: unknown) => {
    if (Array.isArray(value)) value.forEach((item) => form.append(name, String(item)));
    else form.set(name, textOf(name, value));
  };
  const fill = (schema: z.ZodObject, body: JsonFields) => {
    for (const [name, field] of Object.entries(schema.shape as Shape)) {
      const sent = sentSchema(field);
      const value = body[name];
      const whenAbsent = field.safeParse(undefined);
      if (sent instanceof z.ZodObject) fill(sent, isObject(value) ? value : {});
      else add(name, name in body || !whenAbsent.success ? value : whenAbsent.data);
    }
  };
  const variant = of.variants?.field ?? "";
  fill(schemaOf(of, new URLSearchParams([[variant, String(body[variant])]])), body);
  // The slug, and fields that the form has in addition.
  const more = Object.entries(body).filter(([name]) => !form.has(name));
  for (const [name, value] of more) if (typeof value === "string") form.set(name, value);
  return form;
}

function textOf(name: string, value: unknown): string {
  if (isObject(value)) return Object.entries(value).map((pair) => pair.join(": ")).join("\n");
  if (!isDuration(name)) return String(value ?? "");
  return typeof value === "number" && value > 0 ? durationWord(value) : "";
}

/** Reads a form as a body; an empty text is absent. */
export function bodyIn(schema: z.ZodObject, form: FormValues): Record<string, unknown> {
  const values = Object.entries(schema.shape as Shape)
    .map(([name, field]) => [name, valueIn(sentSchema(field), name, form)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function valueIn(type: z.ZodType, name: string, form: FormValues): unknown {
  if (type instanceof z.ZodObject) return bodyIn(type, form);
  if (type instanceof z.ZodBoolean) return form.get(name) === "true";
  if (type instanceof z.ZodArray) {
    const items = form.getAll(name).flatMap(listIn);
    // Boxes of which none is checked are not sent; an empty text is.
    if (items.length === 0 && form.has(name)) return undefined;
    const isOfNumbers = [z.ZodLiteral, z.ZodNumber].some((of) => type.element instanceof of);
    return isOfNumbers ? items.map(readNumber) : items;
  }
  const text = form.get(name) ?? "";
  if (text === "") return undefined;
  if (type instanceof z.ZodRecord) return pairsIn(text);
  if (!(type instanceof z.ZodNumber)) return text;
  return isDuration(name) ? parseDuration(text) : readNumber(text);
}

/** Returns other text unchanged, for the API's parser to reject. */
function readNumber(text: string): number | string {
  return /^-?\d{0,15}\.?\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Reads lines such as `Name: value`. A line without a colon is a name without a value. */
function pairsIn(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => {
    const [name = "", ...rest] = line.split(":");
    return [name.trim(), rest.join(":").trim()];
  }));
}

/** Returns when a time of a typed length ends; refuses a text that is no duration. */
export function endAfter(text: string, fromMs: number): string {
  const seconds = parseDuration(text);
  if (seconds === null) throw wrongField("lasts", "a duration such as 30m, 2h or 7d");
  // A far year has no instant to send; the parser refuses the latest one.
  return formatInstant(Math.min(fromMs + seconds * 1_000, INSTANT_MAX));
}

/** Latest instant that a form sends, unix milliseconds. */
const INSTANT_MAX = Date.UTC(9999, 0, 1);

/** Returns the refusal of a field's text. */
export function wrongField(field: string, needed: string): Refused {
  return new Refused({ code: "invalid_field", message: `Must be ${needed}`, field });
}

/** Refuses a form with a text that should be a duration and is none. */
export function checkDurations(form: FormValues): void {
  const field = [...form].find(([name, text]) =>
    isDuration(name) && text !== "" && parseDuration(text) === null
  )?.[0];
  if (field !== undefined) throw wrongField(field, "a duration such as 90s, 15m, 2h or 1d");
}

/** Returns whether a form is of a stored object: version 0 replaces no other object. */
export function isStored(form: FormValues): boolean {
  return form.get("version") !== "0";
}

/** Attributes of a field that its schema does not imply. */
type More = Partial<Omit<FieldProps, "name" | "label" | "hint" | "value" | "problem" | "of">>;

/** Builds the element of a field: its schema decides which one, and its bounds. */
export type FieldBuilder = (name: string, label: string, hint?: string, more?: More) => Child;

/** Returns the builder of fields, which knows the values of a form and the problem. */
function builderOf(schema: z.ZodObject, form: FormValues, problem: Problem | null): FieldBuilder {
  const types = new Map(fieldsIn(schema));
  return (name, label, hint, more = {}) => {
    const declared = types.get(name);
    const type = declared === undefined ? undefined : sentSchema(declared);
    const values = form.getAll(name);
    const words = wordsOf(type);
    if (type instanceof z.ZodBoolean) {
      return (
        <label>
          <input type="checkbox" name={name} value="true" checked={values[0] === "true"} />
          {label}
        </label>
      );
    }
    if (type instanceof z.ZodArray && (more.options ?? words) !== undefined) {
      const options = more.options ?? words ?? [];
      return <CheckBoxes {...{ name, label, options, problem, hint }} chosen={values} />;
    }
    const options = more.options ?? words;
    return (
      <Field
        {...{ name, label, problem, hint }}
        value={values.join(", ")}
        {...options === undefined ? boundsOf(name, declared, type) : { options }}
        {...more}
      />
    );
  };
}

/** Returns the values that a field chooses from; undefined if it takes others. */
function wordsOf(type: z.ZodType | undefined): readonly string[] | undefined {
  if (type instanceof z.ZodArray) return wordsOf(type.element as z.ZodType);
  if (type instanceof z.ZodEnum) return type.options.map(String);
  return type instanceof z.ZodLiteral ? [...type.values].map(String) : undefined;
}

/** Returns the attributes that a schema implies. */
function boundsOf(name: string, field: z.ZodType | undefined, type: z.ZodType | undefined): More {
  if (field === undefined) return {};
  const { maxLength } = type?.meta() ?? {};
  return {
    ...!field.safeParse(undefined).success && { required: true },
    ...typeof maxLength === "number" && { maxlength: maxLength },
    ...type instanceof z.ZodNumber && type.format === "safeint" && !isDuration(name) &&
      { type: "number", min: type.minValue ?? undefined, max: type.maxValue ?? undefined },
  };
}

/** A form with what it offers. */
export interface OpenForm {
  /** Values of the form of a new object, besides the defaults of the schema. */
  readonly empty?: JsonFields;
  readonly fields: (field: FieldBuilder, form: FormValues) => Child;
  /** Fields of the form by the field of the body, where they differ. */
  readonly renamed?: Texts;
}

const SLUG_HINT = "Lower-case letters, digits, dots, dashes and underscores.";

/** The state of a form that was sent: why it is refused, or what its dry run found. */
export interface SentForm {
  readonly problem?: Problem | null;
  /** True if the form was sent to try it, so that the reason stands below it too. */
  readonly isTrial?: boolean;
  readonly tried?: Child;
}

type Named = Pick<ObjectFormProps["pages"], "of" | "listPath">;

/** Returns the path of the form of a new object. It has two segments, so no object can have it. */
export function newPathOf({ listPath, of: { kind } }: Named): string {
  return `${listPath}/new/${kind}`;
}

/** Returns the path of dry runs. */
export function trialPathOf(pages: Named): string {
  return `${newPathOf(pages)}/trial`;
}

interface ObjectFormProps extends SentForm {
  readonly pages: {
    readonly of: SomeSchema & { readonly kind: string };
    /** Path that the form is sent to. */
    readonly listPath: string;
    /** False for objects that have no name of their own, as the monitor of an agent. */
    readonly hasSlug?: boolean;
    /** The button of a dry run. */
    readonly trial?: { readonly label: string };
  };
  readonly open: OpenForm;
  readonly form: FormValues;
}

/** The form of an object: its name, the fields of its kind, and the button that saves it. */
export function ObjectForm({ pages, open, form, ...sent }: ObjectFormProps) {
  const { of, listPath, hasSlug = true, trial } = pages;
  const { kind, variants: { field: variant } = { field: "" } } = of;
  const schema = schemaOf(of, form);
  const problem = inSeconds(atFormField(sent.problem ?? null, open.renamed));
  const build = builderOf(schema, form, problem);
  const labels = new Map<string, string>();
  const codes: string[] = [];
  const field: FieldBuilder = (name, label, hint, more = {}) => {
    labels.set(name, label);
    if (more.isCode) codes.push(name);
    return build(name, label, hint, more);
  };
  const fields = open.fields(field, form);
  const exists = isStored(form);
  const example = `my-${(form.get(variant) ?? kind).replace("_", "-")}`;
  const hidden = [
    "version",
    ...variant === "" ? [] : [variant],
    ...exists && hasSlug ? ["slug"] : [],
  ];
  const shown = [
    "slug",
    ...fieldsIn(schema).map(([name]) => name),
    ...Object.values(open.renamed ?? {}),
  ];
  return (
    <form class="narrow" method="post" action={listPath}>
      <FormProblem
        problem={sent.isTrial ? null : problem}
        fields={shown.filter((name) => !hidden.includes(name))}
      />
      {hidden.map((name) => <input type="hidden" name={name} value={form.get(name) ?? ""} />)}
      {!exists && hasSlug &&
        field("slug", "Name", SLUG_HINT, { required: true, maxlength: 64, placeholder: example })}
      {fields}
      <div class="buttons">
        <button type="submit" class="btn main">{exists ? "Save" : `Create ${kind}`}</button>
        {trial && <TryButton path={trialPathOf(pages)} codes={codes}>{trial.label}</TryButton>}
      </div>
      {trial && (
        <div id="trial" role="status">
          {sent.isTrial && problem !== null
            ? <InlineNotice kind="bad">{reasonIn(problem, labels, codes)}</InlineNotice>
            : sent.tried}
        </div>
      )}
    </form>
  );
}

/** Adds the unit to the bounds of a duration, which the form has as a text. */
function inSeconds(problem: Problem | null): Problem | null {
  if (problem === null || !isDuration(problem.field ?? "")) return problem;
  const message = problem.message.replace(/^Must be an integer/, "Must, in seconds, be an integer")
    .replace(/: got ""$/, "");
  return { ...problem, message };
}

/** Names the field of a problem: scripts show only the result of a dry run, and code's own problem. */
function reasonIn(
  { field = "", message }: Problem,
  labels: ReadonlyMap<string, string>,
  codes: readonly string[],
) {
  const label = labels.get(field);
  if (label === undefined) return <p>{message}.</p>;
  const reason = message.charAt(0).toLowerCase() + message.slice(1);
  return <p>{codes.includes(field) ? "Nothing was tried: see above." : `${label}: ${reason}.`}</p>;
}

/** Sends the form as it is typed to a dry run; without scripts, it leads to a page. */
export function TryButton({ path, codes = [], children, ...field }: PropsWithChildren<{
  readonly path: string;
  readonly codes?: readonly string[];
  readonly name?: string;
  readonly value?: string;
}>) {
  return (
    <button
      type="submit"
      class="btn"
      formaction={path}
      hx-post={path}
      hx-target="#trial"
      hx-swap="innerHTML"
      hx-select="#trial > *, main > .empty"
      hx-select-oob={codes.map((name) => `#${name}-problem`).join() || undefined}
      hx-sync="this:drop"
      {...field}
    >
      {children}
    </button>
  );
}
