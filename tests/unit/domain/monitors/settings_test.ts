/** The body of a monitor's settings, durations, and the settings that are proposed from runs. */
import { assert, assertEquals } from "@std/assert";
import { MONITORS } from "../../../../domain/monitors/body.ts";
import { durationWord, parseDuration } from "../../../../domain/monitors/schedule.ts";
import { problemOf } from "../../../support/oracles/problems.ts";
import { proposeSettings } from "../../../../domain/monitors/proposal.ts";
import { cpuMs } from "../../../support/oracles/durations.ts";

const parse = (value: Record<string, unknown>) => MONITORS.parse(value, 0);

const refusal = (value: Record<string, unknown>) => problemOf(() => parse(value));

Deno.test("monitor body: all fields", () => {
  const schedule = { cron: " 0 2 * * * ", tz: "Europe/Berlin" };
  const parsed = parse({
    ...{ schedule, grace_seconds: 0, max_runtime_seconds: 60, failure_threshold: 32 },
    ...{ recovery_threshold: 2, enabled: false, version: 3 },
  });
  assertEquals(parsed, {
    settings: {
      schedule: { cron: "0 2 * * *", tz: "Europe/Berlin" },
      graceSeconds: 0,
      maxRuntimeSeconds: 60,
      failureThreshold: 32,
      recoveryThreshold: 2,
      enabled: false,
    },
    version: 3,
  });
  const noZone = parse({ schedule: { cron: "@daily" }, grace_seconds: null });
  assertEquals(noZone.settings.schedule, { cron: "@daily", tz: "UTC" });
});

Deno.test("monitor body: an unknown zone is named", () => {
  const { message } = refusal({ schedule: { cron: "@daily", tz: "Nowhere/City" } }) ?? {};
  assertEquals(
    message,
    'Field "schedule.tz" must be an IANA time zone such as Europe/Berlin: got "Nowhere/City"',
  );
});

Deno.test("durations: a number and a unit", () => {
  const valid = { "90s": 90, "15m": 900, "2h": 7_200, "1d": 86_400, "0s": 0 };
  for (const [text, seconds] of Object.entries(valid)) assertEquals(parseDuration(text), seconds);
  for (const text of ["", "1", "1.5h", "-1s", "1 h", "1w", "1h30m", "1234567890s", "1H"]) {
    assertEquals(parseDuration(text), null, text);
  }
  for (const text of ["90s", "15m", "2h", "1d", "0s", "61s"]) {
    assertEquals(durationWord(parseDuration(text) ?? -1), text);
  }
});

const MINUTE = 60_000, HOUR = 3_600_000, DAY = 86_400_000;
const FROM = Date.parse("2026-05-04T02:00:00Z");

const every = (ms: number, count: number, late = (_: number) => 0) =>
  Array.from({ length: count }, (_, i) => FROM + i * ms + late(i));

Deno.test("proposal: each common period is found", () => {
  const minutes = [1, 5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1_440, 10_080];
  for (const each of minutes) {
    const proposal = proposeSettings(every(each * MINUTE, 21), "UTC");
    assertEquals(proposal, {
      schedule: { everySeconds: each * 60 },
      graceSeconds: Math.max(60, each * 12),
      fromRuns: 21,
      hits: 1,
    });
  }
});

Deno.test("proposal: 7 runs are needed, and the latest 21 are used, in any order", () => {
  assertEquals(proposeSettings(every(HOUR, 6), "UTC"), null);
  assertEquals(proposeSettings(every(HOUR, 7), "UTC")?.fromRuns, 7);
  const before = Array.from({ length: 50 }, (_, i) => FROM - 9 * DAY - i * i * MINUTE);
  const runs = [...every(HOUR, 21), ...before];
  assertEquals(proposeSettings(runs.toReversed(), "UTC")?.schedule, { everySeconds: 3_600 });
});

Deno.test("proposal: one of 20 gaps may differ, two may not", () => {
  const one = every(HOUR, 21, (i) => i < 7 ? 0 : 30 * MINUTE);
  assertEquals(proposeSettings(one, "UTC")?.hits, 0.95);
  const two = every(HOUR, 21, (i) => i < 7 ? 0 : i < 14 ? 30 * MINUTE : 55 * MINUTE);
  assertEquals(proposeSettings(two, "UTC"), null);
});

Deno.test("proposal: the grace covers twice the worst lateness", () => {
  const late = every(DAY, 21, (i) => i === 9 ? 2 * HOUR : 0);
  assertEquals(proposeSettings(late, "UTC")?.graceSeconds, 17_280);
  const often = every(MINUTE, 21, (i) => i === 9 ? 55_000 : 0);
  assertEquals(proposeSettings(often, "UTC")?.graceSeconds, 110);
});

Deno.test("proposal: workdays are a cron line in the time zone", () => {
  // 09:30 in Berlin over the night in which the clock changes, up to 4 minutes late.
  const days = Array.from({ length: 31 }, (_, i) => Date.UTC(2026, 2, 16 + i));
  const runs = days.filter((day) => ![0, 6].includes(new Date(day).getUTCDay()))
    .map((day, i) => {
      const offset = day < Date.UTC(2026, 2, 29) ? 1 : 2;
      return day + (9 - offset) * HOUR + 30 * MINUTE + (i % 5) * MINUTE;
    });
  const proposal = proposeSettings(runs, "Europe/Berlin");
  assertEquals(proposal?.schedule, { cron: "30 9 * * 1-5", tz: "Europe/Berlin" });
  assertEquals(proposal?.hits, 1);
  assertEquals(proposeSettings(runs, "Nowhere/City"), null);
});

Deno.test("proposal: none fits runs at random, and the search is fast", () => {
  let next = 7;
  const random = () => (next = next * 48_271 % 2_147_483_647) / 2_147_483_647;
  const beganMs = cpuMs();
  for (let i = 0; i < 20; i++) {
    let at = FROM;
    const runs = Array.from({ length: 21 }, () => at += 10 * MINUTE + random() ** 3 * 3 * DAY);
    assertEquals(proposeSettings(runs, "America/New_York"), null);
  }
  const rare = Array.from({ length: 21 }, (_, i) => FROM + i * i * 9 * DAY);
  assertEquals(proposeSettings(rare, "UTC"), null);
  assert(cpuMs() - beganMs < 5_000);
});
