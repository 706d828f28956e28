/** Schemas of the document as seen by client generators. */
import { assert, assertEquals } from "@std/assert";
import { NAME_PATTERN, SLUG_PATTERN } from "../../domain/core/fields.ts";
import { isAgent, isName } from "../../domain/core/rules.ts";
import { documentedCalls, type DocumentedSchema } from "../support/oracles/openapi_document.ts";
import { describedApi } from "../support/oracles/openapi.ts";

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
