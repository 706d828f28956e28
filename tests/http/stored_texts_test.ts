/** Every text that a call may store has a bound in the API's description. */
import { assertEquals } from "@std/assert";
import type { Document, DocumentedSchema } from "../support/oracles/openapi_document.ts";
import { documentedCalls, schemaName } from "../support/oracles/openapi_document.ts";
import { describedApi } from "../support/oracles/openapi.ts";

/** An anchored pattern without unbounded repetition. */
const BOUNDED_PATTERN = /^\^(?:[^*+]|\\[*+])*\$$/;

/** Names of unbounded texts in a schema. */
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

/** Payloads of any type, limited only by their size in bytes. */
const PAYLOADS = ["POST /v1/runs/{id}/finish.output", "POST /v1/heartbeats.output"];

Deno.test("every text of a body has a bound", () => {
  const document = describedApi();
  const result = documentedCalls(document).flatMap(({ method, path, call }) =>
    Object.values(call.requestBody?.content ?? {}).flatMap(({ schema }) =>
      unbounded(document, schema, `${method} ${path}`)
    )
  );
  assertEquals(Array.from(new Set(result)).filter((text) => !PAYLOADS.includes(text)), []);
});

/** Calls whose query is stored: all others only read. */
const STORED_QUERIES = ["/v1/ping"];

/** A longer text is cut, and the response reports it. */
const NOTES = ["/v1/ping query metadata"];

/** Path segments that only name existing data. */
const NAMES = ["/v1/rate-card/{id} path id"];

Deno.test("every text of a path, and of a stored query, has a bound", () => {
  const document = describedApi();
  const result = documentedCalls(document).flatMap(({ path, call }) =>
    call.parameters
      .filter((each) => each.in === "path" || (each.in === "query" && isStored(path)))
      .flatMap(({ name, in: where, schema }) =>
        unbounded(document, schema, `${path} ${where} ${name}`)
      )
  );
  assertEquals([...new Set(result)].sort(), [...NOTES, ...NAMES].sort());
});

function isStored(path: string): boolean {
  return STORED_QUERIES.includes(path);
}
