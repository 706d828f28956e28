/**
 * `GET /v1/ping`: a heartbeat as a query string, for shells (decisions, section 3).
 *
 * @module
 */
import { refuse, unlessRefused } from "../core/errors.ts";
import { Losses } from "../core/losses.ts";
import { NOTE_CHARS_MAX, RID_CHARS_MAX } from "../core/limits.ts";
import type { Body } from "../core/body.ts";
import { HEARTBEAT_STATUSES, type HeartbeatStatus } from "../runs/run.ts";
import { isText } from "../core/rules.ts";
import { cutText, ownText, show } from "../core/text.ts";
import { decodeQueryPart, nearestName, type Parameters, parseQuery } from "../core/query.ts";
import { parseMonitorTexts } from "../monitors/body.ts";
import type { MonitorSettings } from "../monitors/monitor.ts";

/** Parameters with the same name as a heartbeat's field. */
const TEXTS = ["id", "agent", "status", "model", "provider"];
const INSTANTS = ["started_at", "finished_at"];
const NUMBERS = ["cost_usd", "input_tokens", "output_tokens", "cached_input_tokens", "duration_ms"];

/**
 * A UTC offset whose plus sign was not percent-encoded, as shells send it: a query decodes it to a
 * space.
 */
const BARE_OFFSET = / (\d\d:\d\d)$/;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Parameters of a ping that set a monitor. */
const PING_MONITOR_PARAMETERS = ["every", "cron", "tz", "grace"] as const;

/** All parameters of a ping; others are ignored. */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...TEXTS,
  ...INSTANTS,
  ...NUMBERS,
  "exit_code",
  "rid",
  "metadata",
  "key",
  ...PING_MONITOR_PARAMETERS,
]);

const EXIT_CODE = /^-?\d{1,10}$/;

/** Exit code of `timeout(1)` when a command timed out. */
const EXIT_CODE_TIMEOUT = "124";

/** A ping, converted to the body of a heartbeat. */
export interface Ping {
  /** Body of the heartbeat. */
  readonly body: Body;
  /** Name of the run among those of its agent, if it has no id (R23). */
  readonly rid: string | undefined;
  /** Note, if the plan stores notes. */
  readonly note: string | undefined;
  /** Monitor for an agent that has none. */
  readonly monitor: PingMonitor;
  /** Losses of the note and the monitor, and unknown parameters. */
  readonly losses: Losses;
}

/** Parameters of the outcome, which a ping may send once: it is not clear which of two counts. */
const OUTCOME = ["exit_code", "status"];

/**
 * Parses the query of a ping. An empty value of an unknown name is kept, to be reported, and so is an
 * empty `exit_code`, to be refused: it comes from a variable that is not set, and a job that failed must
 * not count as a success (R24).
 */
export function parsePingQuery(query: string): Map<string, string> {
  const names = query.split("&").map((pair) => decodeQueryPart(pair.split("=")[0] ?? ""));
  const repeated = OUTCOME.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (repeated !== undefined) {
    return refuse("invalid_field", `Parameter "${repeated}" is sent twice: send it once`, repeated);
  }
  return parseQuery(query, (name) => name === "exit_code" || name !== "" && !PARAMETERS.has(name));
}

/**
 * Converts parameters to a heartbeat.
 *
 * @param tokenAgent agent of the ping token, used if the query names none
 * @param keepsNotes true if the plan stores metadata
 * @param parseMonitor parses the parameters of a monitor
 */
