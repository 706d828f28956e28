/** The first problem of a body, in words that a client can act on. */
import { Losses } from "../../../../domain/core/losses.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { printable } from "../../../../domain/core/text.ts";
import type { Parsed, Problem } from "../../../../domain/core/errors.ts";
import { parseBody, parseRunId } from "../../../../domain/ingest/parse.ts";
import { parseFinish } from "../../../../domain/ingest/finish.ts";
import { parseHeartbeat } from "../../../../domain/ingest/heartbeat.ts";
import { parseOpen } from "../../../../domain/ingest/open.ts";
import { parseEvents } from "../../../../domain/ingest/parse_events.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../../../support/builders/requests.ts";

const context = { metadataKeysMax: 10, sdkWords: false };

type Parser = (body: unknown) => Problem | null;

function problemOf<T>(parsed: Parsed<T>): Problem | null {
  return parsed.ok ? null : parsed.problem;
}

function parser<T>(parse: (body: ReturnType<typeof bodyOf>) => Parsed<T>): Parser {
  return (sent) => problemOf(parse(bodyOf(sent)));
}

function bodyOf(sent: unknown) {
  const parsed = parseBody(JSON.stringify(sent));
  assert(parsed.ok);
  return parsed.value;
}

const openProblem = parser((body) => parseOpen(body, context));
const finishProblem = parser((body) => parseFinish(body, context));
const heartbeatProblem = parser((body) => parseHeartbeat(body, context, new Losses()));
const eventsProblem = parser(parseEvents);

Deno.test("the base bodies of the other tests are valid", () => {
  assertEquals(openProblem(aRun(1)), null);
  assertEquals(finishProblem(aFinish()), null);
  assertEquals(heartbeatProblem(aHeartbeat(1)), null);
  assertEquals(eventsProblem({ events: [anEvent(1)] }), null);
});

/** Required fields in the order of `/docs`. */
const REQUIRED: readonly (readonly [Parser, Record<string, unknown>, readonly string[]])[] = [
  [openProblem, aRun(1), ["id", "agent", "started_at"]],
  [finishProblem, aFinish(), ["status", "finished_at"]],
  [heartbeatProblem, aHeartbeat(1), ["agent"]],
];

Deno.test("decision 2: if several fields are absent, the first in the table is reported", () => {
  for (const [problem, body, fields] of REQUIRED) {
    const input: Record<string, unknown> = { ...body };
    for (const field of fields.toReversed()) {
      delete input[field];
      const { code, field: named, message } = problem(input) ?? {};
      assertEquals([code, named], ["missing_field", field]);
      assertStringIncludes(message ?? "", `"${field}"`);
    }
  }
});

Deno.test("decision 8: null in a required field is missing_field, in an optional field absent", () => {
  for (const [problem, body, fields] of REQUIRED) {
    for (const field of fields) {
      assertEquals(problem({ ...body, [field]: null })?.code, "missing_field", field);
    }
  }
  const none = { customer_id: null, feature: null, metadata: null, goal: null };
  assertEquals(openProblem(aRun(1, none)), null);
  assertEquals(heartbeatProblem({ agent: "a", id: null, status: null, cost_usd: null }), null);
  assertEquals(finishProblem(aFinish({ output: null, scores: null, metadata: null })), null);
});

Deno.test("decision 2: fields are checked in the order of the table, not of the body", () => {
  const wrong = { started_at: 1, agent: 1, id: 1 };
  assertEquals(openProblem(wrong)?.code, "invalid_id");
  assertEquals(openProblem({ ...wrong, id: runId(1) })?.field, "agent");
  assertEquals(openProblem({ ...wrong, id: runId(1), agent: "a" })?.field, "started_at");
});

Deno.test("R11: unknown fields do not cause a refusal", () => {
  assertEquals(openProblem(aRun(1, { sdk: { version: 1 }, status: 7 })), null);
});

/** An invalid value for each field, and the expected report. */
const INVALID: readonly (readonly [Parser, Record<string, unknown>, string, unknown])[] = [
  [openProblem, aRun(1), "agent", ""],
  [openProblem, aRun(1), "agent", " a"],
  [openProblem, aRun(1), "agent", "a\n"],
  [openProblem, aRun(1), "agent", "a\ud800"],
  [openProblem, aRun(1), "agent", "😀".repeat(129)],
  [openProblem, aRun(1), "started_at", "yesterday"],
  [openProblem, aRun(1), "metadata", [1]],
  [openProblem, aRun(1), "metadata", "x"],
  [finishProblem, aFinish(), "status", "ok"],
  [finishProblem, aFinish(), "status", "running"],
  [finishProblem, aFinish(), "metadata", [1]],
  [heartbeatProblem, aHeartbeat(1), "status", "success"],
  [heartbeatProblem, aHeartbeat(1), "cost_usd", -0.01],
  [heartbeatProblem, aHeartbeat(1), "cost_usd", 1_000_000.01],
  [heartbeatProblem, aHeartbeat(1), "cost_usd", "1"],
  [heartbeatProblem, aHeartbeat(1), "input_tokens", 1.5],
  [heartbeatProblem, aHeartbeat(1), "output_tokens", -1],
  [heartbeatProblem, aHeartbeat(1), "cached_input_tokens", 2 ** 53],
  [heartbeatProblem, aHeartbeat(1), "duration_ms", true],
];

