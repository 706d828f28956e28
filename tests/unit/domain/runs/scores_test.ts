/** Outcome of a score, depending on the stored run. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { ADDED_SCORES_MAX } from "../../../../domain/core/limits.ts";
import type { ScoreId } from "../../../../domain/core/ids.ts";
import { EMPTY_LEDGER, type EventLedger } from "../../../../domain/runs/ledger.ts";
import { type AddedScore, decideScore, inOrder } from "../../../../domain/runs/scores.ts";
import { scoreId } from "../../../support/builders/requests.ts";

const request = { id: scoreId(1) as ScoreId, name: "quality", value: 0.5, source: "judge" };
const current: AddedScore = { ...request, receivedAt: 7 };

Deno.test("score: a new score is counted by the ledger and is not an event", () => {
  const { outcome, ledger } = decideScore(EMPTY_LEDGER, null, request, 7);
  assertEquals(outcome, { kind: "stored", score: current });
  assertEquals(ledger, { ...EMPTY_LEDGER, scores: { count: 1, firstAt: 7, latestAt: 7 } });
  const scores = { count: 3, firstAt: 8, latestAt: 9 };
  const later: EventLedger = { ...EMPTY_LEDGER, scores, latestAt: 9, oldestAt: 2 };
  assertEquals(decideScore(later, null, request, 7).ledger, {
    ...later,
    scores: { ...scores, count: 4 },
  });
});

Deno.test("score: the same name and value again is a replay, whatever its source", () => {
  const again = decideScore(EMPTY_LEDGER, current, { ...request, source: "other" }, 99);
  assertEquals(again, { outcome: { kind: "replayed", score: current } });
});

Deno.test("score: another name or value under a stored id is refused by the first difference", () => {
  const differs = (fields: object) =>
    decideScore(EMPTY_LEDGER, current, { ...request, ...fields }, 99).outcome;
  assertEquals(differs({ name: "speed", value: 1 }), { kind: "differs", field: "name" });
  assertEquals(differs({ value: 1 }), { kind: "differs", field: "value" });
  assertEquals(differs({ value: true }), { kind: "differs", field: "value" });
});

Deno.test("score: beyond a run's limit a new score is refused, and a replay is not", () => {
  const sum = { firstAt: 1, latestAt: 2 };
  const full = { ...EMPTY_LEDGER, scores: { ...sum, count: ADDED_SCORES_MAX } };
  const { outcome } = decideScore(full, null, request, 9);
  assertEquals(outcome.kind, "refused");
  const code = outcome.kind === "refused" ? outcome.problem : { code: "", message: "" };
  assertEquals(code.code, "score_cap_reached");
  assertStringIncludes(code.message, String(ADDED_SCORES_MAX));
  assertEquals(decideScore(full, current, request, 9).outcome.kind, "replayed");
  const almost = { ...EMPTY_LEDGER, scores: { ...sum, count: ADDED_SCORES_MAX - 1 } };
  const last = decideScore(almost, null, request, 9);
  assertEquals(last.outcome.kind, "stored");
});

Deno.test("scores: they are ordered by arrival, then by id", () => {
  const score = (n: number, receivedAt: number) => ({
    ...current,
    id: scoreId(n) as ScoreId,
    receivedAt,
  });
  const sorted = [score(5, 1), score(2, 3), score(3, 3), score(1, 4)];
  assertEquals(inOrder(sorted.toReversed()), sorted);
});