export function readPing(
  query: ReadonlyMap<string, string>,
  tokenAgent: string | null,
  keepsNotes: boolean,
  parseMonitor: typeof parsePingMonitor = parsePingMonitor,
): Ping {
  const value: Record<string, unknown> = {};
  for (const name of TEXTS) value[name] = query.get(name);
  for (const name of INSTANTS) value[name] = query.get(name)?.replace(BARE_OFFSET, "+$1");
  for (const name of NUMBERS) value[name] = numberOf(query.get(name));
  value.agent ??= tokenAgent;
  const exitCode = query.get("exit_code");
  if (exitCode !== undefined && !EXIT_CODE.test(exitCode)) {
    const message = exitCode === ""
      ? 'Parameter "exit_code" is empty: send the exit code of the job, such as exit_code=$?'
      : `Parameter "exit_code" must be an integer: got ${show(exitCode)}`;
    return refuse("invalid_field", message, "exit_code");
  }
  if (exitCode !== undefined) {
    const meant = statusOfExit(exitCode);
    const sent = HEARTBEAT_STATUSES.find((status) => status === value.status);
    // A failure is a `fail` or a `timeout`, and a `start` has no exit code.
    if (sent === "start" || sent !== undefined && (sent === "ok") !== (meant === "ok")) {
      const message =
        `Parameter "status" is "${sent}", but exit_code ${exitCode} means "${meant}": ` +
        "send one of the two";
      return refuse("invalid_field", message, "status");
    }
    value.status ??= meant;
  }
  const rid = query.get("rid");
  if (rid !== undefined && (!isText(rid, RID_CHARS_MAX) || /\p{Cc}/u.test(rid))) {
    const message =
      `Parameter "rid" must be a text of at most ${RID_CHARS_MAX} characters, without ` +
      `control characters: got ${show(rid)}`;
    return refuse("invalid_field", message, "rid");
  }
  const losses = new Losses();
  losses.ignoreUnknown(Object.fromEntries(query), PARAMETERS);
  const sent = query.get("metadata");
  const note = sent !== undefined && keepsNotes
    ? ownText(cutText(sent, NOTE_CHARS_MAX))
    : undefined;
  if (sent !== undefined && !keepsNotes) losses.drop("metadata");
  else if (note !== sent) losses.cut("metadata");
  const monitor = readPingMonitor(query, losses, parseMonitor);
  const body = { text: JSON.stringify(value), value };
  return { body, rid, note, monitor, losses };
}

/** Says which parameters were ignored, such as "ignored exitcode, did you mean exit_code?". */
export function ignoredText(names: readonly string[]): string {
  return names.map((name) => {
    const nearest = nearestName(name, [...PARAMETERS]);
    return `ignored ${name}${nearest === null ? ";" : `, did you mean ${nearest}?`}`;
  }).join(" ").replace(/;$/, "");
}

/**
 * Returns the credential in a query, even if the query is otherwise invalid: authentication
 * precedes validation.
 *
 * @param query the query without its question mark
 */
export function keyInQuery(query: string): string | null {
  for (const pair of query.split("&")) {
    const [name = "", ...rest] = pair.split("=");
    const value = decodeQueryPart(name) === "key" ? decodeQueryPart(rest.join("=")) : null;
    if (value) return value;
  }
  return null;
}

/** Returns the heartbeat status for a process's exit code. */
function statusOfExit(code: string): HeartbeatStatus {
  if (Number(code) === 0) return "ok";
  return code === EXIT_CODE_TIMEOUT ? "timeout" : "fail";
}

/** Parses a number; any other text is returned as is, and the heartbeat's schema refuses it. */
function numberOf(text: string | undefined): number | string | undefined {
  return text !== undefined && NUMBER.test(text) ? Number(text) : text;
}

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
function readPingMonitor(
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
  return unlessRefused(
    () => ({ settings: parseMonitorTexts({ every, cron, tz, grace }).settings, problem: null }),
    ({ message }) => wrong(message.replace(FIELD, inParameters)),
  );
}

function wrong(problem: string): PingMonitor {
  return { settings: null, problem };
}

/** Beginning of a refusal of the API's fields, which have other names than the parameters. */
const FIELD = /^Field "(?:schedule\.)?([a-z]+)(_seconds)?"/;

function inParameters(_: string, name: string, seconds: string | undefined): string {
  return seconds === undefined ? name : `${name} in seconds`;
}
