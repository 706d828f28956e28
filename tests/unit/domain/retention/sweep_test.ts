import { addCounts } from "../../../../domain/core/sums.ts";
import { assert, assertEquals } from "@std/assert";
import {
  EMPTY_SWEEP,
  isSweepDue,
  nightOf,
  SWEEP_SILENCE_MS,
  type SweepReport,
} from "../../../../domain/retention/retention.ts";

import fc from "fast-check";

const DAY_MS = 86_400_000;

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

Deno.test("nights: the next night begins exactly at its start, not a millisecond earlier", () => {
  const instants = fc.integer({ min: 0, max: Date.UTC(2100, 0) }).filter((ms) => ms > DAY_MS);
  fc.assert(fc.property(instants, (now) => {
    const nextMs = Date.parse(nightOf(now)) + DAY_MS + 2 * 3_600_000;
    assert(nextMs > now && nextMs <= now + DAY_MS);
    assertEquals(nightOf(nextMs - 1), nightOf(now));
    assert(nightOf(nextMs) > nightOf(now));
  }));
});

const REPORT: SweepReport = {
  night: "2026-11-21",
  clockAt: 1_000,
  startedAt: 1_000,
  toldAt: 5_000,
  finishedAt: null,
  teams: 0,
  counts: EMPTY_SWEEP,
};

Deno.test("a sweep is due if it was not started or its process stopped reporting, and never after it is done", () => {
  assert(isSweepDue(null, 0));
  assert(!isSweepDue(REPORT, 5_000));
  assert(!isSweepDue(REPORT, 5_000 + SWEEP_SILENCE_MS));
  assert(isSweepDue(REPORT, 5_000 + SWEEP_SILENCE_MS + 1));
  assert(!isSweepDue({ ...REPORT, finishedAt: 6_000 }, 5_000 + 100 * SWEEP_SILENCE_MS));
});

Deno.test("counts of sweeps add up field by field", () => {
  const a = { payloads: 1, events: 2, records: 3, orphans: 4, released: 5, failed: 6 };
  const b = { payloads: 10, events: 200, records: 3_000, orphans: 40_000, released: 0, failed: 1 };
  const sum = {
    payloads: 11,
    events: 202,
    records: 3_003,
    orphans: 40_004,
    released: 5,
    failed: 7,
  };
  assertEquals(addCounts(a, b), sum);
  assertEquals(addCounts(EMPTY_SWEEP, b), b);
});
