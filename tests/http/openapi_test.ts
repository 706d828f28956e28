/** The OpenAPI document, its schemas, and the page that shows it. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ERRORS } from "../../domain/core/errors.ts";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import {
  documentedCalls,
  type DocumentedSchema,
  schemaName,
} from "../support/oracles/openapi_document.ts";
import { IDEMPOTENCY } from "../../routes/openapi/describe.ts";
import { pathTemplate } from "../../routes/openapi/document.ts";
import fixed from "../../routes/openapi/fixed_parts.json" with { type: "json" };
import { Harness } from "../support/harness/harness.ts";
import { describedApi } from "../support/oracles/openapi.ts";
import { gzipSync } from "node:zlib";
import { NAME_PATTERN, SLUG_PATTERN } from "../../domain/core/fields.ts";
import { isAgent, isName } from "../../domain/core/rules.ts";

Deno.test("every route is described, and nothing else is", () => {
  const table = ENDPOINTS.map(({ method, path }) => `${method} ${path}`);
  assertEquals(ENDPOINTS.map(({ method, path }) => `${method} ${path}`).sort(), table.sort());
  const calls = documentedCalls(describedApi()).map(({ method, path }) => `${method} ${path}`);
  // A ping is stored by HEAD as well.
  assertEquals(
    calls.sort(),
    [...table.map(pathTemplate), "POST /v1/traces", "HEAD /v1/ping"].sort(),
  );
});

Deno.test("each call's security matches the credentials in the table of routes", () => {
  const calls = documentedCalls(describedApi());
  for (const { method, path, access } of ENDPOINTS) {
    const call = calls.find((each) => each.method === method && each.path === pathTemplate(path))
      ?.call;
    assertEquals(call?.["x-scope"], access?.scope ?? null, path);
    assertEquals(call?.["x-ping-tokens"], access?.pingTokens ?? false, path);
    assertEquals(call?.["x-operator"], access?.operator ?? false, path);
  }
});

Deno.test("calls have unique names, a resource, and a retry class", () => {
  const document = describedApi();
  const calls = documentedCalls(document).map(({ call }) => call);
  assertEquals(new Set(calls.map(({ operationId }) => operationId)).size, calls.length);
  const tags = document.tags.map(({ name }) => name);
  for (const call of calls) {
    assert(call.tags.every((tag) => tags.includes(tag)), call.operationId);
    assert(call["x-idempotency"] in IDEMPOTENCY, call.operationId);
    assert(call.summary !== "" && !call.summary.endsWith("."), call.operationId);
    assert(call.description.endsWith("."), call.operationId);
  }
});

Deno.test("exactly the parameters of each path are described", () => {
  for (const { path, call } of documentedCalls(describedApi())) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    const described = call.parameters.filter((each) => each.in === "path").map(({ name }) => name);
    assertEquals(described, inPath, path);
  }
});

Deno.test("every error code is in the document with its status, and at least one call returns it", () => {
  const document = describedApi();
  const table = document["x-errors"].map(({ code, status, retry }) => [code, { status, retry }]);
  assertEquals(Object.fromEntries(table), ERRORS);
  assertEquals(document.components.schemas.ErrorCode?.enum, Object.keys(ERRORS));
  const returned = new Set<string>();
  for (const { call } of documentedCalls(document)) {
    for (const [status, { $ref }] of Object.entries(call.responses)) {
      for (const code of $ref === undefined ? [] : schemaName($ref).split(".")) {
        if (["text", "open", "status"].includes(code)) continue;
        assertEquals(ERRORS[code as keyof typeof ERRORS]?.status, Number(status), code);
        returned.add(code);
      }
    }
  }
  // The response to an unsupported method.
  returned.add("method_not_allowed");
  assertEquals([...returned].sort(), Object.keys(ERRORS).sort());
});

Deno.test("every described header occurs in some response", () => {
  const text = JSON.stringify(describedApi());
  for (const name of Object.keys(fixed.headers)) {
    assert(text.includes(`"#/components/headers/${name}"`), name);
  }
});

Deno.test("the document is the same text each time, also across restarts", async () => {
  assertEquals(JSON.stringify(describedApi()), JSON.stringify(describedApi()));
  await using h = await Harness.open();
  const before = await h.get("/openapi.json");
  await h.restart();
  const after = await h.get("/openapi.json");
  assertEquals(after.text, before.text);
  assertEquals(after.headers.get("etag"), before.headers.get("etag"));
  assertEquals(before.json, describedApi());
});

Harness.test("the document needs no credential, may be cached, and is 304 while unchanged", async (h) => {
  for (const path of ["/openapi.json", "/docs"]) {
    const first = await h.get(path, { key: null });
    assertEquals(first.status, 200);
    assertEquals(first.headers.get("cache-control"), "public, max-age=300");
    const tag = first.headers.get("etag") ?? "";
    assertMatch(tag, /^"[0-9a-f]{32}"$/);
    for (const knownTag of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const again = await h.get(path, { key: null, headers: { "If-None-Match": knownTag } });
      assertEquals([again.status, again.text, again.headers.get("etag")], [304, "", tag]);
    }
    const other = await h.get(path, { key: null, headers: { "If-None-Match": '"other"' } });
    assertEquals([other.status, other.text], [200, first.text]);
  }
});

/** Maximum bytes of the page with all that it loads, compressed. */
const BYTES_MAX = 1_500_000;

