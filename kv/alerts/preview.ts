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
import { spendPeriodOf } from "../../domain/alerts/deadlines.ts";
import type { Rule, RuleSettings } from "../../domain/alerts/rule.ts";
import { type AlertSignal, missedSignals } from "../../domain/alerts/signal.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { DAY_MS, dayOf } from "../../domain/core/time.ts";
import { MONITORS_PER_PAGE } from "../../domain/monitors/store.ts";
import { picodollarsOf } from "../../domain/pricing/money.ts";
import type { RunListRow, RunPosition } from "../../domain/runs/list.ts";
import { daysOf } from "../../domain/spend/spend_query.ts";
import { decodeResults } from "../base/codec_checks.ts";
import { keyParts, keys } from "../base/keys.ts";
import { listMonitors, readFlipsOf } from "../monitors/reads.ts";
import { readRunListPage } from "../run_list/run_list.ts";
import { readSummaries } from "../runs/heads.ts";
import { getAll } from "../store.ts";
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
      switch (rule.settings.condition.kind) {
        case "budget":
        case "quota":
        case "service":
          return null;
        case "spend":
          return await previewSpend(deps, team, rule);
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

/** Counts the groups and periods whose spend reached the limit in the last days. */
async function previewSpend(
  { spend, now, msMax = PREVIEW.msMax }: PreviewDeps,
  team: TeamId,
  { settings }: Rule,
): Promise<RulePreview> {
  const { condition } = settings;
  if (condition.kind !== "spend") throw new TypeError("Not a rule of spend");
  const nowMs = now();
  const startedMs = performance.now();
  const fromMs = nowMs - PREVIEW.days * DAY_MS;
  const limit = picodollarsOf(condition.usd);
  const sums = new Map<string, bigint>();
  let opened = 0;
  const { startMs } = spendPeriodOf(condition.period, fromMs);
  for (const day of daysOf({ from: dayOf(startMs), to: dayOf(nowMs) })) {
    if (performance.now() - startedMs > msMax) return { opened, fromMs, isCut: true };
    const period = spendPeriodOf(condition.period, Date.parse(day)).startMs;
    for (const [text, { cost }] of await spendByGroup(spend, { id: team }, settings, [day])) {
      const name = `${period} ${text}`;
      const before = sums.get(name) ?? 0n;
      sums.set(name, before + cost);
      if (before < limit && before + cost >= limit && day >= dayOf(fromMs)) opened++;
    }
  }
  return { opened, fromMs, isCut: false };
}
