/**
 * The monitor that a ping asks for in its query (decision 114).
 *
 * @module
 */
import type { Losses } from "../core/losses.ts";
import type { Parameters } from "../core/query.ts";
import { parseMonitor } from "../monitors/body.ts";
import { parseDuration } from "../monitors/durations.ts";
import type { MonitorSettings } from "../monitors/monitor.ts";

/** Parameters of a ping that set a monitor. */
export const PING_MONITOR_PARAMETERS = ["every", "cron", "tz", "grace"] as const;

/** Maximum checked settings that are kept, and the characters of each as sent. */
const CHECKED_MAX = 1_000, CHECKED_CHARS_MAX = 300;

/**
 * Settings by their text as sent; null if they are invalid. A job sends the same ones with each ping, and
 * to check a cron expression takes longer than the rest of the call.
 */
const checked = new Map<string, MonitorSettings | null>();

/**
 * Reads the settings of a monitor from the query of a ping; null without a valid schedule.
 *
 * @param losses receives the parameters that are not used
 */
export function readPingMonitor(query: Parameters, losses: Losses): MonitorSettings | null {
  const sent = PING_MONITOR_PARAMETERS.filter((name) => query.has(name));
  if (sent.length === 0) return null;
  const schedule = scheduleOf(query);
  const asSent = schedule && settingsOf(schedule, graceOf(query));
  // Without a valid grace the monitor has the default one.
  const settings = asSent ?? (schedule && settingsOf(schedule, undefined));
  for (const name of sent) {
    const isValid = name === "grace" ? asSent !== null : name !== "tz" || query.has("cron");
    if (settings === null || !isValid) losses.drop(name);
  }
  return settings;
}

/** Returns the grace in seconds; undefined without one, and null for an invalid one. */
function graceOf(query: Parameters): number | null | undefined {
  const text = query.get("grace");
  return text === undefined ? undefined : parseDuration(text);
}

/** Returns the schedule as the API takes it; null without one, and for two. */
function scheduleOf(query: Parameters): object | null {
  const every = query.get("every");
  const cron = query.get("cron");
  if ((every === undefined) === (cron === undefined)) return null;
  if (cron !== undefined) return { cron, tz: query.get("tz") ?? "UTC" };
  return { every_seconds: parseDuration(every ?? "") };
}

function settingsOf(
  schedule: object,
  graceSeconds: number | null | undefined,
): MonitorSettings | null {
  if (graceSeconds === null) return null;
  const value = { schedule, grace_seconds: graceSeconds };
  const text = JSON.stringify(value);
  const known = checked.get(text);
  if (known !== undefined) return known;
  const parsed = parseMonitor({ text, value });
  const settings = parsed.ok ? parsed.value.settings : null;
  if (text.length <= CHECKED_CHARS_MAX) {
    if (checked.size >= CHECKED_MAX) checked.clear();
    checked.set(text, settings);
  }
  return settings;
}
