/** From Zod schemas to the JSON Schemas of one document, each named one standing there once. */
import { z } from "zod";

/** A JSON Schema as a plain object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Collects the named schemas of a document. */
export class SchemaBook {
  readonly #named = new Map<string, JsonSchema>();

  /** The schema of a value as it is sent; of a named one, a reference to it. */
  write(schema: z.ZodType): JsonSchema {
    // Wrapped, so that a named schema is treated alike wherever it stands.
    const { properties, $defs = {} } = z.toJSONSchema(z.object({ value: schema }), {
      io: "input",
      unrepresentable: "any",
      override: ({ jsonSchema }) => addNotes(jsonSchema),
    });
    for (const [name, definition] of Object.entries($defs)) {
      this.#named.set(name, relinked(definition));
    }
    return relinked(properties?.value ?? {});
  }

  /** The named schemas, in the order of their names. */
  named(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => a < b ? -1 : 1));
  }
}

/** Puts the notes of a body (see `bodyOf`) to its fields. */
function addNotes(schema: Record<string, unknown>): void {
  const notes = schema.notes as Record<string, string> | undefined;
  if (notes === undefined) return;
  delete schema.notes;
  const properties = schema.properties as Record<string, Record<string, unknown>>;
  for (const [name, note] of Object.entries(notes)) {
    properties[name] = { ...properties[name], description: note };
  }
}

/** A schema whose references lead to where the document keeps named ones. */
function relinked(schema: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}
