/** Rules that hold after any steps of a monitor: late outcomes, evaluations, changes and absences. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Absence } from "../../../../domain/work/work.ts";
import {
  addOutcomes,
  changeSettings,
  evaluateMonitor,
  type Flip,
  type Monitor,
  nextDueAt,
  pauseMonitor,
  resumeMonitor,
} from "../../../../domain/monitors/monitor.ts";
import { created, MINUTE, outcome, SECOND, settings, T0 } from "./monitors.ts";

const step = fc.record({
  what: fc.constantFrom(
    "evaluate",
    "evaluate",
    "outcome",
    "outcome",
    "outcome",
    "settings",
    "pause",
    "resume",
  ),
  passes: fc.oneof(fc.nat(SECOND), fc.nat(MINUTE), fc.nat(70 * MINUTE)),
  isAbsent: fc.nat(7).map((n) => n === 0),
  lateMs: fc.nat(20 * SECOND),
  outcome: fc.constantFrom("good" as const, "bad" as const),
  schedule: fc.constantFrom(
    { everySeconds: 60 },
    { everySeconds: 600 },
    { cron: "*/5 * * * *", tz: "UTC" },
    { cron: "0 * * * *", tz: "Europe/Berlin" },
  ),
  graceSeconds: fc.constantFrom(0, 30, 600),
  threshold: fc.integer({ min: 1, max: 3 }),
  flag: fc.boolean(),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function take(monitor: Monitor, nowMs: number, absences: readonly Absence[], step: Step) {
  const { threshold: failureThreshold, schedule, graceSeconds, flag } = step;
  switch (step.what) {
    case "evaluate": {
      const summarizedToMs = nowMs - (flag ? 2 * SECOND : 5 * MINUTE);
      const turn = { nowMs, absences, summarizedToMs };
      const change = evaluateMonitor(monitor, turn);
      const due = nextDueAt(change.monitor, summarizedToMs, 0);
      const isExpected = change.monitor.state === "up" || change.monitor.state === "late";
      assert(
        due === null ? !isExpected : due > summarizedToMs,
        "the next evaluation is in the future",
      );
      assertEquals(
        evaluateMonitor(change.monitor, turn).flips,
        [],
        "a repeated evaluation changes nothing",
      );
      return change;
    }
    case "outcome": {
      const outcomes = [outcome(nowMs - step.lateMs, step.outcome)];
      const change = addOutcomes(monitor, outcomes);
      assertEquals(addOutcomes(change.monitor, outcomes).flips, [], "a repeat changes nothing");
      return change;
    }
    case "settings": {
      const changed = settings({
        schedule,
        graceSeconds,
        failureThreshold,
        enabled: !step.isAbsent,
      });
      return changeSettings(monitor, changed, { at: nowMs, by: "k" });
    }
    case "pause":
      return pauseMonitor(
        monitor,
        { untilMs: flag ? nowMs + MINUTE : null, isSticky: flag },
        nowMs,
      );
    default:
      return resumeMonitor(monitor, nowMs);
  }
}

Deno.test("steps: flips follow each other, no evaluation is due twice, and repeats change nothing", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 3, maxLength: 25 }), fc.boolean(), (steps, isNew) => {
      let monitor = isNew ? created({}, null) : created();
      const flips: Flip[] = [];
      const absences: Absence[] = [];
      let [nowMs, state, since] = [T0, monitor.state, monitor.since];
      for (const each of steps) {
        const untilMs = nowMs + each.passes;
        if (each.isAbsent && each.passes > MINUTE) absences.push({ fromMs: nowMs, untilMs });
        nowMs = untilMs;
        const change = take(monitor, nowMs, absences, each);
        if (change === null) continue;
        monitor = change.monitor;
        flips.push(...change.flips);
      }
      for (const { at, from, to } of flips) {
        if (to === "unknown") continue;
        assertEquals(from, state);
        assert(at >= since && at <= nowMs);
        [state, since] = [to, at];
      }
      assertEquals([monitor.state, monitor.since], [state, since]);
    }),
    { numRuns: 1_500 },
  );
});
