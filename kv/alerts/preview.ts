/**
 * Previews of rules over stored runs, monitors and roll-ups. Nothing is stored.
 *
 * @module
 */
import {
  countOpened,
  PREVIEW,
  type RulePreview,
  runSignals,
  unstoredRule,
} from "../../domain/alerts/preview.ts";
import { spendPeriodOf } from "../../domain/alerts/instance.ts";
import type { AlertSignal, SignalSubject } from "../../domain/alerts/signal.ts";
import type { Rule, RuleSettings, SPEND_PERIODS } from "../../domain/alerts/rule.ts";
import { missedSignals } from "../../domain/alerts/signal_sources.ts";
import { BUDGET_LABELS, includes, placeOf } from "../../domain/budgets/budget.ts";
import { marksReached } from "../../domain/budgets/verdict.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { DAY_MS, dayOf } from "../../domain/core/time.ts";
import { MONITORS_PER_PAGE } from "../../domain/monitors/row.ts";
import { picodollarsOf } from "../../domain/pricing/money.ts";
import type { RunListRow, RunPosition } from "../../domain/runs/list.ts";
import { daysOf } from "../../domain/spend/spend_query.ts";
import { decodeResults } from "../base/codec_checks.ts";
import { keyParts, keys } from "../base/keys.ts";
import { readConfig } from "../config/objects.ts";
import { listMonitors, readFlipsOf } from "../monitors/reads.ts";
import { readRunListPage } from "../run_list/run_list.ts";
import { readSummaries } from "../runs/heads.ts";
import { getAll } from "../store.ts";
import { selectedBudgets } from "./find_budgets.ts";
import { spendByGroup, type SpendDeps } from "./find_spend.ts";

/** Runs that one read lists. */
const RUNS_PER_READ = 200;

/** Dependencies of previews. */
export interface PreviewDeps extends SpendDeps {
  /** Returns unix milliseconds. */
  readonly now: () => number;
  /** Maximum milliseconds of a preview. */
  readonly msMax?: number;
}

/** Makes previews of rules. */
export type RulePreviews = ReturnType<typeof createRulePreviews>;

/** Creates what makes previews of rules. */
export function createRulePreviews(deps: PreviewDeps) {
  return {
    /** Counts the incidents of the last days; null for a kind that has no preview. */
    async preview({ id: team }: Team, settings: RuleSettings): Promise<RulePreview | null> {
      const rule = unstoredRule(settings);
      const { condition } = settings;
      switch (condition.kind) {
        case "quota":
        case "service":
          return null;
        case "spend":
          return await previewSpend(deps, team, [{
            settings,
            period: condition.period,
            openedBy: (cost) => cost >= picodollarsOf(condition.usd) ? 1 : 0,
          }]);
        case "budget":
          return await previewSpend(
            deps,
            team,
            await limitsOfBudgets(deps, team, settings, condition),
          );
        case "missed":
          return await previewMonitors(deps, team, rule);
        default:
          return await previewRuns(deps, team, rule);
      }
    },
  };
}

/** Counts the latest runs, newest first, until a maximum ends it. */
async function previewRuns(deps: PreviewDeps, team: TeamId, rule: Rule): Promise<RulePreview> {
  const { store, now, msMax = PREVIEW.msMax } = deps;
  const nowMs = now();
  const startedMs = performance.now();
  const fromMs = nowMs - PREVIEW.days * DAY_MS;
  const signals: AlertSignal[] = [];
  let after: RunPosition | null = null;
  for (let runs = 0; runs < PREVIEW.outcomesMax; runs += RUNS_PER_READ) {
    const { found, next } = await store.reads.run(team, async () => {
      const query = { from: fromMs, to: null };
      const page = await readRunListPage(store, team, query, after, RUNS_PER_READ);
      return { found: await signalsOf(deps, team, rule, page.rows, nowMs), next: page.next };
    });
    signals.push(...found);
    if (next === null) return { opened: countOpened(rule, signals), fromMs, isCut: false };
    after = next;
    if (performance.now() - startedMs > msMax) break;
  }
  return { opened: countOpened(rule, signals), fromMs: after?.at ?? fromMs, isCut: true };
}

