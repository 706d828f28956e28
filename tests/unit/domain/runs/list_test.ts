import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { summarize } from "../../../../domain/runs/summary.ts";
import { EVENT_FLAGS } from "../../../../domain/runs/event.ts";
import type { EventTotals } from "../../../../domain/runs/event_totals.ts";
import type { EventId, RunId } from "../../../../domain/core/ids.ts";
import type { ModelUsage } from "../../../../domain/runs/model_usage.ts";
import { assemble } from "../../../../domain/runs/record.ts";
import { type Closing, FINISH_STATUSES, type Opening } from "../../../../domain/runs/run.ts";
import { type RunHead, traitsOf } from "../../../../domain/runs/cost.ts";
import { causesOf, listRowOf, summedRowOf } from "../../../../domain/runs/list.ts";
import { aRow } from "../../../support/builders/exports.ts";
import { eventId, runId } from "../../../support/builders/requests.ts";

const ID = runId(1) as RunId;
const NOON = Date.UTC(2026, 0, 31, 12);

const instant = fc.integer({ min: -9, max: 9 }).map((ms) => NOON + ms);
const count = fc.nat(9);
const tokens = fc.bigInt({ min: 0n, max: 2n ** 60n });
const label = fc.constantFrom("x", "y", undefined);
const reported = fc.record({
  cost: tokens,
  model: fc.constantFrom("m", "n"),
  inputTokens: count,
  cachedInputTokens: count,
}, { requiredKeys: [] });

const opening: fc.Arbitrary<Opening> = fc.record({
  kind: fc.constantFrom("run", "heartbeat"),
  agent: fc.constantFrom("a", "b"),
  startedAt: instant,
  receivedAt: instant,
  customerId: label,
  feature: label,
  reported: fc.option(reported, { nil: undefined }),
});

const closing: fc.Arbitrary<Closing> = fc.record({
  status: fc.constantFrom(...FINISH_STATUSES),
  finishedAt: instant,
  receivedAt: instant,
  durationMs: fc.option(count, { nil: undefined }),
  customerId: label,
  feature: label,
  reported: fc.option(reported, { nil: undefined }),
});

const line: fc.Arbitrary<ModelUsage> = fc.record({
  provider: fc.constantFrom("p", null),
  model: fc.constantFrom("m", "n", "o"),
  priced: fc.boolean(),
  calls: count,
  inputTokens: tokens,
  outputTokens: tokens,
  cachedInputTokens: tokens,
  cost: tokens,
});

const totals: fc.Arbitrary<EventTotals> = fc.record({
  events: count,
  llmCalls: count,
  toolCalls: count,
  logs: count,
  errors: count,
  inputTokens: tokens,
  outputTokens: tokens,
  cachedInputTokens: tokens,
  cost: tokens,
  cachedExceedsInput: fc.boolean(),
  fullRateBatchCalls: count,
  flags: fc.subarray([...EVENT_FLAGS]),
  models: fc.uniqueArray(line, { maxLength: 3, selector: ({ model }) => model }),
}).chain((totals) =>
  fc.constantFrom<EventTotals>(totals, {
    ...totals,
    failedTool: { ts: NOON, id: eventId(1) as EventId, name: "open_file" },
  })
);

/** A generated run with one batch of events, and the batch's arrival. */
const anyHead = fc.record({
  opening: fc.option(opening),
  closing: fc.option(closing),
  totals,
  arrivedAt: instant,
}).map(({ opening, closing, totals, arrivedAt }) => ({
  parts: { opening, closing },
  totals,
  batchCount: 1,
  ages: { oldestAt: arrivedAt, latestAt: arrivedAt },
  repricings: 0,
  repriced: undefined,
} satisfies RunHead));

Deno.test("run list: a row agrees with the run's record, also when only its summary is read", () => {
  fc.assert(fc.property(anyHead, fc.nat(3), (head, revision) => {
    const before = revision === 0 ? null : { ...summarize(head, null), revision };
    const summary = summarize(head, before);
    const arrivedAt = head.ages.oldestAt;
    const record = assemble(ID, {
      ...head,
      firstBatchAt: arrivedAt,
      addedScores: [],
      incidents: [],
      checks: [],
      judges: [],
      failure: null,
      payload: "whole",
      summary,
    });
    const row = summedRowOf(ID, summary);
    const { has, sortedAt, parent, ...same } = row;
    assertEquals(parent, head.parts.opening?.parentRunId ?? null);
    assertEquals(sortedAt, summary.listed?.at);
    assertEquals(has, traitsOf(head, record.cost.unpricedModels));
    assertEquals(Object.keys(same).length, 15);
    for (const [name, value] of Object.entries(same)) {
      assertEquals<unknown>(value, record[name as keyof typeof record], name);
    }
    assertEquals(listRowOf(ID, head, summary), row);
  }));
});

Deno.test("causes: a failure came through the last child that failed, and so on down", () => {
  const failure = (n: number, parent: number) => aRow(n, { parent: runId(parent) as RunId });
  // A row with a higher number starts earlier.
  const failures = [failure(3, 1), failure(2, 1), failure(5, 2), failure(4, 3)];
  const pathOf = (n: number) => causesOf(runId(n) as RunId, failures).map(({ id }) => id);
  assertEquals(pathOf(1), [runId(2), runId(5)]);
  assertEquals(pathOf(3), [runId(4)]);
  assertEquals(pathOf(4), []);
  // A run may name a descendant as its parent.
  const circle = [failure(1, 2), failure(2, 1)];
  assertEquals(causesOf(ID, circle).map(({ id }) => id), [runId(2), runId(1)]);
});
