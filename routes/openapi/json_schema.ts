/** From Zod schemas to the JSON Schemas of one document, each named one standing there once. */
import { z } from "zod";

/** Where a schema's meta data has the notes for its fields: no field has such a name. */
export const NOTES = "x-notes";

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
    });
    for (const [name, definition] of Object.entries($defs)) {
      this.#named.set(name, finished(definition));
    }
    return finished(properties?.value ?? {});
  }

  /** The named schemas, in the order of their names. */
  named(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => a < b ? -1 : 1));
  }
}

/** A schema as the document has it: references lead to its named ones, notes stand with their fields. */
function finished(schema: unknown): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
  return JSON.parse(text, (_, value) => value?.[NOTES] === undefined ? value : withNotes(value));
}

/** Puts the notes of a body (see `bodyOf`) to its fields. */
function withNotes(
  { [NOTES]: notes, ...schema }: Record<string, Record<string, unknown>>,
): JsonSchema {
  const noted = Object.entries(notes ?? {}).map(([name, description]) => {
    const field = schema.properties?.[name] as JsonSchema;
    return [name, { ...field, description }];
  });
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(noted) } };
}
