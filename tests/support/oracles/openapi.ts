/** The API's description, and JSON judged by the schemas in it. */
import { Ajv2020 } from "ajv";
import formats from "ajv-formats";
import { ENDPOINTS } from "../../../routes/api/endpoints.ts";
import type { Document } from "../../../routes/docs/document.ts";
import { openapiDocument } from "../../../routes/openapi/document.ts";

/** The document as the service sends it. */
export function describedApi(): Document {
  return JSON.parse(JSON.stringify(openapiDocument(ENDPOINTS)));
}

/** Says what is wrong with a value; null when nothing is. `at` are the names that lead to the schema. */
export type Judge = (at: readonly string[], value: unknown) => string | null;

/** A judge by a document. */
export function judgeBy(document: unknown): Judge {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  ajv.addSchema(document as object, "api");
  return (at, value) => {
    const pointer = at.map((name) =>
      `/${encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))}`
    );
    const validate = ajv.getSchema(`api#${pointer.join("")}`);
    if (validate === undefined) return `there is no schema at ${at.join(" ")}`;
    return validate(value) ? null : ajv.errorsText(validate.errors);
  };
}

/** Whether a schema is one by the standard of JSON Schema. */
export function isJsonSchema(schema: object): boolean {
  return new Ajv2020({ strict: false }).validateSchema(schema) === true;
}

/** A copy in which an object may have no fields but those that its schema tells. */
export function closed<T>(document: T): T {
  return close(document) as T;
}

function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, name === "example" ? part : close(part)]),
  );
  return copy.type === "object" && typeof copy.properties === "object"
    ? { additionalProperties: false, ...copy }
    : copy;
}
