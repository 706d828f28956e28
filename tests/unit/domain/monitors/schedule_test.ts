/** Tests schedules: slots at the nights when clocks change, early arrivals, hostile expressions. */
import { assert, assertEquals } from "@std/assert";
import {
  defaultGraceSeconds,
  expectedAfter,
  nextSlots,
  type Schedule,
  scheduleProblem,
  scheduleWords,
} from "../../../../domain/monitors/schedule.ts";
import { cpuMsOf, leastOf } from "../../../support/oracles/durations.ts";
import { T0 } from "./monitors.ts";

const at = (text: string) => Date.parse(text);
const texts = (slots: number[]) => slots.map((slot) => new Date(slot).toISOString());
const berlin = (cron: string) => ({ cron, tz: "Europe/Berlin" });

function slotsAfter(schedule: Schedule, after: string, count: number): string[] {
  return texts(nextSlots(schedule, expectedAfter(schedule, at(after)), count));
}

Deno.test("schedule: a slot in the hour that a night skips is at the end of that hour", () => {
  assertEquals(slotsAfter(berlin("30 2 * * *"), "2026-03-28T12:00:00Z", 2), [
    "2026-03-29T01:00:00.000Z",
    "2026-03-30T00:30:00.000Z",
  ]);
});

Deno.test("schedule: a fixed hour comes once in a night that repeats it, an hourly line twice", () => {
  assertEquals(slotsAfter(berlin("30 2 * * *"), "2026-10-24T12:00:00Z", 2), [
    "2026-10-25T00:30:00.000Z",
    "2026-10-26T01:30:00.000Z",
  ]);
  assertEquals(slotsAfter(berlin("30 * * * *"), "2026-10-24T23:45:00Z", 3), [
    "2026-10-25T00:30:00.000Z",
    "2026-10-25T01:30:00.000Z",
    "2026-10-25T02:30:00.000Z",
  ]);
});

Deno.test("schedule: Lord Howe changes its clock by half an hour", () => {
  const schedule = { cron: "15 2 * * *", tz: "Australia/Lord_Howe" };
  assertEquals(slotsAfter(schedule, "2026-10-03T00:00:00Z", 2), [
    "2026-10-03T15:30:00.000Z",
    "2026-10-04T15:15:00.000Z",
  ]);
});

Deno.test("schedule: an arrival shortly before a slot belongs to it", () => {
  const daily = { cron: "0 2 * * *", tz: "UTC" };
  const tomorrow = at("2026-05-02T02:00:00Z");
  assertEquals(expectedAfter(daily, at("2026-05-01T01:59:00Z")), tomorrow);
  assertEquals(expectedAfter(daily, at("2026-05-01T02:00:00Z")), tomorrow);
  assertEquals(expectedAfter(daily, at("2026-05-01T01:58:59Z")), at("2026-05-01T02:00:00Z"));
  // A tenth of the gap is less than a minute.
  const often = { cron: "*/5 * * * *", tz: "UTC" };
  assertEquals(expectedAfter(often, at("2026-05-01T01:59:30Z")), at("2026-05-01T02:05:00Z"));
  assertEquals(expectedAfter(often, at("2026-05-01T01:59:29Z")), at("2026-05-01T02:00:00Z"));
});

Deno.test("schedule: a year of slots takes milliseconds", () => {
  const year = () => nextSlots(berlin("30 2 * * *"), at("2026-01-01T01:30:00Z"), 366);
  const slots = year();
  assert(leastOf(500, () => cpuMsOf(year)) < 500, "a year took too long");
  assertEquals(texts(slots).at(-1), "2027-01-01T01:30:00.000Z");
  assertEquals(new Set(slots).size, 366);
});

Deno.test("schedule: periods are 60 s to 365 days", () => {
  for (const everySeconds of [60, 31_536_000]) {
    assertEquals(scheduleProblem({ everySeconds }), null);
    assertEquals(expectedAfter({ everySeconds }, 5), 5 + everySeconds * 1_000);
  }
  for (const everySeconds of [59, 31_536_001, 60.5, Number.NaN]) {
    assertEquals(typeof scheduleProblem({ everySeconds }), "string", `${everySeconds}`);
  }
});

Deno.test("schedule: expressions that are refused", () => {
  const refused = ["", "* * * *", "0 0 30 2 *", "5/15 * * * *", "22-2 * * * *", "@reboot"];
  refused.push("2026-12-01T00:00:00", "0 0 0 1 1 * 2030", "* * * * * *", "0,30 * * * * *");
  refused.push(
    "59,0 0 2 * * *",
    "*/30 0 2 1 1 *",
    "0 0 * * *\n",
    "x".repeat(101),
    "60 * * * *",
    "0 0 1 * +1",
  );
  for (const cron of refused) {
    assertEquals(typeof scheduleProblem({ cron, tz: "UTC" }), "string", cron);
  }
  for (const tz of ["", "Nowhere/City", "+02:00", "x".repeat(65)]) {
    assertEquals(typeof scheduleProblem({ cron: "@daily", tz }), "string", tz);
  }
  for (const cron of ["@daily", "0 0 29 2 *", "0 */5 * * * *", "0 2 * * MON-FRI", "* * * * *"]) {
    assertEquals(scheduleProblem({ cron, tz: "Europe/Berlin" }), null, cron);
  }
});

Deno.test("schedule: words and grace", () => {
  assertEquals(scheduleWords({ cron: "0 2 * * *", tz: "UTC" }), "At 02:00");
  assertEquals(scheduleWords({ everySeconds: 86_400 }), "Every day");
  assertEquals(scheduleWords({ everySeconds: 5_400 }), "Every 90 minutes");
  assertEquals(defaultGraceSeconds({ everySeconds: 60 }), 60);
  assertEquals(defaultGraceSeconds({ everySeconds: 86_400 }), 17_280);
  assertEquals(defaultGraceSeconds({ cron: "0 2 * * *", tz: "UTC" }), 17_280);
});

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
