/** Order and repeats of outcomes do not change where a monitor ends, and each step keeps rules. */
import { assert, assertEquals } from "@std/assert";
import {
  addOutcomes,
  changeSettings,
  deadlinesOf,
  evaluateMonitor,
  failuresInRow,
  type Flip,
  type Monitor,
  nextDueAt,
  pauseMonitor,
  resumeMonitor,
} from "../../../../domain/monitors/monitor.ts";
import type { Outcome } from "../../../../domain/outcomes/window.ts";
import { missedAt } from "../../../../domain/monitors/row.ts";
import {
  created,
  HOUR,
  type Kind,
  MINUTE,
  outcome,
  SECOND,
  settings,
  short,
  T0,
  Watched,
} from "./monitors.ts";
import fc from "fast-check";
import type { Absence } from "../../../../domain/work/work.ts";

const END = T0 + 24 * HOUR;

const kinds = fc.constantFrom<Kind>("good", "bad", "overrun");

/** Signals of the 24 hours, each outcome of a run once. */
const outcomes = (max: number) =>
  fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 1_440 }), kinds, fc.nat(40)), {
    maxLength: max,
    selector: ([, kind, run]) => `${run} ${kind}`,
  }).map((drawn) => drawn.map(([minute, kind, run]) => outcome(T0 + minute * MINUTE, kind, run)));

function endOf(monitor: Monitor) {
  const { state, lastArrivalAt, lastOkAt } = monitor;
  return { state, lastArrivalAt, lastOkAt, ...deadlinesOf(monitor), fails: failuresInRow(monitor) };
}

/** Evaluates a monitor at each of its deadlines until an instant. */
function evaluateUntil(watched: Watched, untilMs: number): Watched {
  for (;;) {
    const due = nextDueAt(watched.monitor, watched.monitor.since, 0);
    if (due === null || due > untilMs) return watched;
    watched.evaluate(due);
  }
}

/** Counts outcomes in the order of their arrival, with each evaluation in time. */
function inOrder(monitor: Monitor, sent: readonly Outcome[], untilMs = END): Watched {
  const watched = new Watched(monitor);
  for (const each of sent.toSorted((a, b) => a.at - b.at)) {
    evaluateUntil(watched, each.at - 1).add(each);
  }
  return evaluateUntil(watched, untilMs);
}

Deno.test("outcomes: one that is counted after the evaluation that missed it ends as if in time", () => {
  // With higher thresholds only the latest missed run is corrected.
  const delays = fc.array(fc.integer({ min: 0, max: 180 }), { minLength: 20, maxLength: 20 });
  fc.assert(
    fc.property(outcomes(20), delays, (sent, minutes) => {
      const late = new Watched(created());
      const arrivals = sent.map((each, i) => ({ each, now: each.at + (minutes[i] ?? 0) * MINUTE }));
      for (const { each, now } of arrivals.toSorted((a, b) => a.now - b.now)) {
        evaluateUntil(late, now).add(each);
      }
      const end = Math.max(T0, ...arrivals.map(({ now }) => now)) + 30 * MINUTE;
      const inTime = inOrder(created(), sent, end);
      assertEquals(endOf(evaluateUntil(late, end).monitor), endOf(inTime.monitor));
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("outcomes: a late arrival moves the missed run before a later arrival", () => {
  const [first, second] = [outcome(T0 + 30 * MINUTE, "good"), outcome(T0 + 3 * HOUR, "good")];
  const late = new Watched(created({ recoveryThreshold: 2 })).evaluate(T0 + 2 * HOUR).add(second)
    .add(
      first,
    );
  assertEquals([late.monitor.state, missedAt(late.monitor)], ["down", T0 + 100 * MINUTE]);
  // One that leaves no time without a run takes it back.
  late.add(outcome(T0 + 90 * MINUTE, "good"), outcome(T0 + 140 * MINUTE, "good"));
  assertEquals([late.monitor.state, missedAt(late.monitor)], ["up", null]);
});

Deno.test("outcomes: only the latest are kept, with what those before them make", () => {
  const minutes = (from: number, to: number, kind: Kind) =>
    Array.from({ length: to - from }, (_, i) => outcome(T0 + (from + i) * SECOND, kind));
  const limits = { failureThreshold: 32, recoveryThreshold: 32 };
  const watched = new Watched(created(limits)).add(...minutes(1, 30, "bad"));
  watched.add(outcome(T0 + 30 * SECOND, "good"), ...minutes(31, 62, "bad"));
  assertEquals([watched.monitor.outcomes.kept.length, watched.monitor.state], [32, "up"]);
  assertEquals(watched.monitor.outcomes.kept[0]?.kind, "good");
  watched.add(outcome(T0 + 62 * SECOND, "bad"));
  assertEquals(watched.monitor.state, "down");
  // The base holds the failures that are no longer kept, and no older outcome changes them.
  watched.add(...minutes(63, 120, "bad")).add(outcome(T0 + 31 * SECOND, "good"));
  assertEquals([watched.monitor.outcomes.kept.length, failuresInRow(watched.monitor)], [32, 89]);
  watched.add(...minutes(120, 151, "good"), ...minutes(120, 151, "good"));
  assertEquals(watched.monitor.state, "down");
  watched.add(outcome(T0 + 151 * SECOND, "good"));
  assertEquals(short(watched.flips), ["62 up>down failed", "151 down>up recovered"]);
});

Deno.test("order: a failure that is counted before the success that ends a pause makes it down", () => {
  const paused = () =>
    new Watched(created()).do(
      pauseMonitor(created(), { untilMs: null, isSticky: false }, T0 + SECOND),
    );
  const ok = outcome(T0 + 2 * SECOND, "good");
  const fail = outcome(T0 + 3 * SECOND, "bad");
  const flips = ["1 up>paused paused", "2 paused>up resumed", "3 up>down failed"];
  assertEquals(short(paused().add(ok).add(fail).flips), flips);
  assertEquals(short(paused().add(fail).add(ok).add(fail).flips), flips);
});

Deno.test("order: of a run that is reopened and fails again, the latest close counts", () => {
  const watched = new Watched(created({ failureThreshold: 2 }));
  const [first, again] = [outcome(T0 + SECOND, "bad", 1), outcome(T0 + 3 * SECOND, "bad", 1)];
  watched.add(first).add(again).add(first);
  assertEquals([watched.monitor.state, failuresInRow(watched.monitor)], ["up", 1]);
  const recovered = new Watched(created());
  recovered.add(first).add(outcome(T0 + 2 * SECOND, "good", 2)).add(again);
  assertEquals(short(recovered.flips), [
    "1 up>down failed",
    "2 down>up recovered",
    "3 up>down failed",
  ]);
});

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
