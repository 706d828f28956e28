import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { EMPTY_LEDGER } from "../../../../domain/runs/ledger.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import { assemble, type StoredRun } from "../../../../domain/runs/record.ts";
import type { Closing, Opening } from "../../../../domain/runs/run.ts";
import { type RunSummary, summarize } from "../../../../domain/runs/summary.ts";
import { runId } from "../../../support/builders/requests.ts";

const ID = runId(1) as RunId;
const NOON = Date.UTC(2026, 0, 31, 12);

const opening: Opening = { kind: "run", agent: "a", startedAt: NOON, receivedAt: NOON };
const closing: Closing = { status: "success", finishedAt: NOON + 9, receivedAt: NOON + 10 };

/** Additional data that a run may have. */
const NOTHING = {
  firstBatchAt: null,
  addedScores: [],
  incidents: [],
  checks: [],
  judges: [],
  failure: null,
};

function record(parts: Partial<StoredRun["parts"]>, more: Partial<StoredRun> = {}) {
  const joined = { opening: null, closing: null, ...parts };
  const head = {
    parts: joined,
    totals: EMPTY_LEDGER.totals,
    batchCount: (more.firstBatchAt ?? null) === null ? 0 : 1,
    ages: { oldestAt: null, latestAt: null },
    repricings: 0,
    repriced: undefined,
    ...more,
  };
  // As processing leaves it once it has seen everything.
  const summary = summarize(head, null);
  return assemble(ID, { ...NOTHING, payload: "whole", summary, ...head });
}

/** Stored batches that arrived at these instants. */
function batches(...arrivals: number[]): Partial<StoredRun> {
  if (arrivals.length === 0) return {};
  const [firstAt, latestAt] = [Math.min(...arrivals), Math.max(...arrivals)];
  return { firstBatchAt: firstAt, ages: { oldestAt: arrivals[0] ?? null, latestAt } };
}

Deno.test("decision 17: the cost is final once the close and all batches are counted", () => {
  const head = (batchCount: number, closed: boolean) => ({
    parts: { opening, closing: closed ? closing : null },
    totals: EMPTY_LEDGER.totals,
    batchCount,
    ages: { oldestAt: null, latestAt: null },
    repricings: 0,
    repriced: undefined,
  });
  const cost = (now: ReturnType<typeof head>, summary: RunSummary | null) => {
    const { state, revision } =
      assemble(ID, { ...now, ...NOTHING, payload: "whole", summary }).cost;
    return [state, revision];
  };
  const open = summarize(head(1, false), null);
  assertEquals(cost(head(1, false), open), ["pending", 0]);
  assertEquals(cost(head(1, true), open), ["pending", 0]);
  const first = summarize(head(1, true), open);
  assertEquals(cost(head(1, true), first), ["final", 1]);
  assertEquals(cost(head(2, true), first), ["pending", 1]);
  const second = summarize(head(2, true), first);
  assertEquals(cost(head(2, true), second), ["final", 2]);
  assertEquals(summarize(head(2, true), second), second);
});

Deno.test("decisions, section 1: the record depends on its parts, not on their order of arrival", () => {
  const near = fc.integer({ min: NOON, max: NOON + 30_000 });
  const plain = record({ opening, closing });
  fc.assert(fc.property(near, near, fc.array(near), (opened, ended, arrivals) => {
    const run = record({
      opening: { ...opening, receivedAt: opened },
      closing: { ...closing, receivedAt: ended },
    }, batches(...arrivals));
    const { receivedAt, updatedAt } = run;
    assertEquals(withoutArrivals(run), withoutArrivals(plain));
    assertEquals([receivedAt, updatedAt], [opened, Math.max(opened, ended, ...arrivals)]);
  }));
});

function withoutArrivals(run: ReturnType<typeof record>) {
  const opening = { ...run.opening, receivedAt: 0 };
  return { ...run, opening, receivedAt: 0, updatedAt: 0, processing: [] };
}
