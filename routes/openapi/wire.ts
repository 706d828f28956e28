/**
 * Bodies of responses. Each field is declared once, with its type and with how its value is read: the
 * document takes the schemas, and handlers write the JSON.
 */
import { z } from "zod";
import { exactCount, type RawJson, rawOf } from "../../domain/core/raw_json.ts";
import { anyJson } from "../../domain/core/fields.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { object as jsonObject } from "../../domain/ingest/form.ts";
import { dollars as exactDollars, type Picodollars } from "../../domain/pricing/money.ts";
import { cursor, idOf } from "./fields.ts";

/** A field of an object that is written from a `Source`. */
export interface WireField<Source> {
  readonly schema: z.ZodType;
  /** Writes the value; undefined to leave the field out. */
  readonly write: (source: Source) => RawJson | undefined;
}

/** Fields by name, in the order of the object. */
export type WireFields<Source> = Readonly<Record<string, WireField<Source>>>;

/** Keys of the properties that have values of a type. */
type KeyOf<Source, Value> = {
  [Key in keyof Source]-?: Source[Key] extends Value ? Key : never;
}[keyof Source];

/** Declares a field with the value of a property, or the one that a function returns. */
type Declare<Value> = <Source>(
  from: KeyOf<Source, Value> | ((source: Source) => Value),
  description?: string,
) => WireField<Source>;

/** A type of values. Calling it declares a field of the type. */
export type Wire<Value> = Declare<Value> & {
  readonly schema: z.ZodType;
  readonly write: (value: Value) => RawJson;
  /** Declares a field that is null without a value. */
  readonly orNull: Declare<Value | null | undefined>;
  /** Declares a field that is left out without a value. */
  readonly optional: Declare<Value | undefined>;
};

const NULL = rawOf(null);

/** Creates a type from its schema. */
export function wire<Value>(schema: z.ZodType<Value>): Wire<Value>;
export function wire<Value>(schema: z.ZodType, write: (value: Value) => RawJson): Wire<Value>;
export function wire<Value>(
  schema: z.ZodType,
  write: (value: Value) => RawJson = rawOf,
): Wire<Value> {
  const declare =
    (type: () => z.ZodType, absent?: RawJson): Declare<Value | null | undefined> =>
    (from, description) => ({
      schema: description === undefined ? type() : type().describe(description),
      write: (source) => {
        const value = typeof from === "function" ? from(source) : source[from] as Value;
        if (value === undefined) return absent;
        return value === null ? NULL : write(value);
      },
    });
  return Object.assign(declare(() => schema), {
    schema,
    write,
    orNull: declare(() => schema.nullable(), NULL),
    optional: declare(() => schema.optional()),
  });
}

/** Type of an object, which the document stores under a name. */
export function object<Source>(
  id: string,
  fields: WireFields<Source>,
  description?: string,
): Wire<Source> {
  const members = Object.entries(fields);
  const schema = z.object(Object.fromEntries(members.map(([name, field]) => [name, field.schema])));
  return wire(
    schema.meta({ id, ...description === undefined ? {} : { description } }),
    writerOf(members),
  );
}

/** Creates the function that writes an object; its names are encoded once. */
function writerOf<Source>(
  members: readonly (readonly [string, WireField<Source>])[],
): (source: Source) => RawJson {
  const fields = members.map(([name, { write }]) => ({ start: `${rawOf(name)}:`, write }));
  return (source) => {
    let text = "";
    for (const { start, write } of fields) {
      const value = write(source);
      if (value !== undefined) text += `${text === "" ? "" : ","}${start}${value}`;
    }
    return `{${text}}` as RawJson;
  };
}

/** Type of a list. */
export function list<Value>({ schema, write }: Wire<Value>): Wire<readonly Value[]> {
  return wire(z.array(schema), (values) => `[${values.map(write).join(",")}]` as RawJson);
}

/** A page of a list. */
export interface Page<Value> {
  readonly items: readonly Value[];
  readonly cursor: string | null;
}

/** Type of a page of a list whose items have the name `items`. */
export function page<Value>(id: string, items: string, item: Wire<Value>): Wire<Page<Value>> {
  return object(id, {
    [items]: list(item)((page: Page<Value>) => page.items),
    cursor: nextCursor("cursor"),
  });
}

/** One of `words`, which the document stores under a name. */
export function oneOf<Word extends string>(
  id: string,
  words: readonly [Word, ...Word[]],
): Wire<Word> {
  return wire(z.enum(words).meta({ id }));
}

/** An id with a prefix and a region. */
export function id(prefix: string): Wire<string> {
  return wire(idOf(prefix));
}

export const text: Wire<string> = wire(z.string());

export const boolean: Wire<boolean> = wire(z.boolean());

export const integer: Wire<number> = wire(z.number().meta({ type: "integer" }));

/** A non-negative integer. */
export const count: Wire<number | bigint> = wire(
  z.number().meta({ type: "integer", minimum: 0 }),
  (value) => rawOf(typeof value === "bigint" ? exactCount(value) : value),
);

/** An amount, exact to the picodollar. */
export const dollars: Wire<Picodollars> = wire(
  z.number().meta({ minimum: 0 }),
  (amount) => rawOf(exactDollars(amount)),
);

/** An instant from unix milliseconds. */
export const instant: Wire<number> = wire(
  z.string().meta({ format: "date-time" }),
  (ms) => rawOf(formatInstant(ms)),
);

/** A UTC day. */
export const day: Wire<string> = wire(z.string().meta({ format: "date" }));

export const anyObject: Wire<object> = wire<object>(jsonObject);

/** JSON as sent. */
export const sentJson: Wire<RawJson> = wire(anyJson, (json) => json);

export const jobState = oneOf("JobState", ["waiting", "running", "done"]);

/** Cursor of the next page. */
export const nextCursor = wire(
  cursor.nullable().describe(
    "Value for the parameter of the same name to get the next page; null on the last page.",
  ),
);
