/** Fields and parameters as tables. */
import type { Child } from "hono/jsx";
import { type DocumentedSchema, schemaName } from "./document.ts";

/** Renders plain text in which backquotes mark code. */
export function Prose({ text }: { readonly text: string }) {
  return text.split("`").map((part, at) => at % 2 === 1 ? <code>{part}</code> : part);
}

/** One row of a table of fields. */
export interface DocumentedField {
  readonly name: string;
  readonly required: boolean;
  readonly schema: DocumentedSchema;
}

/** Renders a table; `ids` are the anchors of its rows. */
export function DocumentedTable({ head = [], rows, ids = [] }: {
  readonly head?: readonly string[];
  readonly rows: readonly (readonly Child[])[];
  readonly ids?: readonly string[];
}) {
  return (
    <div class="wide" tabindex={0}>
      <table>
        {head.length === 0 ? null : <tr>{head.map((name) => <th>{name}</th>)}</tr>}
        {rows.map((cells, at) => <tr id={ids[at]}>{cells.map((cell) => <td>{cell}</td>)}</tr>)}
      </table>
    </div>
  );
}

/** Renders a table of fields; null without fields. */
export function FieldTable({ fields }: { readonly fields: readonly DocumentedField[] }) {
  if (fields.length === 0) return null;
  const rows = fields.map(({ name, required, schema }) => [
    <>
      <code>{name}</code>
      {required ? " *" : ""}
    </>,
    <Type schema={schema} />,
    <>
      <Prose text={schema.description ?? ""} />
      {schema.default === undefined ? "" : ` Default: ${schema.default}.`}
    </>,
  ]);
  return <DocumentedTable head={["name", "type", "description"]} rows={rows} />;
}

/** Returns the fields of an object; nested fields follow theirs with a dotted name. */
export function documentedFields(schema: DocumentedSchema, within = ""): DocumentedField[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    const name = `${within}${key}`;
    const required = schema.required?.includes(key) ?? false;
    const inner = partOf(field);
    const inside = inner.type === "array" ? partOf(inner.items ?? {}) : inner;
    const mark = inner.type === "array" ? "[]" : "";
    return [{ name, required, schema: field }, ...documentedFields(inside, `${name}${mark}.`)];
  });
}

/** Returns a body's field without null, which always means absent. */
export function sentField({ name, required, schema }: DocumentedField): DocumentedField {
  const { description = "" } = schema;
  return { name, required, schema: required ? schema : { ...partOf(schema), description } };
}

/** Returns a schema without its null alternative. */
function partOf(schema: DocumentedSchema): DocumentedSchema {
  return schema.anyOf?.find(({ type }) => type !== "null") ?? schema;
}

/** Separates the items of a list. */
export function joined(items: readonly Child[], separator: string): Child[] {
  return items.flatMap((item, at) => at === 0 ? [item] : [separator, item]);
}

/** Renders the type of a value briefly. */
export function Type({ schema }: { readonly schema: DocumentedSchema }) {
  if (schema.$ref !== undefined) {
    const name = schemaName(schema.$ref);
    return <a href={`#schema-${name}`}>{name}</a>;
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) {
    return joined(alternatives.map((alternative) => <Type schema={alternative} />), " or ");
  }
  if (schema.enum !== undefined) {
    return joined(schema.enum.map((value) => <code>{String(value)}</code>), ", ");
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

/** Returns the name of a scalar type. */
function typeName({ type, format, pattern }: DocumentedSchema): string {
  const id = /^\^([a-z]+)_\(eu\|us\)/.exec(pattern ?? "")?.[1];
  if (id !== undefined) return `id ${id}_…`;
  if (format === "date-time") return "instant";
  if (format === "date") return "day";
  return [type ?? "anything"].flat().join(" or ");
}

/** Returns the bounds of a value, except the safe integer range. */
function bounds({ minimum, maximum, minLength, maxLength }: DocumentedSchema): string {
  const top = Math.abs(maximum ?? 0) >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const low = Math.abs(minimum ?? 0) >= Number.MAX_SAFE_INTEGER ? undefined : minimum;
  if (maxLength !== undefined) return `, ${minLength ?? 0} to ${maxLength} characters`;
  if (top !== undefined) return `, ${low ?? ""} to ${top}`;
  return low === undefined ? "" : `, from ${low}`;
}
