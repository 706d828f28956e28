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
