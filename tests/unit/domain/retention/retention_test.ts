import { assert, assertEquals } from "@std/assert";
import { type Tier, TIER_NAMES, TIERS } from "../../../../domain/teams/plans.ts";
import {
  cutoffOf,
  daysKept,
  dueOf,
  expiryEntryOf,
  hasPayload,
  nightOf,
  ORPHAN_DAYS,
  payloadState,
  RETENTION_CLASSES,
  type RetentionClass,
  TOMBSTONE_DAYS,
  withoutPayload,
} from "../../../../domain/retention/retention.ts";
import type { LedgerAges } from "../../../../domain/runs/ledger.ts";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import type { Closing, Opening, RunParts } from "../../../../domain/runs/run.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2027, 0, 1);

const OPENING: Opening = { kind: "run", agent: "a", startedAt: 0, receivedAt: 100 };
const CLOSING: Closing = { status: "success", finishedAt: 0, receivedAt: 300 };
const NO_EVENTS: LedgerAges = { oldestAt: null, latestAt: null };

function runParts(opening: Partial<Opening> | null, closing: Partial<Closing> | null): RunParts {
  return {
    opening: opening && { ...OPENING, ...opening },
    closing: closing && { ...CLOSING, ...closing },
  };
}

Deno.test("decision 40: each plan has its retention of payloads and records; orphans keep a week, tombstones 30 days", () => {
  const table = TIER_NAMES.map((tier) =>
    RETENTION_CLASSES.map((retentionClass) => daysKept(TIERS[tier], retentionClass))
  );
  assertEquals(RETENTION_CLASSES, ["tombstone", "orphan", "payload", "record"]);
  assertEquals(table, [
    [30, 7, 7, 30],
    [30, 7, 14, 90],
    [30, 7, 30, 180],
    [30, 7, 90, 400],
    [30, 7, Infinity, Infinity],
  ]);
  assertEquals([TOMBSTONE_DAYS, ORPHAN_DAYS], [30, 7]);
  for (const tier of TIER_NAMES) assert(TIERS[tier].payloadDays <= TIERS[tier].recordDays);
});

Deno.test("cutoffs: full days of 24 hours before now, across months, leap days and years", () => {
  const cutoff = (now: string, retentionClass: RetentionClass, tier: Tier = "free") =>
    new Date(cutoffOf(TIERS[tier], retentionClass, Date.parse(now))).toISOString();
  assertEquals(cutoff("2028-03-05T02:00:00.000Z", "payload"), "2028-02-27T02:00:00.000Z");
  assertEquals(cutoff("2027-03-05T02:00:00.000Z", "payload"), "2027-02-26T02:00:00.000Z");
  assertEquals(cutoff("2027-01-03T02:00:00.000Z", "orphan"), "2026-12-27T02:00:00.000Z");
  assertEquals(cutoff("2028-03-30T00:00:00.001Z", "record"), "2028-02-29T00:00:00.001Z");
  assertEquals(
    cutoff("2028-03-01T00:00:00.000Z", "record", "business"),
    "2027-01-26T00:00:00.000Z",
  );
  // Daylight saving time does not affect UTC.
  assertEquals(cutoff("2027-03-29T02:00:00.000Z", "record"), "2027-02-27T02:00:00.000Z");
  assertEquals(cutoffOf(TIERS.enterprise, "payload", NOW), -Infinity);
  assertEquals(cutoffOf(TIERS.enterprise, "record", NOW), -Infinity);
});

Deno.test("expiry entry: by the oldest payload, then by the latest part; runs without an opening have their own class", () => {
  const events = { oldestAt: 200, latestAt: 400 };
  const cases: readonly [RunParts, LedgerAges, RetentionClass, number][] = [
    [runParts({}, null), NO_EVENTS, "record", 100],
    [runParts({}, {}), NO_EVENTS, "record", 300],
    [runParts({ goal: "g" }, {}), NO_EVENTS, "payload", 100],
    [runParts({}, { output: rawOf(1) }), NO_EVENTS, "payload", 300],
    [runParts({}, {}), events, "payload", 200],
    [runParts({ note: "n" }, { note: "n" }), events, "payload", 100],
    // All batches are removed: the latest still determines the age of the run.
    [runParts({}, {}), { oldestAt: null, latestAt: 400 }, "record", 400],
    [runParts(null, {}), NO_EVENTS, "orphan", 300],
    [runParts(null, null), events, "orphan", 200],
    [runParts(null, { note: "n" }), { oldestAt: 500, latestAt: 500 }, "orphan", 300],
    [runParts(null, {}), { oldestAt: null, latestAt: 400 }, "orphan", 400],
  ];
  for (const [given, ledger, retentionClass, since] of cases) {
    assertEquals(expiryEntryOf(given, ledger), { retentionClass, since });
  }
});

