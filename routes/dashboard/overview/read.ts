/** Reads the data of the overview in parallel, each part by a bounded range. */
import type { OpenIncidents } from "../../../domain/alerts/store.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { QuotaUse } from "../../../domain/teams/quota.ts";
import type { RollupRow } from "../../../domain/spend/rollup.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { unpricedOf } from "../../../domain/spend/unpriced.ts";
import type { AppDeps } from "../../http/context.ts";
import { readFailures } from "../components/failures.ts";
import { countRejected } from "../refusals/page.tsx";
import { readMessageTrouble } from "../alerts/banner.tsx";
import { readAttention } from "./attention.tsx";
import { readSpendByAgent, takeRows } from "./agent_spend.ts";
import { type DayMetrics, metricsOf, type Span, spanAt, usualDayOf } from "./day_metrics.ts";

/** Maximum newest runs of today among which the slowest are found. */
const RECENT_RUNS_MAX = 50;

const SLOWEST_SHOWN = 5;
const FAILURES_SHOWN = 6;

/** Maximum rows read to name the models without a price. */
const MODEL_ROWS_MAX = 1_000;

/** The data of the page; `quota` is absent if nobody manages plans. */
export type Overview = Awaited<ReturnType<typeof readOverview>> & {
  readonly quota: QuotaUse | undefined;
};

export async function readOverview(
  deps: AppDeps,
  team: Team,
  nowMs: number,
  open: OpenIncidents,
) {
  const span = spanAt(nowMs);
  const recent = { from: Date.parse(span.from), to: span.endMs };
  const [rows, slowest, failures, agents, dead, rejected, attention, messages] = await Promise
    .all([
      Array.fromAsync(deps.spend.rows(team, "status", span.from, span.today)),
      readSlowest(deps, team, span),
      readFailures(deps.runList, team, recent, FAILURES_SHOWN),
      readSpendByAgent(deps.spend, team, span),
      deps.deadStages.ofTeam(team),
      countRejected(deps, team.id, nowMs),
      readAttention(deps, team, nowMs, open),
      readMessageTrouble(deps, team, nowMs),
    ]);
  const days = metricsOf(span.days, rows.flat());
  const usual = usualDayOf(days.slice(0, -1));
  const unpriced = await readUnpriced(deps, team, span, days);
  return {
    ...{ nowMs, span, days, usual, slowest, failures, agents, dead, rejected, unpriced },
    ...{ attention, messages },
  };
}

/** Compares only the newest runs: no index orders runs by duration. */
async function readSlowest({ runList }: AppDeps, team: Team, { startMs, endMs }: Span) {
  const today = { from: startMs, to: endMs };
  const { rows, next } = await runList.page(team, today, null, RECENT_RUNS_MAX);
  const runs = rows.filter(({ durationMs }) => durationMs !== null)
    .sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0))
    .slice(0, SLOWEST_SHOWN);
  return { runs, compared: rows.length, isAll: next === null };
}

/** Reads the calls without a price or without tokens, and their models; null if there are none. */
async function readUnpriced(
  { spend }: AppDeps,
  team: Team,
  { from, today }: Span,
  days: readonly DayMetrics[],
) {
  const calls = days.reduce((sum, day) => sum + day.unpricedCalls, 0);
  const uncounted = days.reduce((sum, day) => sum + day.uncountedCalls, 0);
  if (calls + uncounted === 0) return null;
  const query = { from, to: today, groupBy: "model", filters: {} } as const;
  const readRows = (kind: RollupRow["group"]["kind"]) =>
    takeRows(spend.rows(team, kind, from, today), MODEL_ROWS_MAX);
  const unpriced = await unpricedOf(query, readRows, () => null);
  return {
    calls,
    uncounted,
    /** Model names by descending tokens; possibly incomplete. */
    models: unpriced.ok
      ? [...new Set(unpriced.value.models.map(({ name }) => modelKey(name)))]
      : [],
  };
}