Harness.test("the page loads one script of this service, which has the library", async (h, t) => {
  const page = await h.get("/docs", { key: null });
  assertEquals(page.headers.get("content-type"), "text/html; charset=UTF-8");
  const policy = page.headers.get("content-security-policy") ?? "";
  assert(policy.startsWith("default-src 'none'; script-src 'self'; "), policy);
  const sources = [...page.text.matchAll(/<script src="([^"]+)"/g)].map(([, path = ""]) => path);
  assertEquals([sources.length, page.text.match(/<script/g)?.length], [1, 1]);
  const script = await h.get(sources[0] ?? "", { key: null });
  assertEquals(script.headers.get("content-type"), "text/javascript; charset=UTF-8");
  // Compiles the script, and does not run it.
  new Function(script.text);
  assertMatch(script.text, /createApiReference/);
  const { text } = await h.get("/openapi.json", { key: null });
  const bytes = [page.text, script.text, text].reduce(
    (sum, each) => sum + gzipSync(each).length,
    0,
  );
  await t.step(`${bytes} bytes compressed`, () => assert(bytes < BYTES_MAX));
});

Harness.test("the script is compressed, and 304 while unchanged", async (h) => {
  const get = (headers: Record<string, string>) =>
    h.get("/docs/reference.js", { key: null, headers });
  const first = await get({ "Accept-Encoding": "gzip" });
  assertEquals([first.status, first.headers.get("content-encoding")], [200, "gzip"]);
  assertEquals(first.headers.get("cache-control"), "public, max-age=300");
  const tag = first.headers.get("etag") ?? "";
  assertMatch(tag, /^W\/"[0-9a-f]{32}"$/);
  const again = await get({ "If-None-Match": tag });
  assertEquals([again.status, again.text], [304, ""]);
});

/** Maximum of named schemas: each is a class in clients of some languages. */
const SCHEMAS_MAX = 260;

const document = describedApi();

/** Keys whose values are not schemas, whatever they look like. */
const LITERAL = new Set(["example", "x-errors"]);

/** Lists each object of the document with its path. */
function* partsOf(
  value: unknown,
  at: readonly string[] = [],
): Generator<[string[], DocumentedSchema]> {
  if (typeof value !== "object" || value === null) return;
  yield [[...at], value as DocumentedSchema];
  for (const [key, part] of Object.entries(value)) {
    if (!LITERAL.has(key)) yield* partsOf(part, [...at, key]);
  }
}

function isNamed(at: readonly string[]): boolean {
  return at.length === 3 && at[0] === "components" && at[1] === "schemas";
}

Deno.test("every object and every enumeration is a named schema", () => {
  const unnamed = [...partsOf(document)]
    .filter(([at, { type, enum: words }]) =>
      !isNamed(at) && ([type].flat().includes("object") || Array.isArray(words))
    );
  assertEquals(unnamed.map(([at]) => at.join(" ")), []);
});

