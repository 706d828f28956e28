/** From Zod schemas to the JSON Schemas of one document, each named one standing there once. */
import { z } from "zod";
import { type JsonSchema, ofPlace, sharedName, sharedSchema } from "./shared.ts";

/** Where a schema's meta data has the notes for its fields: no field has such a name. */
export const NOTES = "x-notes";

/** Where a schema's meta data has the names of the objects inside it, by field. */
export const PARTS = "x-part-names";

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
      this.#named.set(name, this.#finished(definition));
    }
    return this.#finished(properties?.value ?? {});
  }

  /** The named schemas, in the order of their names. */
  named(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => a < b ? -1 : 1));
  }

  /** A schema as the document has it: references lead to named ones, notes stand with their fields. */
  #finished(schema: unknown): JsonSchema {
    const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
    return JSON.parse(text, (key, value) => {
      // Values of these keys are no schemas, whatever they look like.
      if (typeof value !== "object" || value === null || LITERAL.has(key)) return value;
      if (key === "additionalProperties" && Object.keys(value).length === 0) return true;
      return this.#shared(value[NOTES] === undefined ? value : this.#withNotes(value));
    });
  }

  /** Replaces a shared schema by a reference. */
  #shared(schema: JsonSchema): JsonSchema {
    const { type, ...rest } = schema;
    if (Array.isArray(type) && type.includes("object")) {
      // Apart from null, so that the object can have a name.
      const ways = type.map((each) =>
        each === "object" ? this.#shared({ ...rest, type: each }) : { type: each }
      );
      return { anyOf: ways, ...ofPlace(rest) };
    }
    // A schema of any value looks like an object without fields: a body's field that is one is named there.
    const name = type === undefined ? undefined : sharedName(schema);
    return name === undefined ? schema : this.#reference(name, schema);
  }

  #reference(name: string, schema: JsonSchema): JsonSchema {
    this.#named.set(name, sharedSchema(name));
    return reference(name, schema);
  }

  /** Puts the notes of a body (see `bodyOf`) to its fields, and the objects inside it under their names. */
  #withNotes(
    { [NOTES]: notes, [PARTS]: parts, ...schema }: Record<string, Record<string, unknown>>,
  ): JsonSchema {
    const properties = { ...schema.properties };
    for (const [field, name] of Object.entries(parts ?? {})) {
      properties[field] = this.#hoisted(properties[field] as JsonSchema, name as string);
    }
    for (const [field, part] of Object.entries(properties)) {
      const ways = (part as JsonSchema).anyOf as JsonSchema[] | undefined ?? [part as JsonSchema];
      const any = ways.find((way) => sharedName(way) === "JsonValue");
      if (any !== undefined) properties[field] = this.#reference("JsonValue", any);
    }
    for (const [field, description] of Object.entries(notes ?? {})) {
      properties[field] = { ...properties[field] as JsonSchema, description };
    }
    return { ...schema, properties };
  }

  /** Names the object in a field's schema, whether null is taken in its place or not. */
  #hoisted(field: JsonSchema, name: string): JsonSchema {
    const ways = field.anyOf as JsonSchema[] | undefined;
    if (ways !== undefined) return { ...field, anyOf: ways.map((way) => this.#hoisted(way, name)) };
    if (field.type !== "object") return field;
    this.#named.set(name, field);
    return reference(name, field);
  }
}

/** Keys of names, texts and examples. */
const LITERAL: ReadonlySet<string> = new Set([NOTES, PARTS, "example", "default"]);

function reference(name: string, schema: JsonSchema): JsonSchema {
  return { $ref: `#/components/schemas/${name}`, ...ofPlace(schema) };
}
