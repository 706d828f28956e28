/** Tests the body of a monitor's settings, and durations. */
import { assertEquals } from "@std/assert";
import { MONITORS } from "../../../../domain/monitors/body.ts";
import { durationWord, parseDuration } from "../../../../domain/monitors/schedule.ts";
import { problemOf } from "../../../support/oracles/problems.ts";

const parse = (value: Record<string, unknown>) => MONITORS.parse(value, 0);

const refusal = (value: Record<string, unknown>) => problemOf(() => parse(value));

const EVERY = { schedule: { every_seconds: 3_600 } };

Deno.test("monitor body: only the schedule is required", () => {
  assertEquals(parse(EVERY), {
    settings: {
      schedule: { everySeconds: 3_600 },
      graceSeconds: 720,
      maxRuntimeSeconds: null,
      failureThreshold: 1,
      recoveryThreshold: 1,
      enabled: true,
    },
    version: null,
  });
  assertEquals(refusal({})?.code, "missing_field");
  assertEquals(refusal({ schedule: null })?.field, "schedule");
});

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
