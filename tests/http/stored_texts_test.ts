/** Every text that a call may store has a bound in the API's description. */
import { assertEquals } from "@std/assert";
import type { Document, DocumentedSchema } from "../../routes/docs/document.ts";
import { documentedCalls, schemaName } from "../../routes/docs/document.ts";
import { describedApi } from "../support/oracles/openapi.ts";

/** A pattern that ends where it says, without anything that repeats without an end. */
const BOUNDED_PATTERN = /^\^(?:[^*+]|\\[*+])*\$$/;

/** Names of texts in a schema that may be of any length. */
function unbounded(document: Document, schema: DocumentedSchema, at: string): string[] {
  if (schema.$ref !== undefined) {
    return unbounded(document, document.components.schemas[schemaName(schema.$ref)] ?? {}, at);
  }
  const { properties = {}, items, anyOf = [], oneOf = [] } = schema;
  const parts = [...anyOf, ...oneOf];
  return [
    ...(isUnboundedText(schema) ? [at] : []),
    ...Object.entries(properties).flatMap(([name, part]) =>
      unbounded(document, part, `${at}.${name}`)
    ),
    ...(items === undefined ? [] : unbounded(document, items, `${at}[]`)),
    ...parts.flatMap((part) => unbounded(document, part, at)),
  ];
}

function isUnboundedText(schema: DocumentedSchema): boolean {
  if (![schema.type].flat().includes("string")) return false;
  return schema.enum === undefined && schema.const === undefined &&
    schema.maxLength === undefined && schema.format !== "date-time" &&
    !BOUNDED_PATTERN.test(schema.pattern ?? "");
}

/** Payloads of any type, of which only the size in bytes is bounded. */
const PAYLOADS = ["POST /v1/runs/{id}/finish.output", "POST /v1/heartbeats.output"];

Deno.test("every text of a body has a bound", () => {
  const document = describedApi();
  const found = documentedCalls(document).flatMap(({ method, path, call }) =>
    Object.values(call.requestBody?.content ?? {}).flatMap(({ schema }) =>
      unbounded(document, schema, `${method} ${path}`)
    )
  );
  assertEquals(Array.from(new Set(found)).filter((text) => !PAYLOADS.includes(text)), []);
});

/** Calls whose query is stored: all others only ask. */
const STORED_QUERIES = ["/v1/ping"];

/** One that is longer is cut, and the answer says so. */
const NOTES = ["/v1/ping query metadata"];

/** Parts of a path that only name what is stored under them already. */
const NAMES = ["/v1/rate-card/{id} path id"];

Deno.test("every text of a path, and of a stored query, has a bound", () => {
  const document = describedApi();
  const found = documentedCalls(document).flatMap(({ path, call }) =>
    call.parameters
      .filter((each) => each.in === "path" || (each.in === "query" && isStored(path)))
      .flatMap(({ name, in: where, schema }) =>
        unbounded(document, schema, `${path} ${where} ${name}`)
      )
  );
  assertEquals([...new Set(found)].sort(), [...NOTES, ...NAMES].sort());
});

function isStored(path: string): boolean {
  return STORED_QUERIES.includes(path);
}
