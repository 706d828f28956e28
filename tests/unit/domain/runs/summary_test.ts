import { assertEquals } from "@std/assert";
import { NO_EVENTS } from "../../../../domain/runs/event_totals.ts";
import type { Closing, Opening } from "../../../../domain/runs/run.ts";
import type { RunHead } from "../../../../domain/runs/cost.ts";
import { isCurrent, type RunSummary, summarize } from "../../../../domain/runs/summary.ts";

const AT = Date.UTC(2026, 0, 31, 23, 59, 59, 999);
const opening: Opening = { kind: "run", agent: "a", startedAt: AT, receivedAt: AT };
const beat: Opening = { ...opening, kind: "heartbeat" };
const closing: Closing = { status: "failed", finishedAt: AT + 9, receivedAt: AT };

function head(fields: Partial<RunHead> = {}): RunHead {
  return {
    parts: { opening: null, closing: null },
    totals: NO_EVENTS,
    batchCount: 0,
    ages: { oldestAt: null, latestAt: null },
    repricings: 0,
    repriced: undefined,
    ...fields,
  };
}

const opened = head({ parts: { opening, closing: null } });
const closed = head({ parts: { opening, closing } });

Deno.test("summary: it is current until a part, batch or price is added", () => {
  assertEquals(isCurrent(null, opened), false);
  const states = [
    head({ batchCount: 1 }),
    opened,
    { ...opened, batchCount: 1 },
    closed,
    head({ parts: { opening: null, closing } }),
    { ...closed, batchCount: 2 },
    { ...closed, repricings: 1 },
  ];
  for (const state of states) {
    const summary = summarize(state, null);
    for (const other of states) assertEquals(isCurrent(summary, other), state === other);
  }
});

Deno.test("summary: computing it again from the same state changes nothing", () => {
  for (const state of [opened, closed, head({ parts: { opening: null, closing } })]) {
    const first = summarize(state, null);
    assertEquals(summarize(state, first), first);
  }
});

/** Revisions of a run that passes through these states, each seen by the worker. */
function revisions(...states: RunHead[]): number[] {
  let summary: RunSummary | null = null;
  return states.map((state) => (summary = summarize(state, summary)).revision);
}

Deno.test("revision: 0 while open, 1 with the close, then one more for each late batch or new price", () => {
  const late = { ...closed, batchCount: 1 };
  const repriced = { ...late, repricings: 1 };
  assertEquals(revisions(opened, { ...opened, batchCount: 1 }, { ...closed, batchCount: 1 }), [
    0,
    0,
    1,
  ]);
  assertEquals(revisions(opened, closed, late, repriced), [0, 1, 2, 3]);
  // Seen together they are one revision.
  assertEquals(revisions(closed, { ...closed, batchCount: 5, repricings: 3 }), [1, 2]);
});

Deno.test("revision: an opening after the close counts only if it reports a cost", () => {
  const alone = head({ parts: { opening: null, closing } });
  assertEquals(revisions(alone, closed), [1, 1]);
  assertEquals(revisions(alone, head({ parts: { opening: beat, closing } })), [1, 2]);
  assertEquals(revisions(alone, { ...closed, batchCount: 1 }), [1, 2]);
});

Deno.test("contribution: none before the opening, then to the UTC day of the start", () => {
  assertEquals(summarize(head({ parts: { opening: null, closing } }), null).contribution, null);
  const contribution = summarize(closed, null).contribution;
  assertEquals([contribution?.day, contribution?.labels.status], ["2026-01-31", "failed"]);
  const next = { ...opening, startedAt: AT + 1 };
  const parts = { opening: next, closing };
  assertEquals(summarize(head({ parts }), null).contribution?.day, "2026-02-01");
});

Deno.test("contribution: the close's customer and feature win over the opening's", () => {
  const from = { ...opening, customerId: "acme", feature: "search" };
  const labels = (more: Partial<Closing>) => {
    const parts = { opening: from, closing: { ...closing, ...more } };
    return summarize(head({ parts }), null).contribution?.labels;
  };
  assertEquals(labels({}), {
    agent: "a",
    customer: "acme",
    feature: "search",
    status: "failed",
  });
  assertEquals(labels({ customerId: "globex" })?.customer, "globex");
  assertEquals(summarize(opened, null).contribution?.labels, {
    agent: "a",
    customer: null,
    feature: null,
    status: "running",
  });
});
