/** Formats fields and their types as rows of Markdown tables. */
import {
  type Document,
  type DocumentedSchema,
  resolved,
  schemaName,
} from "../../routes/docs/document.ts";
import { bounds, type DocumentedField, typeName } from "../../routes/docs/fields.tsx";

/** Types that need no section of their own. */
const PLAIN_TYPES: Readonly<Record<string, string>> = {
  Instant: "instant",
  DayOrInstant: "day or instant",
  JsonObject: "object",
  JsonValue: "any JSON value",
  ErrorCode: "[code](ERRORS.md)",
};

/** Formats a table; empty for no rows. */
export function fieldTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Returns name, type and meaning of a field; an asterisk marks a required one. */
export function fieldRow(
  document: Document,
  { name, required, schema }: DocumentedField,
): string[] {
  const { description = "", default: value } = schema;
  const meaning = value === undefined ? description : `${description} Default: \`${value}\`.`;
  return [`\`${name}\`${required ? " \\*" : ""}`, typeText(document, schema), meaning.trim()];
}

/** Describes the values that a schema allows. */
export function typeText(document: Document, schema: DocumentedSchema): string {
  if (schema.$ref !== undefined) return referenceText(document, schema.$ref);
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants !== undefined) {
    return variants.map((variant) => typeText(document, variant)).join(" or ");
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.type === "array") {
    const limit = schema.maxItems === undefined ? "" : ` of up to ${schema.maxItems}`;
    return `list${limit}: ${typeText(document, schema.items ?? {})}`;
  }
  return `${typeName(schema)}${bounds(schema)}`;
}

function referenceText(document: Document, ref: string): string {
  const name = schemaName(ref);
  const plain = PLAIN_TYPES[name];
  if (plain !== undefined) return plain;
  const schema = resolved(document, { $ref: ref });
  if (schema.properties !== undefined) return `[${name}](#${name.toLowerCase()})`;
  return typeText(document, schema);
}
