/** Converts Zod schemas to the JSON Schemas of one document; each named schema is written once. */
import { z } from "zod";
import { type JsonSchema, ofPlace, sharedName, sharedSchema } from "./shared.ts";

/** Metadata key of the notes on a schema's fields; no field has this name. */
export const NOTES = "x-notes";

/** Metadata key of the names of nested objects, by field. */
export const PARTS = "x-part-names";

/** Collects the named schemas of a document. */
export class SchemaBook {
  readonly #named = new Map<string, JsonSchema>();

  /** Returns the JSON Schema of a Zod schema; for a named schema, a reference. */
  write(schema: z.ZodType): JsonSchema {
    // Wrapped, so that a named schema is treated alike at the top level and nested.
    const { properties, $defs = {} } = z.toJSONSchema(z.object({ value: schema }), {
      io: "input",
      unrepresentable: "any",
    });
    for (const [name, definition] of Object.entries($defs)) {
      this.#named.set(name, this.#finished(definition));
    }
    return this.#finished(properties?.value ?? {});
  }

  /** Returns the named schemas, sorted by name. */
  named(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => a < b ? -1 : 1));
  }

  /** Rewrites a schema for the document: resolves references, and adds notes to fields. */
  #finished(schema: unknown): JsonSchema {
    const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
    return JSON.parse(text, (key, value) => {
      // Values of these keys are not schemas, even if they resemble them.
      if (typeof value !== "object" || value === null || LITERAL.has(key)) return value;
      if (key === "additionalProperties" && Object.keys(value).length === 0) return true;
      return this.#shared(value[NOTES] === undefined ? value : this.#withNotes(value));
    });
  }

  /** Replaces a shared schema with a reference. */
  #shared(schema: JsonSchema): JsonSchema {
    const { type, ...rest } = schema;
    if (Array.isArray(type) && type.includes("object")) {
      // Separates the object from null, so that the object can be named.
      const alternatives = type.map((member) =>
        member === "object" ? this.#shared({ ...rest, type: member }) : { type: member }
      );
      return { anyOf: alternatives, ...ofPlace(rest) };
    }
    // A schema of any value resembles an empty object, so such fields are named in #withNotes.
    const name = type === undefined ? undefined : sharedName(schema);
    return name === undefined ? schema : this.#reference(name, schema);
  }

  #reference(name: string, schema: JsonSchema): JsonSchema {
    this.#named.set(name, sharedSchema(name));
    return reference(name, schema);
  }

  /** Adds the notes of a body (see `bodyDescription`) to its fields, and names its nested objects. */
  #withNotes(
    { [NOTES]: notes, [PARTS]: parts, ...schema }: Record<string, Record<string, unknown>>,
  ): JsonSchema {
    const properties = { ...schema.properties };
    for (const [field, name] of Object.entries(parts ?? {})) {
      properties[field] = this.#hoisted(properties[field] as JsonSchema, name as string);
    }
    for (const [field, part] of Object.entries(properties)) {
      const alternatives = (part as JsonSchema).anyOf as JsonSchema[] | undefined ??
        [part as JsonSchema];
      const any = alternatives.find((alternative) => sharedName(alternative) === "JsonValue");
      if (any !== undefined) properties[field] = this.#reference("JsonValue", any);
    }
    for (const [field, description] of Object.entries(notes ?? {})) {
      properties[field] = { ...properties[field] as JsonSchema, description };
    }
    return { ...schema, properties };
  }

  /** Names the object in a field's schema, nullable or not. */
  #hoisted(field: JsonSchema, name: string): JsonSchema {
    const alternatives = field.anyOf as JsonSchema[] | undefined;
    if (alternatives !== undefined) {
      return {
        ...field,
        anyOf: alternatives.map((alternative) => this.#hoisted(alternative, name)),
      };
    }
    if (field.type !== "object") return field;
    this.#named.set(name, field);
    return reference(name, field);
  }
}

/** Keys whose values are not schemas. */
const LITERAL: ReadonlySet<string> = new Set([NOTES, PARTS, "example", "default"]);

function reference(name: string, schema: JsonSchema): JsonSchema {
  return { $ref: `#/components/schemas/${name}`, ...ofPlace(schema) };
}
