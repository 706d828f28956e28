/**
 * Validates the bodies of a monitor and of its pause.
 *
 * @module
 */
import { z } from "zod";
import { OUTCOMES_MAX } from "../outcomes/window.ts";
import type { MonitorPause, MonitorSettings } from "./row.ts";
import {
  CRON_CHARS_MAX,
  defaultGraceSeconds,
  EVERY_SECONDS,
  GRACE_SECONDS,
  parseDuration,
  type Schedule,
  scheduleProblem,
  TZ_CHARS_MAX,
} from "./schedule.ts";
import type { Body } from "../core/body.ts";
import { refuse } from "../core/errors.ts";
import { instant, optional } from "../core/fields.ts";
import { show } from "../core/text.ts";
import { flag, whole, withDefault } from "../config/body.ts";
import type { ConfigRequest, ObjectFields, ObjectKind } from "../config/objects.ts";
import { check } from "../core/validate.ts";

/** Minimum and maximum seconds of a run. */
export const MAX_RUNTIME_SECONDS = { min: 60, max: 31_536_000 } as const;

const SCHEDULE = 'an object with either "every_seconds", or "cron" and optionally "tz"';
const TEXT = "a text";

const scheduleFields = z.strictObject({
  every_seconds: optional(whole(EVERY_SECONDS))
    .describe("Seconds from the last arrival to the next one."),
  cron: optional(z.string(TEXT).meta({ maxLength: CRON_CHARS_MAX })).describe(
    "Cron expression of 5 fields, 6 with seconds first, or a nickname such as `@daily`. Its slots " +
      `are at least ${EVERY_SECONDS.min} s apart, and one is within 5 years.`,
  ),
  tz: optional(z.string(TEXT).meta({ maxLength: TZ_CHARS_MAX }))
    .describe("IANA time zone of `cron`; `UTC` when absent."),
}, SCHEDULE).meta({ id: "MonitorScheduleRequest" }).transform((sent, context): Schedule => {
  const { every_seconds: everySeconds, cron, tz } = sent;
  const isPeriod = everySeconds !== undefined;
  if (isPeriod === (cron !== undefined) || isPeriod && tz !== undefined) {
    context.addIssue({ code: "custom", message: SCHEDULE });
    return z.NEVER;
  }
  if (isPeriod) return { everySeconds };
  const schedule = { cron: cron?.trim() ?? "", tz: tz ?? "UTC" };
  const problem = scheduleProblem(schedule);
  if (problem === null) return schedule;
  const isZone = scheduleProblem({ ...schedule, tz: "UTC" }) === null;
  context.addIssue({ code: "custom", message: problem, path: [isZone ? "tz" : "cron"] });
  return z.NEVER;
});

const THRESHOLD = { min: 1, max: OUTCOMES_MAX } as const;

/**
 * Body of `PUT /v1/agents/{slug}/monitor`.
 *
 * @internal
 */
export const monitorBody = z.object({
  schedule: scheduleFields.describe("When the agent is expected."),
  grace_seconds: optional(whole(GRACE_SECONDS)).describe(
    "Seconds after the expected time until it is down; a fifth of the gap when absent, at least 60.",
  ),
  max_runtime_seconds: withDefault(whole(MAX_RUNTIME_SECONDS), null)
    .describe("Seconds after which an open run is a failure; no limit when absent."),
  failure_threshold: withDefault(whole(THRESHOLD), 1)
    .describe("Failures in a row after which it is down; 1 when absent."),
  recovery_threshold: withDefault(whole(THRESHOLD), 1)
    .describe("Successes in a row after which it is up again; 1 when absent."),
  enabled: flag(true).describe("`false` judges nothing."),
  version: withDefault(whole({ min: 1, max: Number.MAX_SAFE_INTEGER }), null)
    .describe("The current version; any when absent."),
});

/** Monitors. Their key is the agent, and their state is stored with them. */
export const MONITORS: Pick<
  ObjectKind<MonitorSettings>,
  "prefix" | "schema" | "parse" | "fieldsOf"
> = {
  prefix: "mon",
  schema: monitorBody,
  parse(body) {
    const { schedule, version, ...sent } = check(monitorBody, body);
    const settings: MonitorSettings = {
      schedule,
      graceSeconds: sent.grace_seconds ?? defaultGraceSeconds(schedule),
      maxRuntimeSeconds: sent.max_runtime_seconds,
      failureThreshold: sent.failure_threshold,
      recoveryThreshold: sent.recovery_threshold,
      enabled: sent.enabled,
    };
    return { settings, version };
  },
  fieldsOf: ({ schedule, ...settings }) => ({
    schedule: scheduleFieldsOf(schedule),
    grace_seconds: settings.graceSeconds,
    max_runtime_seconds: settings.maxRuntimeSeconds,
    failure_threshold: settings.failureThreshold,
    recovery_threshold: settings.recoveryThreshold,
    enabled: settings.enabled,
  }),
};

/** Returns a schedule as its fields. */
export function scheduleFieldsOf(schedule: Schedule): ObjectFields {
  return "cron" in schedule
    ? { cron: schedule.cron, tz: schedule.tz }
    : { every_seconds: schedule.everySeconds };
}

/** Settings as pings send them: durations are a number and a unit, such as `15m`. */
export type MonitorTexts = Readonly<
  Partial<Record<"every" | "cron" | "tz" | "grace", string | undefined>>
>;

/** Validates settings in texts as {@link MONITORS} does. */
export function parseMonitorTexts(
  { every, cron, tz, grace }: MonitorTexts,
): ConfigRequest<MonitorSettings> {
  const seconds: Record<string, number> = {};
  for (const [name, text] of Object.entries({ every, grace })) {
    if (text === undefined) continue;
    const value = parseDuration(text);
    if (value === null) {
      const rule = "must be a number and a unit, such as 90s, 15m, 2h or 1d";
      return refuse("invalid_field", `Field "${name}" ${rule}: got ${show(text)}`, name);
    }
    seconds[`${name}_seconds`] = value;
  }
  const { every_seconds, ...durations } = seconds;
  const schedule = cron === undefined ? { every_seconds } : { cron, tz };
  return MONITORS.parse({ schedule, ...durations }, 0);
}

/**
 * Body of `POST /v1/agents/{slug}/monitor/pause`.
 *
 * @internal
 */
export const pauseBody = z.object({
  until: optional(instant()).describe("End of the pause, in the future; no end when absent."),
  sticky: optional(z.boolean("true or false"))
    .describe("True if a successful run does not end the pause; false by default."),
});

/** Parses a pause. */
export function parsePause(body: Body, nowMs: number): MonitorPause {
  const { until, sticky = false } = check(pauseBody, body.value);
  if (until !== undefined && until <= nowMs) {
    return refuse("invalid_field", 'Field "until" must be in the future', "until");
  }
  return { untilMs: until ?? null, isSticky: sticky };
}