Deno.test("alternatives are named, or one of them is null", () => {
  for (const [at, { anyOf, oneOf }] of partsOf(document)) {
    const ways = (anyOf ?? oneOf ?? []).filter(({ type }) => type !== "null");
    const isPlain = ways.every(({ type }) => type !== "object" && type !== "array");
    assert(isPlain || ways.length === 1, at.join(" "));
  }
});

Deno.test("the number of named schemas is limited, and each is used", () => {
  const { schemas } = document.components;
  const names = Object.keys(schemas);
  assert(names.length <= SCHEMAS_MAX, `${names.length}`);
  const text = JSON.stringify(document);
  for (const name of names) {
    assert(text.includes(`"#/components/schemas/${name}"`), name);
  }
});

Deno.test("each JSON error uses the one error schema", () => {
  const { responses } = document.components as unknown as {
    responses: Record<string, { content: Record<string, { schema: DocumentedSchema }> }>;
  };
  for (const [name, { content }] of Object.entries(responses)) {
    const json = content["application/json"];
    if (json === undefined) assert(name.startsWith("text."), name);
    else {
      const schema = name.startsWith("status.") ? "Status" : "Error";
      assertEquals(json.schema, { $ref: `#/components/schemas/${schema}` }, name);
    }
  }
});

Deno.test("an object without fields allows any field", () => {
  for (const [at, { type, properties, additionalProperties }] of partsOf(document)) {
    if (type !== "object" || !isNamed(at)) continue;
    assert(properties !== undefined || additionalProperties !== undefined, at.join(" "));
  }
});

Deno.test("instants, days and cursors declare their format", () => {
  const byName: Record<string, RegExp> = {
    cursor: /"pattern"/,
    after: /"pattern"/,
    from: /Instant|"format"/,
    to: /Instant|"format"/,
    events_cursor: /"pattern"/,
  };
  for (const { path, call } of documentedCalls(document)) {
    for (const { name, schema } of call.parameters) {
      assert(byName[name]?.test(JSON.stringify(schema)) ?? true, `${path} ${name}`);
    }
  }
});

Deno.test("R31: generators of clients can read every schema", () => {
  for (const [at, { type, ...schema }] of partsOf(document)) {
    const isProperty = at.at(-1) === "properties";
    if (isProperty) continue;
    const where = at.join(" ");
    const types = [type].flat().filter((each) => each !== "null");
    assert(types.length <= 1, `${where}: use oneOf rather than a list of types`);
    assert(!("pattern" in schema && schema.format === "date-time"), `${where}: no pattern`);
  }
  const { ScoreValue, Run } = document.components.schemas;
  assertEquals(ScoreValue?.oneOf, [{ type: "number" }, { type: "boolean" }]);
  const score = { $ref: "#/components/schemas/ScoreValue" };
  const named = ["Score", "ScoreRequest"].map((name) =>
    document.components.schemas[name]?.properties?.value
  );
  assertEquals([...named, document.components.schemas.ScoreValues?.additionalProperties], [
    ...[score, score, score],
  ]);
  assert(Run !== undefined);
});

Deno.test("links point to calls, by a parameter of their path", () => {
  const calls = documentedCalls(document);
  let links = 0;
  for (const { call: { responses, operationId } } of calls) {
    for (const response of Object.values(responses)) {
      const leads = (response as { links?: Record<string, { parameters: object }> }).links ?? {};
      for (const [to, { parameters }] of Object.entries(leads)) {
        const target = calls.find(({ call }) => call.operationId === to);
        const inPath = target?.call.parameters.filter((each) => each.in === "path") ?? [];
        assertEquals(Object.keys(parameters), inPath.map(({ name }) => name), operationId);
        links++;
      }
    }
  }
  assert(links > 10);
});

Deno.test("patterns of names accept what the checks accept", () => {
  const texts = [
    ...["a", "a b", "é", "日本", "a/b", "..a", "...", ".a", "😀", "a\u00adb"],
    ...["", " a", "a ", "a\n", "\ta", "a\u0000b", "a\u0085b", "\u00a0a", "a\ufeff", " ", ".", ".."],
  ];
  for (const text of texts) {
    const reported = JSON.stringify(text);
    assertEquals(new RegExp(NAME_PATTERN, "u").test(text), isName(text, 100), reported);
    assertEquals(new RegExp(SLUG_PATTERN, "u").test(text), isAgent(text), reported);
  }
});
