/**
 * Repricing jobs: request, progress, totals and their breakdown, and store contract.
 *
 * @module
 */
import type { TeamJob } from "../core/jobs.ts";
import type { RunId } from "../core/ids.ts";
import { NO_CALLS, type RepriceSpec, type RepriceSum } from "./reprice.ts";
import { addCounts } from "../core/sums.ts";
import { z } from "zod";
import { check } from "../core/validate.ts";
import { refuse } from "../core/errors.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import type { Body } from "../core/body.ts";
import { instant, optional } from "../core/fields.ts";
import { isText } from "../core/rules.ts";

/** Position of a run among a team's runs, which a job visits by start time. */
export interface RepricePosition {
  /** Start of the run, unix milliseconds. */
  readonly startedAt: number;
  /** The run. */
  readonly run: RunId;
}

/** Next runs of a job, collected over all names of its model. */
export interface RunsRemaining {
  /** Last name read; null when all names are read. */
  readonly name: string | null;
  /** First runs among those found so far. */
  readonly runs: readonly RepricePosition[];
  /** True when all names are read, so that no other run precedes these. */
  readonly isComplete: boolean;
  /** True if these are the last runs of the job. */
  readonly isLast: boolean;
}

/** Position of a job. */
export interface RepriceCursor {
  /** Last run completed; null before the first. */
  readonly after: RepricePosition | null;
  /** Number of batches already checked of the following run. */
  readonly batch: number;
  /** True if any call of that run matched the spec so far. */
  readonly met: boolean;
  /** True if any price of that run changed so far, or would in a dry run. */
  readonly changed: boolean;
  /** Runs collected in several steps, for a model with many names; null if one step collects them. */
  readonly ahead: RunsRemaining | null;
}

/** Repricing job. */
export interface RepriceJob extends TeamJob {
  /** Calls to reprice. */
  readonly spec: RepriceSpec;
  /** True if it reports the changes without making them. */
  readonly dryRun: boolean;
  /** Start times of the first and last run to visit, unix milliseconds; later runs have the new price. */
  readonly span: { readonly from: number; readonly to: number };
  /** Position of the job. */
  readonly cursor: RepriceCursor;
  /** Number of runs with matching calls. */
  readonly runs: number;
  /** Number of runs whose cost changed, or would in a dry run. */
  readonly changed: number;
  /** Number of matching calls with their cost before and after. */
  readonly sum: RepriceSum;
  /** Breakdown by agent and by day. */
  readonly shares: RepriceBreakdown;
  /** Completed fraction, 0 to 1. */
  readonly progress: number;
}

/** Position of a new job. */
export const FIRST_RUN: RepriceCursor = {
  after: null,
  batch: 0,
  met: false,
  changed: false,
  ahead: null,
};

/** Format of job ids. Any other text cannot be a job, and may be too long for a storage key. */
const JOB_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** Returns whether a text has the format of a job id. */
export function isJobId(text: string): boolean {
  return JOB_ID.test(text);
}

/** Creates a job in state `waiting`. */
export function newJob(
  id: string,
  spec: RepriceSpec,
  dryRun: boolean,
  createdBy: string,
  nowMs: number,
): RepriceJob {
  return {
    id,
    spec,
    dryRun,
    state: "waiting",
    createdAt: nowMs,
    createdBy,
    finishedAt: null,
    span: { from: nowMs, to: nowMs },
    cursor: FIRST_RUN,
    runs: 0,
    changed: 0,
    failed: 0,
    sum: NO_CALLS,
    shares: EMPTY_BREAKDOWN,
    progress: 0,
  };
}

/** Returns whether a request repeats a job in progress. */
export function isSameJob(job: RepriceJob, spec: RepriceSpec, dryRun: boolean): boolean {
  const { model, provider, from, to } = job.spec;
  return job.state !== "done" && job.dryRun === dryRun && model === spec.model &&
    provider === spec.provider && from === spec.from && to === spec.to;
}

/** Maximum agents with their own entry: the first that a job visits. */
export const BREAKDOWN_AGENTS_MAX = 20;

/** Maximum days with their own entry: the latest. */
export const BREAKDOWN_DAYS_MAX = 62;

