/**
 * The monitor that a ping asks for in its query (decision 114).
 *
 * @module
 */
import type { Losses } from "../core/losses.ts";
import type { Parameters } from "../core/query.ts";
import { show } from "../core/text.ts";
import { parseMonitor } from "../monitors/body.ts";
import { parseDuration } from "../monitors/durations.ts";
import type { MonitorSettings } from "../monitors/monitor.ts";

/** Parameters of a ping that set a monitor. */
export const PING_MONITOR_PARAMETERS = ["every", "cron", "tz", "grace"] as const;

/** The monitor that a ping asks for: none, valid settings, or the reason why they are invalid. */
export type PingMonitor =
  | { readonly settings: null; readonly problem: string | null }
  | { readonly settings: MonitorSettings; readonly problem: null };

const NONE: PingMonitor = { settings: null, problem: null };

/**
 * Reads the settings of a monitor from the query of a ping. One wrong parameter is enough for no
 * monitor: another schedule than the one meant would raise false alarms (R24).
 *
 * @param losses receives the parameters that are not used
 * @param parse parses the parameters, as {@link parsePingMonitor} does
 */
export function readPingMonitor(
  query: Parameters,
  losses: Losses,
  parse: typeof parsePingMonitor,
): PingMonitor {
  const sent = PING_MONITOR_PARAMETERS.filter((name) => query.has(name));
  if (sent.length === 0) return NONE;
  const read = parse(JSON.stringify(PING_MONITOR_PARAMETERS.map((name) => query.get(name))));
  if (read.problem !== null) { for (const name of sent) losses.drop(name); }
  return read;
}

/**
 * Parses the settings of a monitor. A job sends the same ones with each ping, and to check a cron
 * expression takes longer than the rest of the call: a process keeps the latest.
 *
 * @param sent JSON of the values of {@link PING_MONITOR_PARAMETERS}; null for an absent one
 */
export function parsePingMonitor(sent: string): PingMonitor {
  const values = JSON.parse(sent) as readonly (string | null)[];
  const [every, cron, tz, grace] = values.map((value) => value ?? undefined);
  if (every !== undefined && cron !== undefined) return wrong("send either every or cron");
  if (cron === undefined && tz !== undefined) return wrong("tz needs cron");
  if (every === undefined && cron === undefined) return wrong("grace needs every or cron");
  for (const [name, text] of [["every", every], ["grace", grace]]) {
    if (text === undefined || parseDuration(text) !== null) continue;
    return wrong(
      `${name} must be a number and a unit, such as 90s, 15m, 2h or 1d: got ${show(text)}`,
    );
  }
  const schedule = cron === undefined
    ? { every_seconds: parseDuration(every ?? "") }
    : { cron, tz };
  const value = { schedule, grace_seconds: grace === undefined ? undefined : parseDuration(grace) };
  const parsed = parseMonitor({ text: JSON.stringify(value), value });
  return parsed.ok
    ? { settings: parsed.value.settings, problem: null }
    : wrong(parsed.problem.message.replace(FIELD, inParameters));
}

function wrong(problem: string): PingMonitor {
  return { settings: null, problem };
}

/** Beginning of a refusal of the API's fields, which have other names than the parameters. */
const FIELD = /^Field "(?:schedule\.)?([a-z]+)(_seconds)?"/;

function inParameters(_: string, name: string, seconds: string | undefined): string {
  return seconds === undefined ? name : `${name} in seconds`;
}
