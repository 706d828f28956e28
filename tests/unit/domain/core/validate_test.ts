/** The first problem of a body, in words that a client can act on. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { printable } from "../../../../domain/core/text.ts";
import type { Problem } from "../../../../domain/core/errors.ts";
import { parseBody, parseRunId } from "../../../../domain/ingest/parse.ts";
import { parseFinish } from "../../../../domain/ingest/finish.ts";
import { parseOpen } from "../../../../domain/ingest/open.ts";
import { aFinish, aRun } from "../../../support/builders/requests.ts";
import { problemOf } from "../../../support/oracles/problems.ts";
import { anyText } from "../../../support/builders/any_text.ts";

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

Deno.test("a message is one short printable line, whatever the input", () => {
  const junk = fc.oneof(anyText({ maxLength: 500 }), fc.json());
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