Deno.test("decisions 13 and 34: a value outside its field's rules is invalid_field", () => {
  for (const [problem, body, field, value] of INVALID) {
    const reported = problem({ ...body, [field]: value });
    assertEquals([reported?.code, reported?.field], ["invalid_field", field], `${field}=${value}`);
    assertStringIncludes(reported?.message ?? "", `Field "${field}" must be`);
  }
});

Deno.test("decision 34: both ends of each range are accepted", () => {
  const { MAX_SAFE_INTEGER } = Number;
  assertEquals(heartbeatProblem({ agent: "a", cost_usd: 0, input_tokens: 0 }), null);
  assertEquals(
    heartbeatProblem({ agent: "a", cost_usd: 1e6, input_tokens: MAX_SAFE_INTEGER }),
    null,
  );
  assertEquals(openProblem(aRun(1, { agent: "😀".repeat(128), feature: "f".repeat(256) })), null);
  assertEquals(openProblem(aRun(1, { idle_timeout_seconds: 60 })), null);
  assertEquals(openProblem(aRun(1, { idle_timeout_seconds: 86_400 })), null);
});

Deno.test("decision 5: ids are checked by pattern, then by region, and the field is id", () => {
  const code = (id: unknown) => openProblem({ ...aRun(1), id })?.code ?? null;
  assertEquals([runId(1, "us"), runId(1, "fr"), "run_1"].map(code), [
    null,
    "unknown_region",
    "invalid_id",
  ]);
  assertEquals(problemOf(parseRunId("nonsense"))?.field, "id");
  assertEquals(problemOf(parseRunId(runId(1, "fr")))?.code, "unknown_region");
});

Deno.test("decision 6: an event's problem names its index in the message and only the field in field", () => {
  const wrong: Record<string, readonly [unknown, string, string]> = {
    "events[1].id": [anEvent(1, { id: undefined }), "missing_field", "id"],
    "events[1].ts": [anEvent(1, { ts: "noon" }), "invalid_field", "ts"],
    "events[1].type": [anEvent(1, { type: "" }), "invalid_field", "type"],
    "events[1].data": [anEvent(1, { data: [1] }), "invalid_field", "data"],
    "events[1]": [7, "invalid_field", "events"],
  };
  for (const [path, [event, code, field]] of Object.entries(wrong)) {
    const result = eventsProblem({ events: [anEvent(0), event] });
    assertEquals([result?.code, result?.field], [code, field], path);
    assertStringIncludes(result?.message ?? "", path);
  }
});

Deno.test("decision 7: a non-object is invalid_json, too much nesting payload_too_large", () => {
  for (const text of ["", "[]", "null", "7", '"x"', "{", "{}}", "{'a':1}", "{,}"]) {
    assertEquals(problemOf(parseBody(text))?.code, "invalid_json", text);
  }
  const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
  assertEquals(problemOf(parseBody(nested(64))), null);
  assertEquals(problemOf(parseBody(nested(65)))?.code, "payload_too_large");
  assertEquals(problemOf(parseBody("[".repeat(65)))?.code, "payload_too_large");
});

Deno.test("a message is one short printable line, whatever the input", () => {
  const junk = fc.oneof(fc.string({ unit: "binary", maxLength: 500 }), fc.json());
  fc.assert(fc.property(junk, (text) => {
    const problems = [
      problemOf(parseBody(text)),
      openProblem(aRun(1, { started_at: text })),
      openProblem({ ...aRun(1), id: text }),
      finishProblem(aFinish({ status: text })),
      problemOf(parseRunId(text)),
    ];
    for (const message of problems.flatMap((problem) => problem?.message ?? [])) {
      assert(message.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(message), message);
      assert(message.length < 400, message);
    }
  }));
});

Deno.test("printable text has no character that a terminal or a log would interpret", () => {
  assertEquals(printable("a\nb\u001b[31m\u2028c\u0085d"), "a b [31m c d");
  assertEquals(printable("x\ud800"), "x\ufffd");
});
