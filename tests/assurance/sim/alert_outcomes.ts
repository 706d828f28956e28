/**
 * The outcome of a run for a rule, as the contract describes it: how it ended, what its checks said, and
 * what it cost. Imports nothing from the service.
 */
import { asClosed, type Closing, type Fields, type Part, type Run } from "./shape.ts";
import { costOf } from "./values.ts";

/** Longest time from the end of a run to its close that is no import, in milliseconds. */
const IMPORT_MS = 86_400_000;

/** Longest time of an idle timeout: so much later does the close of an idle run arrive. */
const IDLE_MS_MAX = 86_400_000;

/** One outcome of a group; the last one of a key counts. */
export interface GroupOutcome {
  readonly key: string;
  readonly at: number;
  readonly what: "bad" | "good" | "paused";
  readonly run: string | null;
}

/** A check of all runs, which those of one status fail. */
interface StatusCheck {
  readonly expression: string;
  readonly severity: "info" | "warn" | "fail";
  readonly failing: string;
}

/** Checks by slug: the second one reads events, so a run is judged later than it is counted. */
export const CHECKS: Readonly<Record<string, StatusCheck>> = {
  finished: { expression: 'status != "failed"', severity: "fail", failing: "failed" },
  patient: {
    expression: 'longest_repeat.times < 100 && status != "timeout"',
    severity: "warn",
    failing: "timeout",
  },
};

/** Severities of checks, from the least. */
const SEVERITIES = ["info", "warn", "fail"];

/** The outcome of a run for a rule of each kind; null for none. */
export const RUN_OUTCOMES = {
  run_failed: failureOf,
  check_failed: judgedOf,
  run_cost: excessOf,
} satisfies Record<
  string,
  (run: string, stored: Run, params: Fields) => GroupOutcome | null
>;

/** A run counts by the selected checks, all of which judge it: bad if one fails. */
function judgedOf(run: string, stored: Run, params: Fields): GroupOutcome | null {
  const closed = closedOf(stored);
  if (closed === null) return null;
  const named = params.checks as readonly string[];
  const selected = Object.entries(CHECKS)
    .filter(([slug]) => named.length === 0 || named.includes(slug)).map(([, check]) => check);
  if (selected.length === 0) return null;
  const least = SEVERITIES.indexOf(params.severity_min as string);
  const isFailed = ({ failing }: StatusCheck) => failing === closed.status;
  const isBad = selected.some((check) =>
    isFailed(check) && SEVERITIES.indexOf(check.severity) >= least
  );
  if (!isBad && selected.every(isFailed)) return null;
  return { key: run, at: closed.at, what: isBad ? "bad" : "good", run };
}

/** Returns how a run closed, and when its close arrived; null for an import. */
function closedOf(stored: Run): { readonly status: string; readonly at: number } | null {
  const { opening, closing } = asClosed(stored);
  if (opening === undefined || closing === undefined) return null;
  const knownAt = Math.max(opening.received_at, closing.received_at);
  if (isImport(closing, knownAt)) return null;
  return { status: closing.status, at: closing.received_at };
}

/**
 * A run counts at the arrival of its close, also if its opening arrives later; an import or a run of
 * another status does not.
 */
function failureOf(run: string, stored: Run, { statuses }: Fields): GroupOutcome | null {
  const closed = closedOf(stored);
  if (closed === null) return null;
  const { status, at } = closed;
  const isBad = (statuses as readonly string[]).includes(status);
  if (!isBad && status !== "success") return null;
  return { key: run, at, what: isBad ? "bad" : "good", run };
}

/** An opened run counts when its cost passes the limit, which its later calls do not repeat. */
function excessOf(run: string, stored: Run, { usd }: Fields): GroupOutcome | null {
  const { opening, closing, events } = asClosed(stored);
  if (opening === undefined) return null;
  const parts = [opening, ...closing === undefined ? [] : [closing], ...events];
  const arrivals = parts.map(({ received_at }) => received_at).sort((a, b) => a - b);
  const max = Math.round(Number(usd) * 1e12);
  // What a heartbeat says it cost replaces the cost of events, so it may also fall.
  const below = arrivals.findLast((at) => !isOver(at));
  const at = arrivals.find((at) => at > (below ?? 0) && isOver(at));
  if (at === undefined) return null;
  // What arrives later makes no import of a run whose cost was seen.
  const { closing: close } = asClosed(knownAt(stored, at));
  const isOld = close === undefined
    ? opening.received_at - opening.started_at > IMPORT_MS
    : isImport(close, Math.max(opening.received_at, close.received_at));
  return isOld ? null : { key: run, at, what: "bad", run };

  function isOver(at: number): boolean {
    return at >= (opening?.received_at ?? Infinity) && costOf(knownAt(stored, at)) > max;
  }
}

/** Returns what was known of a run at an instant. */
function knownAt(stored: Run, at: number): Run {
  const { opening, closing, idle, events } = stored;
  const isKnown = (part: Part | undefined) => part !== undefined && part.received_at <= at;
  return {
    ...isKnown(opening) && opening ? { opening } : {},
    ...isKnown(closing) && closing ? { closing } : {},
    ...isKnown(idle) && idle ? { idle } : {},
    events: events.filter(isKnown),
  };
}

/** Importing old runs opens no incidents. */
function isImport({ closed_by, finished_at }: Closing, at: number): boolean {
  return at - finished_at > IMPORT_MS + (closed_by === "idle" ? IDLE_MS_MAX : 0);
}
