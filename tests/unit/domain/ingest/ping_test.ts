import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RunId } from "../../../../domain/core/ids.ts";
import { parseHeartbeat } from "../../../../domain/ingest/heartbeat.ts";
import { parseQuery } from "../../../../domain/core/query.ts";
import { ignoredText, parsePingQuery, readPing } from "../../../../domain/ingest/ping.ts";
import { runId } from "../../../support/builders/requests.ts";

function query(text: string): Map<string, string> {
  const parsed = parseQuery(text);
  assert(parsed.ok, text);
  return parsed.value;
}

function ping(text: string, tokenAgent: string | null = null, keepsNotes = true) {
  const parsed = parsePingQuery(text);
  assert(parsed.ok, text);
  return readPing(parsed.value, tokenAgent, keepsNotes);
}

/** Returns the heartbeat of a query, or the code of its refusal. */
function heartbeat(text: string) {
  const read = ping(text);
  if (!read.ok) return read.problem.code;
  const context = { metadataKeysMax: 10, sdkWords: false };
  const parsed = parseHeartbeat(read.value.body, context, read.value.losses);
  return parsed.ok ? parsed.value.request : parsed.problem.code;
}

Deno.test("decisions, section 3: any parameters are percent-decoded", () => {
  const pairs = fc.array(
    fc.tuple(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme", minLength: 1 })),
  );
  fc.assert(fc.property(pairs, (sent) => {
    const text = sent.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
    const first = new Map(sent.toReversed());
    assertEquals(new Map([...query(text)].sort()), new Map([...first].sort()));
  }));
});

Deno.test("decisions, section 3: an empty value counts as absent, and the first of repeated names wins", () => {
  assertEquals([...query("a=&b=1&b=2&c&a=3&&=")], [["b", "1"], ["a", "3"]]);
});

Deno.test("a plus is a space, a value may contain equals signs, names are decoded too", () => {
  assertEquals([...query("a=1+2%2B3&b=x=y&%61gent=z")], [
    ["a", "1 2+3"],
    ["b", "x=y"],
    ["agent", "z"],
  ]);
});

Deno.test("a parameter that is not percent-encoded UTF-8 is invalid_field, named as sent", () => {
  const problems = ["agent=%ff", "agent=%", "%ff=1", "a=%E0%A4%A"].map((text) => {
    const parsed = parseQuery(text);
    return parsed.ok ? null : [parsed.problem.code, parsed.problem.field];
  });
  assertEquals(problems, [
    ["invalid_field", "agent"],
    ["invalid_field", "agent"],
    ["invalid_field", "%ff"],
    ["invalid_field", "a"],
  ]);
});

Deno.test("decisions, section 3: every parameter is passed to the heartbeat field of the same name", () => {
  const text = `agent=a&status=fail&id=${runId(1)}&cost_usd=1.5e-1&duration_ms=7&model=m&` +
    "provider=p&input_tokens=3&output_tokens=4&cached_input_tokens=2&other=ignored&" +
    "started_at=2026-01-31T12:00:00Z&finished_at=2026-01-31T12:00:01Z";
  assertEquals(heartbeat(text), {
    id: runId(1) as RunId,
    agent: "a",
    status: "fail",
    startedAt: Date.UTC(2026, 0, 31, 12),
    finishedAt: Date.UTC(2026, 0, 31, 12, 0, 1),
    durationMs: 7,
    reported: {
      cost: 150_000_000_000n,
      model: "m",
      provider: "p",
      inputTokens: 3,
      outputTokens: 4,
      cachedInputTokens: 2,
    },
    metadata: undefined,
    customerId: undefined,
    feature: undefined,
    trace: undefined,
    output: undefined,
    flags: ["ignored_fields"],
    lost: undefined,
    ignored: ["other"],
  });
});

Deno.test("decisions, section 3: exit code 0 is ok, 124 is timeout, any other is fail", () => {
  const status = (code: string) => {
    const request = heartbeat(`agent=a&exit_code=${code}`);
    return typeof request === "string" ? request : request.status;
  };
  assertEquals(["0", "00", "-0", "124", "1", "137", "-1", "255"].map(status), [
    "ok",
    "ok",
    "ok",
    "timeout",
    "fail",
    "fail",
    "fail",
    "fail",
  ]);
  assertEquals(
    ["x", "1.5", "1e2", " 1", "12345678901"].map(status),
    Array(5).fill("invalid_field"),
  );
});

Deno.test("R24: an exit code is never anything else than one, and agrees with a status", () => {
  assertEquals(heartbeat("agent=a&status=ok&exit_code=3"), "invalid_field");
  for (const text of ["exit_code=", "exit_code", "exit_code=nonsense"]) {
    assertEquals(heartbeat(`agent=a&${text}`), "invalid_field", text);
    assertEquals(heartbeat(`agent=a&status=ok&${text}`), "invalid_field", text);
  }
});

Deno.test("R24: ignored parameters are named with the nearest known one", () => {
  const texts = [["exitcode"], ["exit"], ["code"], ["exitCode", "rc", "foo"], ["rc", "(other)"]];
  assertEquals(texts.map(ignoredText), [
    "ignored exitcode, did you mean exit_code?",
    "ignored exit, did you mean exit_code?",
    "ignored code, did you mean exit_code?",
    "ignored exitCode, did you mean exit_code? ignored rc; ignored foo",
    "ignored rc; ignored (other)",
  ]);
});

Deno.test("decision 34: numbers that JSON cannot express are refused, never guessed", () => {
  for (const text of ["0x10", "1_000", "+1", ".5", "1.", "Infinity", "NaN", " 1", "1 ", "--1"]) {
    const input = encodeURIComponent(text);
    assertEquals(heartbeat(`agent=a&duration_ms=${input}`), "invalid_field", text);
    assertEquals(heartbeat(`agent=a&cost_usd=${input}`), "invalid_field", text);
  }
  assertEquals(heartbeat("agent=a&duration_ms=1.5"), "invalid_field");
  assertEquals(heartbeat("agent=a&cost_usd=1e999"), "invalid_field");
});

Deno.test("decision 2: a ping token's agent is the default; an explicit agent is kept", () => {
  const agents = ["status=ok", "agent=b"].map((text) => {
    const read = ping(text, "a");
    return read.ok ? read.value.body.value.agent : read.problem;
  });
  assertEquals(agents, ["a", "b"]);
  assertEquals(heartbeat("status=ok"), "missing_field");
});

Deno.test("R7: a note keeps up to 256 characters, and cut or dropped text is reported", () => {
  const note = (length: number, keepsNotes = true) => {
    const text = `agent=a&metadata=${encodeURIComponent("😀".repeat(length))}`;
    const read = ping(text, null, keepsNotes);
    return read.ok ? [read.value.note?.length, read.value.losses.dropped] : [];
  };
  assertEquals(note(256), [512, null]);
  assertEquals(note(257), [512, "metadata=1"]);
  assertEquals(note(1, false), [undefined, "metadata=1"]);
  assertEquals(note(0), [undefined, null]);
});

Deno.test("the body of a ping is the JSON text of its own value", () => {
  const read = ping("agent=a&metadata=x&cost_usd=0.1");
  assert(read.ok);
  const { text, value } = read.value.body;
  assertEquals(JSON.parse(text), JSON.parse(JSON.stringify(value)));
  assert(!("metadata" in value));
});
