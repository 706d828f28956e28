/** Converts Zod schemas to the JSON Schemas of one document; each named schema is written once. */
import { z } from "zod";

/** A JSON Schema as a plain object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Collects the named schemas of a document. */
export class SchemaBook {
  readonly #named = new Map<string, JsonSchema>();

  /** Returns the JSON Schema of a Zod schema; for a named schema, a reference. */
  write(schema: z.ZodType): JsonSchema {
    // Wrapped, so that a named schema is treated alike at the top level and nested.
    const json = z.toJSONSchema(z.object({ value: schema }), {
      io: "input",
      unrepresentable: "any",
    });
    const { properties, $defs = {} } = JSON.parse(
      JSON.stringify(json)
        .replaceAll('"#/$defs/', '"#/components/schemas/')
        .replaceAll('"additionalProperties":{}', '"additionalProperties":true'),
    );
    for (const [name, definition] of Object.entries($defs)) {
      this.#named.set(name, definition as JsonSchema);
    }
    return properties.value;
  }

  /** Returns the named schemas, sorted by name. */
  named(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => a < b ? -1 : 1));
  }
}
