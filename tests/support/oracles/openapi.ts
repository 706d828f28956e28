/** The API's description, and a validator of JSON by its schemas. */
import { Ajv2020 } from "ajv";
import formats from "ajv-formats";
import { ENDPOINTS } from "../../../routes/api/endpoints.ts";
import type { Document } from "./openapi_document.ts";
import { TRACES } from "../../../routes/otlp/description.ts";
import { openapiDocument } from "../../../routes/openapi/document.ts";

export function describedApi(): Document {
  return JSON.parse(JSON.stringify(openapiDocument([...ENDPOINTS, TRACES])));
}

/** Returns the problem with a value, or null. `at` is the path of the schema. */
type Judge = (at: readonly string[], value: unknown) => string | null;

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

let standard: Ajv2020 | null = null;

/** Returns true if a schema conforms to the JSON Schema standard. */
export function isJsonSchema(schema: object): boolean {
  // The standard is itself a schema, which takes long to compile.
  standard ??= new Ajv2020({ strict: false });
  return standard.validateSchema(schema) === true;
}

/** Returns a copy in which an object may only have the fields of its schema. */
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
