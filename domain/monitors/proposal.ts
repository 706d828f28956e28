/**
 * The settings that fit an agent's latest runs (decision 113).
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../core/time.ts";
import { GRACE_SECONDS, nextSlots, type Schedule, zoneProblem } from "./schedule.ts";
import type { MonitorProposal } from "./row.ts";

/** Gaps that a proposal counts, and the runs that it needs. */
const GAPS_MAX = 20, RUNS_MIN = 7;

/** Fraction of the gaps that a cadence explains. */
const HITS_MIN = 0.95;

/** Deviation of a gap that a cadence explains: milliseconds, or a fraction of its gap. */
const TOLERANCE_MS = 60_000, TOLERANCE_PART = 0.1;

/** Grace: minimum milliseconds, fraction of the gap, and multiple of the worst lateness. */
const GRACE_MS_MIN = 60_000, GRACE_PART = 0.2, GRACE_LATENESS = 2;

const MINUTE_MS = 60_000;

/** Periods in minutes, shortest first. */
const PERIODS = [
  ...[1, 5, 10, 15, 30],
  ...[1, 2, 3, 4, 6, 8, 12, 24, 168].map((hours) => hours * 60),
];

/** Maximum slots of a cron line between the first and the last run; more fit no 20 gaps. */
const SLOTS_MAX = 200;

/** Minutes of a day, and of an hour. */
const DAY_MINUTES = 1_440, HOUR_MINUTES = 60;

/** Gap as it was, and as a cadence predicts it, milliseconds. */
interface Gap {
  readonly ms: number;
  readonly predictedMs: number;
}

/**
 * Returns the settings with the simplest cadence that explains the gaps between an agent's runs.
 *
 * @param arrivalsMs instants of outcomes in any order, unix milliseconds
 * @param tz IANA time zone of the proposed slots
 * @returns null for fewer than 7 runs, and if no cadence fits
 */
export function proposeSettings(arrivalsMs: readonly number[], tz: string): MonitorProposal | null {
  const arrivals = arrivalsMs.toSorted((a, b) => a - b).slice(-GAPS_MAX - 1);
  if (arrivals.length < RUNS_MIN) return null;
  for (const minutes of PERIODS) {
    const everySeconds = minutes * 60;
    const gaps = gapsOf(arrivals, () => everySeconds * 1_000);
    const proposal = proposalOf({ everySeconds }, arrivals, gaps);
    if (proposal !== null) return proposal;
  }
  if (zoneProblem(tz) !== null) return null;
  for (const cron of cronLines(arrivals, tz)) {
    const proposal = proposalOf({ cron, tz }, arrivals, slotGaps({ cron, tz }, arrivals));
    if (proposal !== null) return proposal;
  }
  return null;
}

/** Returns the proposal of a schedule; null if it explains too few gaps. */
function proposalOf(
  schedule: Schedule,
  arrivals: readonly number[],
  gaps: readonly Gap[] | null,
): MonitorProposal | null {
  if (gaps === null) return null;
  const explained = gaps.filter(({ ms, predictedMs }) =>
    Math.abs(ms - predictedMs) <= Math.max(TOLERANCE_MS, predictedMs * TOLERANCE_PART)
  );
  const hits = explained.length / gaps.length;
  if (hits < HITS_MIN) return null;
  const lateness = explained.map(({ ms, predictedMs }) => ms - predictedMs);
  const shortest = Math.min(...explained.map(({ predictedMs }) => predictedMs));
  const grace = Math.max(
    GRACE_MS_MIN,
    shortest * GRACE_PART,
    Math.max(...lateness) * GRACE_LATENESS,
  );
  const graceSeconds = Math.min(GRACE_SECONDS.max, Math.ceil(grace / 1_000));
  return { schedule, graceSeconds, fromRuns: arrivals.length, hits };
}

/** Returns the gaps between arrivals, with a prediction for each. */
function gapsOf(arrivals: readonly number[], predict: (i: number) => number): Gap[] {
  return arrivals.slice(1).map((arrival, i) => ({
    ms: arrival - (arrivals[i] ?? arrival),
    predictedMs: predict(i),
  }));
}

/** Returns cron lines whose slots are shortly before most arrivals, simplest first. */
function cronLines(arrivals: readonly number[], tz: string): string[] {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: tz,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const minutes = arrivals.map((arrival) => {
    const [hour = "", minute = ""] = format.format(arrival).split(":");
    return Number(hour) * HOUR_MINUTES + Number(minute);
  });
  const ofDay = startOfMost(minutes, DAY_MINUTES);
  const ofHour = startOfMost(minutes.map((minute) => minute % HOUR_MINUTES), HOUR_MINUTES);
  const daily = `${ofDay % HOUR_MINUTES} ${Math.floor(ofDay / HOUR_MINUTES)}`;
  return [`${daily} * * *`, `${daily} * * 1-5`, `${ofHour} * * * *`];
}

/** Returns the minute after which most of the others come within the tolerance of a cycle. */
function startOfMost(minutes: readonly number[], cycle: number): number {
  const reach = cycle * TOLERANCE_PART;
  let best = 0, most = 0;
  for (const start of minutes.toSorted((a, b) => a - b)) {
    const count = minutes.filter((minute) => (minute - start + cycle) % cycle <= reach).length;
    if (count > most) [best, most] = [start, count];
  }
  return best;
}

/** Returns the gaps with those of the slots before the arrivals; null if it has too many slots. */
function slotGaps(
  schedule: { readonly cron: string; readonly tz: string },
  arrivals: readonly number[],
): Gap[] | null {
  const [first = 0] = arrivals;
  const last = arrivals.at(-1) ?? first;
  const shortestMs = schedule.cron.endsWith("* * * *") ? HOUR_MS : DAY_MS;
  const span = last - first + 4 * DAY_MS;
  if (span / shortestMs > SLOTS_MAX) return null;
  const from = Math.floor((first - 4 * DAY_MS) / MINUTE_MS) * MINUTE_MS;
  const [, ...slots] = nextSlots(schedule, from, Math.ceil(span / shortestMs) + 2);
  const slotOf = (arrival: number) => slots.findLast((slot) => slot <= arrival) ?? first;
  return gapsOf(arrivals, (i) => {
    const slot = slotOf(arrivals[i] ?? first);
    const next = slots.find((each) => each > slot) ?? slot;
    return next - slot;
  });
}
