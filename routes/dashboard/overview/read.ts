/** Reads the data of the overview in parallel, each part by a bounded range. */
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamDeadStages } from "../../../domain/runs/processing.ts";
import { type QuotaState, quotaState } from "../../../domain/teams/quota.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import type { RunListRow, RunsQuery } from "../../../domain/runs/list.ts";
import type { RollupRow } from "../../../domain/spend/rollup.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { unpricedOf } from "../../../domain/spend/unpriced.ts";
import { monthOf } from "../../../domain/core/time.ts";
import type { AppDeps } from "../../http/context.ts";
import { readFailures } from "../components/failures.ts";
import { countRejected } from "../refusals/banner.tsx";
import { readSpendByAgent, type SpendByAgent } from "./agent_spend.ts";
import { type DayMetrics, metricsOf, type Span, spanAt } from "./day_metrics.ts";

/** Maximum newest runs of today among which the slowest are found. */
export const RECENT_RUNS_MAX = 50;

const SLOWEST_SHOWN = 5;
const FAILURES_SHOWN = 6;

/** Maximum rows read to name the models without a price. */
const MODEL_ROWS_MAX = 1_000;

export interface Overview {
  readonly span: Span;
  /** Metrics of each day, today last. */
  readonly days: readonly DayMetrics[];
  readonly quota: Quota;
  readonly slowest: Slowest;
  /** Runs that failed or timed out, newest first. */
  readonly failures: readonly RunListRow[];
  readonly agents: SpendByAgent | null;
  readonly dead: TeamDeadStages;
  /** Calls that were rejected in the last 24 hours. */
  readonly rejected: number;
  /** Calls without a price; null if every call has one. */
  readonly unpriced: UnpricedCalls | null;
}

/** Usage of the current month against the plan. */
export interface Quota {
  readonly month: string;
  readonly used: number;
  /** `Infinity` if unlimited. */
  readonly included: number;
  readonly state: QuotaState;
}

/** The slowest of the newest runs of today. */
export interface Slowest {
  readonly runs: readonly RunListRow[];
  /** Number of runs compared. */
  readonly lookedAt: number;
  /** True if those are all runs of today. */
  readonly isAll: boolean;
}

/** Calls that cost 0 because their models have no price. */
export interface UnpricedCalls {
  readonly calls: number;
  /** Model names by descending tokens; possibly incomplete. */
  readonly models: readonly string[];
}

export async function readOverview(deps: AppDeps, team: Team, nowMs: number): Promise<Overview> {
  const span = spanAt(nowMs);
  const [rows, quota, slowest, failures, agents, dead, rejected] = await Promise.all([
    Array.fromAsync(deps.spend.rows(team, "status", span.from, span.today)),
    readQuota(deps, team, nowMs),
    readSlowest(deps, team, span),
    readFailures(
      deps.runList,
      team,
      { from: Date.parse(span.from), to: span.endMs },
      FAILURES_SHOWN,
    ),
    readSpendByAgent(deps.spend, team, span),
    deps.deadStages.ofTeam(team),
    countRejected(deps, team.id, nowMs),
  ]);
  const days = metricsOf(span.days, rows.flat());
  const unpriced = await readUnpriced(deps, team, span, days);
  return { span, days, quota, slowest, failures, agents, dead, rejected, unpriced };
}

async function readQuota({ usage }: AppDeps, team: Team, nowMs: number): Promise<Quota> {
  const month = monthOf(nowMs);
  const used = await usage.used(team.id, month);
  const included = planOfTeam(team).eventsPerMonth;
  return { month, used, included, state: quotaState(used, included) };
}

/** Compares only the newest runs: no index orders runs by duration. */
async function readSlowest({ runList }: AppDeps, team: Team, span: Span): Promise<Slowest> {
  const query: RunsQuery = { from: span.startMs, to: span.endMs };
  const { rows, next } = await runList.page(team, query, null, RECENT_RUNS_MAX);
  const runs = rows.filter(({ durationMs }) => durationMs !== null)
    .sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0))
    .slice(0, SLOWEST_SHOWN);
  return { runs, lookedAt: rows.length, isAll: next === null };
}

/** Reads model names only if the days' totals contain calls without a price. */
async function readUnpriced(
  { spend }: AppDeps,
  team: Team,
  { from, today }: Span,
  days: readonly DayMetrics[],
): Promise<UnpricedCalls | null> {
  const calls = days.reduce((sum, day) => sum + day.unpricedCalls, 0);
  if (calls === 0) return null;
  const query = { from, to: today, groupBy: "model", filters: {} } as const;
  const readRows = (kind: RollupRow["group"]["kind"]) =>
    firstOf(spend.rows(team, kind, from, today), MODEL_ROWS_MAX);
  const unpriced = await unpricedOf(query, readRows, () => null);
  return {
    calls,
    models: unpriced.ok ? unpriced.value.models.map(({ name }) => modelKey(name)) : [],
  };
}

async function* firstOf<T>(
  all: AsyncIterable<readonly T[]>,
  max: number,
): AsyncGenerator<readonly T[]> {
  let remaining = max;
  for await (const rows of all) {
    yield rows.slice(0, remaining);
    remaining -= rows.length;
    if (remaining <= 0) return;
  }
}
