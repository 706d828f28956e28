/** Retention of incidents, and removal of runs and customers from them. */
import { assert, assertEquals } from "@std/assert";
import {
  incidentWithoutRuns,
  runsOfIncident,
  withoutCustomer,
  withoutRuns,
} from "../../../../domain/alerts/erasure.ts";
import { type Incident, lastBadAt } from "../../../../domain/alerts/incident.ts";
import { expiryOf } from "../../../../domain/alerts/instance.ts";
import { factsOf } from "../../../../domain/alerts/transition.ts";
import type { RunId } from "../../../../domain/core/ids.ts";

const NOON = Date.UTC(2026, 10, 23, 12);
const DAY = 86_400_000;
const [R1, R2, R3] = ["r1", "r2", "r3"] as RunId[] as [RunId, RunId, RunId];

function incident(changed: Partial<Incident> = {}): Incident {
  return {
    id: "inc_eu_1",
    rule: "failures",
    kind: "run_failed",
    severity: "critical",
    state: "open",
    group: { customer: "acme" },
    groupText: "=acme",
    openedAt: NOON,
    resolvedAt: null,
    resolvedBy: null,
    count: 3,
    value: 1,
    threshold: 3,
    title: "3 runs of acme failed in a row",
    error: "no such file",
    runs: [R3, R2],
    isSilenced: false,
    acknowledged: null,
    ruleVersion: 0,
    timeline: [
      { at: NOON, what: "opened", count: 2 },
      { at: NOON + DAY, what: "repeated", run: R1 },
      { at: NOON + 2 * DAY, what: "notified", channels: ["ops"] },
    ],
    deliveries: {},
    notifiedAt: null,
    notifiedCount: 0,
    isHeldBack: false,
    ...changed,
  };
}

Deno.test("expiry: the error goes with payloads, the incident with records", () => {
  const plan = { payloadDays: 7, recordDays: 30 };
  const at = (days: number, changed: Partial<Incident> = {}, judged = days) => {
    const now = NOON + days * DAY;
    const { due, nextAt } = expiryOf(incident(changed), plan, now, NOON + judged * DAY);
    return [due, Math.round((nextAt - now) / DAY * 10) / 10];
  };
  assertEquals(lastBadAt(incident()), NOON + DAY);
  assertEquals(at(3), [null, 5]);
  assertEquals(at(8), [null, 0]);
  assertEquals(at(9), ["error", 7]);
  assertEquals(at(9, {}, 7), [null, 0.5], "the clock of the sweep is behind");
  assertEquals(at(100, { error: null }), [null, 7], "open ones are kept");
  assertEquals(at(25, { error: null, resolvedAt: NOON }), [null, 5]);
  assertEquals(at(31, { resolvedAt: NOON }), ["all", 0.5]);
  const forever = expiryOf(
    incident({ resolvedAt: NOON }),
    { payloadDays: Infinity, recordDays: Infinity },
    NOON + 900 * DAY,
    NOON + 900 * DAY,
  );
  assertEquals(forever, { due: null, nextAt: NOON + 907 * DAY });
});

Deno.test("erasure: runs leave the facts and the timeline; the newest takes its error along", () => {
  const before = incident();
  assertEquals(runsOfIncident(before), [R3, R2, R1]);
  assert(incidentWithoutRuns(before, () => false) === before);
  const older = incidentWithoutRuns(before, (run) => run === R2 || run === R1);
  assertEquals([older.runs, older.error], [[R3], "no such file"]);
  assertEquals(older.timeline[1], { at: NOON + DAY, what: "repeated", run: null });
  const newest = withoutRuns(before, (run) => run === R3);
  assertEquals([newest.runs, newest.error], [[R2], null]);
});

Deno.test("erasure: nothing names a deleted customer", () => {
  const erased = withoutCustomer(factsOf(incident()));
  assertEquals(JSON.stringify(erased).includes("acme"), false);
  assertEquals([erased.group, erased.runs, erased.error], [{}, [], null]);
  const other = incident({ group: { agent: "acme" } });
  assert(withoutCustomer(other) === other);
});
