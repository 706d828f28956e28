import { assertEquals } from "@std/assert";
import { NO_EVENTS } from "../../../../domain/runs/event_totals.ts";
import type { RunParts } from "../../../../domain/runs/run.ts";
import { firstArrivalOf, traitsOf } from "../../../../domain/runs/flags.ts";
import { summarize } from "../../../../domain/runs/summary.ts";

const AT = Date.UTC(2026, 0, 31);
const opening = { kind: "run", agent: "a", startedAt: AT - 9, receivedAt: AT } as const;
const closing = { status: "success", finishedAt: AT, receivedAt: AT + 5 } as const;

function head(parts: Partial<RunParts>, oldestAt: number | null, latestAt = oldestAt) {
  return {
    parts: { opening: null, closing: null, ...parts },
    totals: NO_EVENTS,
    batchCount: latestAt === null ? 0 : 1,
    ages: { oldestAt, latestAt },
    repricings: 0,
    repriced: undefined,
  };
}

Deno.test("traits: a run is late if events arrive after its close, not together with it", () => {
  assertEquals(traitsOf(head({ opening, closing }, AT, AT + 5), []), []);
  assertEquals(traitsOf(head({ opening, closing }, AT, AT + 6), []), ["late"]);
  // The run stays late even if its events have expired.
  assertEquals(traitsOf(head({ opening, closing }, null, AT + 6), []), ["late"]);
  assertEquals(traitsOf(head({ opening }, AT + 6), []), []);
});

Deno.test("traits: a run without an opening is an orphan; one with models without a price is unpriced", () => {
  assertEquals(traitsOf(head({ closing }, AT + 6), ["m"]), ["unpriced", "late", "orphan"]);
  assertEquals(traitsOf(head({}, AT), []), ["orphan"]);
});

Deno.test("a run without an opening is placed at its first arrival, also once that part is removed", () => {
  assertEquals(firstArrivalOf(head({ closing }, AT + 6)), AT + 5);
  assertEquals(firstArrivalOf(head({ closing }, AT + 1, AT + 6)), AT + 1);
  assertEquals(firstArrivalOf(head({}, null, AT + 6)), AT + 6);
  const first = summarize(head({ closing }, AT + 1, AT + 6), null);
  const stripped = { ...head({ closing }, null, AT + 7), batchCount: 2 };
  assertEquals(summarize(stripped, first).listed?.at, AT + 1);
  assertEquals(summarize(head({ closing, opening }, AT), first).listed?.at, opening.startedAt);
});