/** Total of an agent's calls. */
export interface AgentBreakdown {
  /** Agent; null for runs without an agent and for all agents beyond the maximum. */
  readonly agent: string | null;
  /** Total of its calls. */
  readonly sum: RepriceSum;
}

/** Total of a range of days, usually one day. */
export interface DayBreakdown {
  /** First UTC day, `YYYY-MM-DD`. */
  readonly from: string;
  /** Last UTC day; differs from `from` only for days beyond the maximum. */
  readonly to: string;
  /** Total of the calls. */
  readonly sum: RepriceSum;
}

/** Breakdown of a job's total. */
export interface RepriceBreakdown {
  /** By agent, in the order of the job's visits. */
  readonly agents: readonly AgentBreakdown[];
  /** By UTC day of the runs' start, ascending. */
  readonly days: readonly DayBreakdown[];
}

/** Breakdown of no calls. */
export const EMPTY_BREAKDOWN: RepriceBreakdown = { agents: [], days: [] };

/**
 * Adds the total of some calls of a run.
 *
 * @param agent agent of the run; null for none
 * @param day UTC day of the run's start; never earlier than in previous calls
 */
export function addToBreakdown(
  { agents, days }: RepriceBreakdown,
  agent: string | null,
  day: string,
  sum: RepriceSum,
): RepriceBreakdown {
  if (sum.calls === 0) return { agents, days };
  return { agents: withAgent(agents, agent, sum), days: withDay(days, day, sum) };
}

function withAgent(
  agents: readonly AgentBreakdown[],
  agent: string | null,
  sum: RepriceSum,
): readonly AgentBreakdown[] {
  const named = agents.filter((entry) => entry.agent !== null);
  const isApart = named.some((entry) => entry.agent === agent) ||
    named.length < BREAKDOWN_AGENTS_MAX;
  const name = isApart ? agent : null;
  return agents.some((entry) => entry.agent === name)
    ? agents.map((entry) =>
      entry.agent === name ? { ...entry, sum: addCounts(entry.sum, sum) } : entry
    )
    : [...agents, { agent: name, sum }];
}

function withDay(
  days: readonly DayBreakdown[],
  day: string,
  sum: RepriceSum,
): readonly DayBreakdown[] {
  const last = days.at(-1);
  if (last !== undefined && last.to >= day) {
    return days.with(-1, { ...last, sum: addCounts(last.sum, sum) });
  }
  const allDays = [...days, { from: day, to: day, sum }];
  const [first, second, ...laterDays] = allDays;
  if (allDays.length <= BREAKDOWN_DAYS_MAX || first === undefined || second === undefined) {
    return allDays;
  }
  const merged = { from: first.from, to: second.to, sum: addCounts(first.sum, second.sum) };
  return [merged, ...laterDays];
}

/** Request for a repricing job. */
export interface RepriceRequest {
  /** Calls to reprice. */
  readonly spec: RepriceSpec;
  /** True to report the changes without making them. */
  readonly dryRun: boolean;
}

const NAME = `a name as the calls sent it, of 1 to ${LABEL_CHARS_MAX} characters`;

const label = z.string(NAME)
  .refine((value) => value !== "" && isText(value, LABEL_CHARS_MAX), NAME)
  .meta({ minLength: 1, maxLength: LABEL_CHARS_MAX });

/**
 * Body of `POST /v1/rate-card/reprice`.
 *
 * @internal
 */
export const repriceBody = z.object({
  model: label.describe("The model, as the calls named it."),
  provider: optional(label)
    .describe("The provider, as the calls named it; any provider when absent."),
  from: optional(instant()).describe("Runs that started at this time or later."),
  to: optional(instant())
    .describe("Runs that started before this time; must be later than `from`."),
  dry_run: optional(z.boolean("true or false"))
    .describe("`true` calculates the changes without applying them."),
});

/** Validates the body. */
export function parseReprice(body: Body): RepriceRequest {
  const { model, provider = null, from = null, to = null, dry_run: dryRun = false } = check(
    repriceBody,
    body.value,
  );
  if (from !== null && to !== null && from >= to) {
    return refuse("invalid_field", 'Field "to" must be later than "from"', "to");
  }
  return { spec: { model, provider, from, to }, dryRun };
}
