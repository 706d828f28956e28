/** Numbering of a run's changes, and which of them a reader receives. */
import { assertEquals } from "@std/assert";
import { numbersAfter, type RunSummary } from "../../../../domain/runs/summary.ts";
import {
  eventsOf,
  isFollowed,
  readLiveFilters,
  type RunChange,
} from "../../../../domain/feed/changes.ts";
import { Query } from "../../../../domain/core/query.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import type { RunListRow } from "../../../../domain/runs/list.ts";
import { unlessRefused } from "../../../../domain/core/errors.ts";

const LISTED = { kind: "run", at: 0, has: [] } as const;
const SHOWN = {
  openedAt: null,
  finishedAt: null,
  durationMs: null,
  llmCalls: 0,
  toolCalls: 0,
  logs: 0,
  errors: 0,
  flags: [],
  costFlags: [],
};

function summary(opening: boolean, closing: boolean, revision: number): RunSummary {
  const seen = { opening, closing, batches: 0, repricings: 0 };
  return { seen, revision, contribution: null, times: null, listed: LISTED, shown: SHOWN };
}

/** Numbers after each of several summaries, made by changes 1, 2, 3 ... */
function numbersOf(all: readonly RunSummary[]) {
  let before: RunSummary | null = null;
  const results = [];
  for (const [i, after] of all.entries()) {
    const changes = numbersAfter(before, after, i + 1);
    const { latest, opened, finished, costFinal } = changes;
    results.push([latest, opened, finished, costFinal]);
    before = { ...after, changes };
  }
  return results;
}

Deno.test("numbers: each event keeps the number of its first change, and the cost of its last", () => {
  const life = [
    summary(true, false, 0),
    summary(true, false, 0),
    summary(true, true, 1),
    summary(true, true, 2),
  ];
  assertEquals(numbersOf(life), [[1, 1, 0, 0], [2, 1, 0, 0], [3, 1, 3, 3], [4, 1, 3, 4]]);
});

Deno.test("numbers: a close before its opening is numbered as finished first and opened later", () => {
  const life = [summary(false, true, 1), summary(true, true, 1)];
  assertEquals(numbersOf(life), [[1, 0, 1, 1], [2, 2, 1, 1]]);
});

Deno.test("numbers: what happened before the feed existed is not reported as new", () => {
  const changes = numbersAfter(summary(true, true, 1), summary(true, true, 2), 7);
  assertEquals(changes, { latest: 7, opened: 0, finished: 0, costFinal: 7 });
});

const ROW = {
  id: "run_eu_1",
  startedAt: 0,
  sortedAt: 0,
  cost: { amount: 0n },
  agent: "a",
  customerId: null,
  feature: "f",
  status: "success",
  kind: "run",
} as unknown as RunListRow;

Deno.test("events: a reader at a given change receives every later event once", () => {
  const numbers = { latest: 9, opened: 2, finished: 5, costFinal: 9 };
  const change: RunChange = { kind: "changed", number: 9, numbers, row: ROW };
  assertEquals(eventsOf(change, 0), ["run.opened", "run.finished", "run.cost_final"]);
  assertEquals(eventsOf(change, 2), ["run.finished", "run.cost_final"]);
  assertEquals(eventsOf(change, 5), ["run.cost_final"]);
  assertEquals(eventsOf(change, 9), []);
  const removed: RunChange = { kind: "deleted", number: 10, run: "r" as RunId, deletedAt: 0 };
  assertEquals(eventsOf(removed, 0), []);
});

Deno.test("filters: a run matches when every filter matches", () => {
  const follows = (query: Record<string, string>) => {
    const text = new URLSearchParams(query).toString();
    return unlessRefused(
      () => isFollowed(ROW, readLiveFilters(new Query(text))),
      ({ field }) => field,
    );
  };
  assertEquals(follows({}), true);
  assertEquals(follows({ agent: "a", status: "success", kind: "run", feature: "f" }), true);
  assertEquals(follows({ customer_id: "(unattributed)" }), true);
  assertEquals(follows({ customer_id: "acme" }), false);
  assertEquals(follows({ agent: "a", status: "failed" }), false);
  assertEquals(follows({ kind: "heartbeat" }), false);
  assertEquals(follows({ kind: "walk" }), "kind");
  assertEquals(follows({ status: "ok" }), "status");
});
