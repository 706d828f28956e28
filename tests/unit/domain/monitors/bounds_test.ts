/** Tests that hostile schedules and busy agents take little time. */
import { assert } from "@std/assert";
import { addOutcomes, evaluateMonitor, type Monitor } from "../../../../domain/monitors/monitor.ts";
import {
  expectedAfter,
  nextSlots,
  scheduleProblem,
  scheduleWords,
} from "../../../../domain/monitors/schedule.ts";
import { cpuMsOf, leastOf } from "../../../support/oracles/durations.ts";
import { created, HOUR, outcome, SECOND, T0, turn } from "./monitors.ts";

/** Milliseconds of the processor that one expression may take, and one without a slot. */
const EXPRESSION_MS = 250, REFUSED_MS = 2;

/** Values of the fields: seconds, minutes, hours, days of the month, months, days of the week. */
const VALUES = [
  ["0", "59", "7"],
  ["*", "59", "*/59", "0-59/7", "1,2,3,4,5,6,7,8,9", "30"],
  ["*", "2", "*/23", "0-5/2", "3", "23,22,21"],
  ["*", "L", "31", "29", "LW", "15W", "30,31", "1-31/30"],
  ["*", "2", "FEB", "4,6", "*/11", "2,4,6,9,11"],
  ["*", "+MON", "5#5", "5L", "7", "MON#5", "?", "0#5", "1-5/2", "+MON"],
];

/** Returns 300 expressions that are sparse, long or wrong. */
function hostile(): string[] {
  let next = 42;
  const random = (below: number) => (next = next * 48_271 % 2_147_483_647) % below;
  const pick = (values: readonly string[]) => values[random(values.length)] ?? "*";
  const sparse = ["0 0 29 2 5#5", "0 0 31 2,4,6,9,11 *", "59 59 23 31 12 +7", "0 0 29 2 +1"];
  sparse.push("0 0 30 2 +0", "0 0 LW 2 +5", "0 0 31 2 MON", "0 0 29 2 +5L");
  sparse.push(`${"0,".repeat(49)}0 0 1 1 *`, "99999999999 * * * *", "*/0 * * * *", "-1 * * * *");
  const drawn = Array.from({ length: 300 - sparse.length }, (_, i) => {
    const mixed = i % 10 === 0 ? VALUES.flat() : null;
    return VALUES.slice(random(2)).map((values) => pick(mixed ?? values)).join(" ");
  });
  return [...sparse, ...drawn];
}

Deno.test("schedule: hostile expressions are refused or evaluated in bounded time", () => {
  let slowest = 0, valid = 0, which = "";
  for (const cron of hostile()) {
    const schedule = { cron, tz: "Australia/Lord_Howe" };
    if (scheduleProblem(schedule) === null) valid++;
    const took = leastOf(EXPRESSION_MS, () =>
      cpuMsOf(() => {
        if (scheduleProblem(schedule) !== null) return;
        scheduleWords(schedule);
        nextSlots(schedule, expectedAfter(schedule, T0), 5);
      }));
    if (took > slowest) [slowest, which] = [took, cron];
  }
  assert(valid > 90 && valid < 285, `${valid} are valid`);
  assert(slowest < EXPRESSION_MS, `${which} took ${slowest} ms`);
});

Deno.test("schedule: expressions without a slot are refused in less than 2 ms each", () => {
  const refuseAll = () => {
    for (let i = 0; i < 41; i++) {
      const schedule = { cron: `${i} ${i % 24} 31 2,4,6,9,11 *`, tz: "Australia/Lord_Howe" };
      assert(scheduleProblem(schedule) !== null);
    }
  };
  const each = leastOf(REFUSED_MS, () => cpuMsOf(refuseAll) / 41);
  assert(each < REFUSED_MS, `${each} ms`);
});

Deno.test("monitor: an evaluation and an outcome take microseconds", () => {
  const busy = addOutcomes(
    created({ failureThreshold: 32 }),
    Array.from({ length: 40 }, (_, i) => outcome(T0 + i * SECOND, i % 3 === 0 ? "bad" : "good")),
  ).monitor;
  const late = Array.from({ length: 1_000 }, (_, i) => outcome(T0 + HOUR + i, "good", i));
  const microseconds = (most: number, work: (monitor: Monitor, i: number) => unknown) =>
    leastOf(most, () =>
      cpuMsOf(() => {
        for (let i = 0; i < 1_000; i++) work(busy, i);
      }));
  const evaluation = microseconds(
    20,
    (monitor, i) => evaluateMonitor(monitor, turn(T0 + HOUR + i)),
  );
  const add = microseconds(100, (monitor, i) => addOutcomes(monitor, late.slice(i, i + 1)));
  assert(evaluation < 20 && add < 100, `evaluation ${evaluation} µs, outcome ${add} µs`);
});
