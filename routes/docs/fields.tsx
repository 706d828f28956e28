/** Fields and parameters as tables. */
import { type DocumentedSchema, schemaName } from "./document.ts";

/** Plain text in which backquotes mark names. */
export function Prose({ text }: { readonly text: string }) {
  return text.split("`").map((part, at) => at % 2 === 1 ? <code>{part}</code> : part);
}

/** One line of a table of fields. */
export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: DocumentedSchema;
}

/** A table of fields; nothing for none. */
export function FieldTable({ fields }: { readonly fields: readonly Field[] }) {
  if (fields.length === 0) return null;
  return (
    <div class="wide" tabindex={0}>
      <table>
        <tr>
          <th>name</th>
          <th>type</th>
          <th>meaning</th>
        </tr>
        {fields.map(({ name, required, schema }) => (
          <tr>
            <td>
              <code>{name}</code>
              {required ? " *" : ""}
            </td>
            <td>
              <Type schema={schema} />
            </td>
            <td>
              <Prose text={schema.description ?? ""} />
              {schema.default === undefined ? "" : ` Default: ${schema.default}.`}
            </td>
          </tr>
        ))}
      </table>
    </div>
  );
}

/** The fields of an object, those of objects inside it behind them with a dotted name. */
export function documentedFields(schema: DocumentedSchema, within = ""): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    const name = `${within}${key}`;
    const required = schema.required?.includes(key) ?? false;
    const inner = partOf(field);
    const inside = inner.type === "array" ? partOf(inner.items ?? {}) : inner;
    const mark = inner.type === "array" ? "[]" : "";
    return [{ name, required, schema: field }, ...documentedFields(inside, `${name}${mark}.`)];
  });
}

/** A field of a body: that null is as absent is said once for all of them. */
export function sentField({ name, required, schema }: Field): Field {
  const { description = "" } = schema;
  return { name, required, schema: required ? schema : { ...partOf(schema), description } };
}

/** A schema without the null that stands for an absent field. */
function partOf(schema: DocumentedSchema): DocumentedSchema {
  return schema.anyOf?.find(({ type }) => type !== "null") ?? schema;
}

/** What a value must be, in a few words. */
export function Type({ schema }: { readonly schema: DocumentedSchema }) {
  if (schema.$ref !== undefined) {
    const name = schemaName(schema.$ref);
    return <a href={`#schema-${name}`}>{name}</a>;
  }
  const ways = schema.anyOf ?? schema.oneOf;
  if (ways !== undefined) {
    return ways.map((way, at) => (
      <>
        {at === 0 ? "" : " or "}
        <Type schema={way} />
      </>
    ));
  }
  if (schema.enum !== undefined) {
    return schema.enum.map((word, at) => (
      <>
        {at === 0 ? "" : ", "}
        <code>{String(word)}</code>
      </>
    ));
  }
  if (schema.const !== undefined) return <code>{String(schema.const)}</code>;
  if (schema.type === "array") {
    return (
      <>
        list{schema.maxItems === undefined ? "" : ` of up to ${schema.maxItems}`}:{" "}
        <Type schema={schema.items ?? {}} />
      </>
    );
  }
  return `${typeName(schema)}${bounds(schema)}`;
}

/** The kind of value that a schema without parts allows, in a word or two. */
export function typeName({ type, format, pattern }: DocumentedSchema): string {
  const id = /^\^([a-z]+)_\(eu\|us\)/.exec(pattern ?? "")?.[1];
  if (id !== undefined) return `id ${id}_…`;
  if (format === "date-time") return "instant";
  if (format === "date") return "day";
  return [type ?? "anything"].flat().join(" or ");
}

/** Bounds that say more than how far integers go. */
export function bounds({ minimum, maximum, minLength, maxLength }: DocumentedSchema): string {
  const top = Math.abs(maximum ?? 0) >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const low = Math.abs(minimum ?? 0) >= Number.MAX_SAFE_INTEGER ? undefined : minimum;
  if (maxLength !== undefined) return `, ${minLength ?? 0} to ${maxLength} characters`;
  if (top !== undefined) return `, ${low ?? ""} to ${top}`;
  return low === undefined ? "" : `, from ${low}`;
}