async function signalsOf(
  { store }: PreviewDeps,
  team: TeamId,
  rule: Rule,
  rows: readonly Pick<RunListRow, "id">[],
  nowMs: number,
): Promise<AlertSignal[]> {
  const ids = rows.map(({ id }) => id);
  const summaries = await readSummaries({ store, team }, ids);
  const isOfChecks = rule.settings.condition.kind === "check_failed";
  const stored = isOfChecks
    ? await getAll(store, ids.map((id) => keys.checkResults(team, id)))
    : [];
  const results = new Map(stored.map(({ key, value }) => [keyParts.headRow(key).run, value]));
  return [...summaries].flatMap(([id, summary]) =>
    runSignals(rule, id, summary, decodeResults(results.get(id) ?? null), nowMs) ?? []
  );
}

/** Counts how often monitors went down. */
async function previewMonitors(
  { store, now }: PreviewDeps,
  team: TeamId,
  rule: Rule,
): Promise<RulePreview> {
  const fromMs = now() - PREVIEW.days * DAY_MS;
  const signals: AlertSignal[] = [];
  let after: string | null = null;
  while (signals.length < PREVIEW.outcomesMax) {
    const { monitors, flips, next } = await store.reads.run(team, async () => {
      const query = { state: null, limit: MONITORS_PER_PAGE.default, after };
      const page = await listMonitors(store, team, query);
      const agents = page.monitors.map(({ monitor }) => monitor.agent);
      const flips = await readFlipsOf(store, team, agents, fromMs, MONITORS_PER_PAGE.max);
      return { ...page, flips };
    });
    for (const { monitor } of monitors) {
      signals.push(...missedSignals(monitor, flips.get(monitor.agent) ?? []));
    }
    if (next === null) return { opened: countOpened(rule, signals), fromMs, isCut: false };
    after = next;
  }
  return { opened: countOpened(rule, signals), fromMs, isCut: true };
}

/** Spend that opens incidents in each period: that of a rule, or of a budget. */
interface SpendLimit {
  /** Groups whose spend is summed; limits that share them share their reads. */
  readonly settings: RuleSettings;
  readonly period: typeof SPEND_PERIODS[number];
  /** Number of incidents that a group has opened once its spend of a period is `cost`. */
  readonly openedBy: (cost: bigint, group: SignalSubject) => number;
}

/** Returns the limits of the budgets that a rule names: each of their marks opens an incident. */
async function limitsOfBudgets(
  { store }: PreviewDeps,
  team: TeamId,
  settings: RuleSettings,
  named: { readonly budgets: readonly string[] },
): Promise<readonly SpendLimit[]> {
  const byLabel = new Map(
    [null, ...BUDGET_LABELS].map((groupBy) => [groupBy, { ...settings, groupBy }]),
  );
  const { budgets } = await readConfig(store, team);
  return selectedBudgets(named, budgets).flatMap((budget) => {
    const { period, scope, limit_usd } = budget.settings;
    const ofGroups = byLabel.get(placeOf(scope).label);
    if (period === "run" || ofGroups === undefined) return [];
    const limit = picodollarsOf(limit_usd);
    const openedBy = (cost: bigint, group: SignalSubject) =>
      includes(scope, group) ? marksReached({ budget, limit }, { cost }).length : 0;
    return [{ settings: ofGroups, period, openedBy }];
  });
}

/** Counts the incidents of groups and periods whose spend reached limits in the last days. */
async function previewSpend(
  { spend, now, msMax = PREVIEW.msMax }: PreviewDeps,
  id: TeamId,
  limits: readonly SpendLimit[],
): Promise<RulePreview> {
  const nowMs = now();
  const startedMs = performance.now();
  const fromMs = nowMs - PREVIEW.days * DAY_MS;
  const periods = limits.map(({ period }) => spendPeriodOf(period, fromMs).startMs);
  const sums = new Map<string, bigint>();
  let opened = 0;
  for (const day of daysOf({ from: dayOf(Math.min(fromMs, ...periods)), to: dayOf(nowMs) })) {
    const read = new Map<RuleSettings, Awaited<ReturnType<typeof spendByGroup>>>();
    for (const [i, { settings, period, openedBy }] of limits.entries()) {
      if (performance.now() - startedMs > msMax) return { opened, fromMs, isCut: true };
      const groups = read.get(settings) ?? await spendByGroup(spend, { id }, settings, [day]);
      read.set(settings, groups);
      const { startMs } = spendPeriodOf(period, Date.parse(day));
      for (const [text, { subject, cost }] of groups) {
        const name = `${i} ${startMs} ${text}`;
        const before = sums.get(name) ?? 0n;
        sums.set(name, before + cost);
        if (day < dayOf(fromMs)) continue;
        opened += openedBy(before + cost, subject) - openedBy(before, subject);
      }
    }
  }
  return { opened, fromMs, isCut: false };
}
