/** The first problem of a body, in words that a client can act on. */
import { Losses } from "../../../../domain/core/losses.ts";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { printable } from "../../../../domain/core/text.ts";
import type { Problem } from "../../../../domain/core/errors.ts";
import { parseBody, parseRunId } from "../../../../domain/ingest/parse.ts";
import { parseFinish } from "../../../../domain/ingest/finish.ts";
import { parseHeartbeat } from "../../../../domain/ingest/heartbeat.ts";
import { parseOpen } from "../../../../domain/ingest/open.ts";
import { parseEvents } from "../../../../domain/ingest/parse_events.ts";
import { aFinish, aHeartbeat, anEvent, aRun } from "../../../support/builders/requests.ts";
import { problemOf } from "../../../support/oracles/problems.ts";

const context = { metadataKeysMax: 10, sdkWords: false };

type Parser = (body: unknown) => Problem | null;

function parser<T>(parse: (body: ReturnType<typeof bodyOf>) => T): Parser {
  return (sent) => problemOf(() => parse(bodyOf(sent)));
}

function bodyOf(sent: unknown) {
  return parseBody(JSON.stringify(sent));
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

Deno.test("R11: unknown fields do not cause a refusal", () => {
  assertEquals(openProblem(aRun(1, { sdk: { version: 1 }, status: 7 })), null);
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

Deno.test("a message is one short printable line, whatever the input", () => {
  const junk = fc.oneof(fc.string({ unit: "binary", maxLength: 500 }), fc.json());
  fc.assert(fc.property(junk, (text) => {
    const problems = [
      problemOf(() => parseBody(text)),
      openProblem(aRun(1, { started_at: text })),
      openProblem({ ...aRun(1), id: text }),
      finishProblem(aFinish({ status: text })),
      problemOf(() => parseRunId(text)),
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
