/** Forms of configured objects: rules, channels, silences, checks. */
import type { Child } from "hono/jsx";
import type { ConfigKind } from "../../../domain/config/objects.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { isObject } from "../../../domain/core/raw_json.ts";
import { durationWord, parseDuration } from "../../../domain/monitors/schedule.ts";
import type { View } from "../layout/page.ts";
import {
  atFormField,
  CheckBoxes,
  formOf,
  FormProblem,
  listIn,
  type Option,
  readInteger,
  readTexts,
  type Texts,
  valuesIn,
} from "./form_fields.tsx";

/** The content of a form: fields with one value, and fields with several. */
export interface Typed {
  readonly texts: Texts;
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

/** Reads a submitted form; `lists` names its fields with several values. */
export function typedIn(form: URLSearchParams, lists: readonly string[]): Typed {
  return {
    texts: readTexts(form, [...form.keys()]),
    lists: Object.fromEntries(lists.map((name) => [name, form.getAll(name)])),
  };
}

/** Objects in a body whose fields are fields of the form. */
const PARTS: readonly string[] = ["params", "match"];

/** Fills in a form from a body. A list can be a text with commas, or boxes that are checked. */
export function typedOf(body: Readonly<Record<string, unknown>>): Typed {
  const fields = Object.entries(body).flatMap(([name, value]) =>
    PARTS.includes(name) && isObject(value) ? Object.entries(value) : [[name, value] as const]
  );
  const texts = fields.map(([name, value]) => [name, textOf(name, value)] as const);
  const lists = fields.flatMap(([name, value]) =>
    Array.isArray(value) ? [[name, value.map(String)] as const] : []
  );
  return { texts: Object.fromEntries(texts), lists: Object.fromEntries(lists) };
}

function textOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.join(", ");
  if (!DURATIONS.includes(name)) return String(value ?? "");
  return typeof value === "number" && value > 0 ? durationWord(value) : "";
}

/** Fields of seconds, which forms have as texts such as "2h". */
const DURATIONS: readonly string[] = ["seconds", "renotify_seconds"];

/** Refuses a text that is no duration. */
export function wrongDuration({ texts }: Typed): Problem | null {
  const field = DURATIONS.find((name) => parseDuration(texts[name] || "1d") === null);
  const message = "Must be a duration such as 90s, 15m, 2h or 1d";
  return field === undefined ? null : { code: "invalid_field", message, field };
}

/** Readers of fields that several kinds have. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  version: readInteger,
  seconds: parseDuration,
  renotify_seconds: parseDuration,
  agents: listIn,
  customers: listIn,
  features: listIn,
  checks: listIn,
};

/** Fields of boxes with a value of their own; one that is not checked is not sent. */
const TICKS: readonly string[] = ["enabled", "default", "include_error"];

/** Reads fields as values of a body: `readers` convert texts, and an empty text is absent. */
export function valuesOf(
  { texts, lists }: Typed,
  names: readonly string[],
  readers: typeof READERS = {},
): Record<string, unknown> {
  return {
    ...valuesIn(texts, (text, name) => (readers[name] ?? READERS[name] ?? String)(text), names),
    ...Object.fromEntries(Object.entries(lists).filter(([name]) => names.includes(name))),
    ...Object.fromEntries(
      TICKS.filter((name) => names.includes(name)).map((name) => [name, texts[name] === "true"]),
    ),
  };
}

/** Returns whether a form is of a stored object: version 0 replaces no other object. */
export function isStored({ texts }: Typed): boolean {
  return texts["version"] !== "0";
}

/** Returns builders of fields, which know the typed texts and the problem. */
function fieldsOf(typed: Typed, problem: Problem | null) {
  const { text, choice } = formOf(typed.texts, problem);
  return {
    text: (name: string, label: string, hint?: string, more?: Parameters<typeof text>[2]) =>
      text(name, label, { hint, ...more }),
    choice: (name: string, label: string, options: readonly (string | Option)[], hint?: string) =>
      choice(name, label, options, { hint }),
    boxes: (name: string, label: string, options: readonly (string | Option)[], hint?: string) => (
      <CheckBoxes {...{ name, label, options, problem, hint }} chosen={typed.lists[name] ?? []} />
    ),
    tick: (name: string, label: string) => (
      <label>
        <input type="checkbox" name={name} value="true" checked={typed.texts[name] === "true"} />
        {label}
      </label>
    ),
  };
}

export type Fields = ReturnType<typeof fieldsOf>;

/** One kind of objects on pages. */
export interface ObjectPages {
  readonly kind: ConfigKind;
  readonly listPath: string;
  readonly newPath: string;
  /**
   * The field that names the kind of an object, and all kinds with their words: each has a form of
   * its own.
   */
  readonly kinds?: readonly [
    field: string,
    labels: Readonly<Record<string, string>>,
    words: Readonly<Record<string, string>>,
  ];
}

/** A form with what it offers. */
export interface OpenForm {
  /** Content of the form of a new object. */
  readonly empty: Typed;
  readonly fields: (form: Fields, typed: Typed) => Child;
  /** Shown after the button that saves. */
  readonly buttons?: Child;
  /** Shown below the buttons. */
  readonly below?: Child;
  /** Adds tabs or explanations to the page. */
  readonly frame: (view: View) => View;
}

const SLUG_HINT = "Lower-case letters, digits, dots, dashes and underscores.";

interface ObjectFormProps {
  readonly pages: ObjectPages;
  readonly open: Omit<OpenForm, "frame" | "empty">;
  readonly typed: Typed;
  readonly problem?: Problem | null;
}

/** The form of an object: its name, the fields of its kind, and the button that saves it. */
export function ObjectForm({ pages, open, typed, problem: found = null }: ObjectFormProps) {
  const { kind, listPath, kinds: [kindField] = [] } = pages;
  const { texts } = typed;
  const problem = atFormField(found);
  const form = fieldsOf(typed, problem);
  const exists = isStored(typed);
  const example = `my-${(texts[kindField ?? ""] ?? kind).replace("_", "-")}`;
  const names = [...Object.keys(texts), ...Object.keys(typed.lists)]
    .filter((name) => name !== "version" && name !== kindField && !(exists && name === "slug"));
  return (
    <form class="narrow" method="post" action={listPath}>
      <FormProblem problem={problem} fields={names} />
      {kindField && <input type="hidden" name={kindField} value={texts[kindField]} />}
      <input type="hidden" name="version" value={texts["version"]} />
      {exists
        ? <input type="hidden" name="slug" value={texts["slug"]} />
        : form.text("slug", "Name", SLUG_HINT, {
          required: true,
          maxlength: 64,
          placeholder: example,
        })}
      {open.fields(form, typed)}
      <div class="buttons">
        <button type="submit" class="btn main">{exists ? "Save" : `Create ${kind}`}</button>
        {open.buttons}
      </div>
      {open.below}
    </form>
  );
}