Deno.test("due: data is kept at the exact millisecond of its cutoff and expires one millisecond later", () => {
  const at = (days: number, ms: number) => NOW - days * DAY_MS + ms;
  const due = (opening: Partial<Opening> | null, closing: Partial<Closing> | null = null) =>
    dueOf(runParts(opening, closing), NO_EVENTS, TIERS.free, NOW);
  assertEquals(due({ receivedAt: at(7, 0), goal: "g" }), null);
  assertEquals(due({ receivedAt: at(7, -1), goal: "g" }), "payload");
  assertEquals(due({ receivedAt: at(7, -1) }), null);
  assertEquals(due({ receivedAt: at(30, 0) }), null);
  assertEquals(due({ receivedAt: at(30, -1) }), "record");
  assertEquals(due(null, { receivedAt: at(7, 0) }), null);
  assertEquals(due(null, { receivedAt: at(7, -1) }), "record");
  // Any younger part keeps the others.
  assertEquals(due({ receivedAt: at(30, -1) }, { receivedAt: at(30, 0) }), null);
  assertEquals(due({ receivedAt: at(30, -1), goal: "g" }, { receivedAt: at(30, -1) }), "record");
});

Deno.test("payload: it is output, goal, note and metadata values, and excludes cost, labels and scores", () => {
  assert(!hasPayload(null));
  assert(!hasPayload({ ...OPENING, customerId: "c", feature: "f", reported: { cost: 1n } }));
  assert(!hasPayload({ ...CLOSING, scores: [["s", 1]], durationMs: 5 }));
  assert(!hasPayload({ ...OPENING, metadata: [] }));
  assert(!hasPayload({ ...OPENING, metadata: [["k", null]] }));
  for (const value of ["", 0, false]) assert(hasPayload({ ...OPENING, metadata: [["k", value]] }));
  for (const texts of [{ goal: "" }, { note: "" }, { output: rawOf(null) }]) {
    assert(hasPayload({ ...OPENING, ...texts }), JSON.stringify(texts));
  }
});

Deno.test("payload: removing the payload of a part removes all of it and nothing else", () => {
  const closing: Closing = {
    ...CLOSING,
    output: rawOf("secret"),
    note: "secret",
    metadata: [["env", "secret"], ["tries", 3]],
    scores: [["quality", 0.5]],
    durationMs: 7,
    customerId: "acme",
    feature: "search",
    reported: { cost: 5n, model: "m" },
  };
  const stripped = withoutPayload(closing);
  assert(!hasPayload(stripped));
  assert(
    !JSON.stringify(stripped, (_, v) => typeof v === "bigint" ? `${v}` : v).includes("secret"),
  );
  assertEquals(stripped, {
    ...closing,
    output: undefined,
    note: undefined,
    metadata: [["env", null], ["tries", null]],
    payloadRemoved: true,
  });
  const opening: Opening = withoutPayload<Opening>({ ...OPENING, goal: "secret" });
  assertEquals(opening, {
    ...OPENING,
    output: undefined,
    note: undefined,
    goal: undefined,
    payloadRemoved: true,
  });
  assert(!("goal" in stripped), "a close has no goal");
  assertEquals(withoutPayload(stripped), stripped);
});

Deno.test("payload state: complete until something is removed, removed once nothing is left", () => {
  const full = { goal: "g" };
  const deleted = { payloadRemoved: true } as const;
  const state = (
    opening: Partial<Opening> | null,
    closing: Partial<Closing> | null,
    removed = 0,
    oldestAt: number | null = null,
  ) => payloadState(runParts(opening, closing), { removed, oldestAt });
  assertEquals(state({}, {}), "whole");
  assertEquals(state(full, null, 0, 5), "whole");
  assertEquals(state(deleted, null), "removed");
  assertEquals(state(deleted, deleted, 2), "removed");
  assertEquals(state(deleted, { note: "n" }), "partly_removed");
  assertEquals(state(deleted, null, 0, 5), "partly_removed");
  assertEquals(state(full, null, 2), "partly_removed");
  assertEquals(state({}, null, 2, 5), "partly_removed");
  assertEquals(state({}, null, 2), "removed");
});

Deno.test("decision 40: a night begins at 02:00 UTC, across month ends, leap days and years", () => {
  const nights: readonly [string, string][] = [
    ["2026-11-21T02:00:00.000Z", "2026-11-21"],
    ["2026-11-21T01:59:59.999Z", "2026-11-20"],
    ["2026-11-21T23:59:59.999Z", "2026-11-21"],
    ["2026-11-22T00:00:00.000Z", "2026-11-21"],
    ["2026-12-01T01:00:00.000Z", "2026-11-30"],
    ["2027-01-01T01:59:59.999Z", "2026-12-31"],
    ["2027-01-01T02:00:00.000Z", "2027-01-01"],
    ["2028-03-01T00:30:00.000Z", "2028-02-29"],
    ["2027-03-01T00:30:00.000Z", "2027-02-28"],
  ];
  for (const [instant, night] of nights) assertEquals(nightOf(Date.parse(instant)), night, instant);
});
