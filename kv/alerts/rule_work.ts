/**
 * Evaluates alert rules, as the work loop asks for.
 *
 * A row names a kind of rules, a rule, or a group of a rule. An evaluation of a rule finds what calls do not
 * report: spend over a limit, stuck runs, the quota, problems of the service, new prices. It also ends
 * the incidents of earlier versions of the rule. An evaluation of a group ends its incident by time and
 * repeats its message; `domain/alerts/decide.ts` decides that.
 *
 * @module
 */
import { isOfRule } from "../../domain/alerts/instance.ts";
import { type AlertSignal, type RuleTarget, targetOf } from "../../domain/alerts/signal.ts";
import type { Rule } from "../../domain/alerts/rule.ts";
import type { AlertWork, DueGroup } from "../../domain/alerts/signal_sources.ts";
import type { Work, WorkHandler, WorkTime } from "../../domain/work/work.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { RateCard } from "../../domain/pricing/rates.ts";
import { groupsOf } from "../base/reads.ts";
import { keys } from "../base/keys.ts";
import { workKey, workSet } from "../work/store.ts";
import { readConfig, type TeamConfig } from "../config/objects.ts";
import type { PlannedRows, TeamChanges } from "../team/team_rows.ts";
import { eachRow, getAll } from "../store.ts";
import { findBudgets } from "./find_budgets.ts";
import { findSpend, type SpendDeps } from "./find_spend.ts";
import { StuckFinder } from "./find_stuck.ts";
import { findPriced, findQuota, findService } from "./find_service.ts";
import { type Finding, isOfKind, type NextEvaluation, NOTHING } from "./conditions.ts";
import { decodeInstance } from "./rows.ts";
import type { RateCardStore } from "../rate_cards/rate_cards.ts";

/** Dependencies of the evaluations of rules. */
export interface RuleWorkDeps extends SpendDeps {
  readonly changes: TeamChanges;
  readonly rateCards: Pick<RateCardStore, "current">;
}

/** Maximum rows of one commit: of groups, and others, each of which it checks. */
const ROWS_PER_COMMIT = { groups: 50, others: 5 } as const;

/**
 * Maximum groups that one commit evaluates, and signals that it counts. The keys of each have the name
 * of its group twice.
 */
const GROUPS_PER_COMMIT = 50, SIGNALS_PER_COMMIT = 50;

/** A row with what it asks for. */
interface Asked {
  readonly row: Work;
  readonly target: RuleTarget | null;
}

/** Creates the handler of due rules. */
export function createRuleWork(deps: RuleWorkDeps): WorkHandler {
  const evaluator = new RuleEvaluator(deps);
  return {
    kind: "rule",
    async handle(rows, turn) {
      const isGroup = ({ name }: Work) => targetOf(name)?.of === "group";
      const { groups, others } = ROWS_PER_COMMIT;
      // An evaluation that throws is tried again for fewer rows.
      for (
        const some of [
          ...groupsOf(rows.filter((row) => !isGroup(row)), others),
          ...groupsOf(rows.filter(isGroup), groups),
        ]
      ) await evaluator.evaluate(some, turn);
      return [];
    },
  };
}

class RuleEvaluator {
  readonly #deps: RuleWorkDeps;
  readonly #stuck: StuckFinder;

  constructor(deps: RuleWorkDeps) {
    this.#deps = deps;
    this.#stuck = new StuckFinder(deps.store);
  }

  /** Evaluates what some rows of one team ask for, in one commit. */
  async evaluate(rows: readonly Work[], turn: WorkTime): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    const { team } = first;
    await this.#deps.changes.commitPlan(team, "clock", async () => {
      // Read first: some rows are filed without a turn, and one that is filed meanwhile stays.
      const others = rows.filter(({ name }) => targetOf(name)?.of !== "group");
      const checks = await getAll(this.#deps.store, others.map(workKey));
      return { result: null, rows: { ...await this.#plan(team, rows, turn), checks } };
    });
  }

  async #plan(
    team: TeamId,
    rows: readonly Work[],
    turn: WorkTime,
  ): Promise<PlannedRows> {
    const config = await readConfig(this.#deps.store, team);
    const { rules } = config;
    const signals: AlertSignal[] = [];
    const dueGroups: DueGroup[] = [];
    const next: NextEvaluation[] = [];
    const add = (finding: Finding) => {
      signals.push(...finding.signals);
      dueGroups.push(...finding.dueGroups ?? []);
      next.push(...finding.next);
    };
    const asked = rows.map((row): Asked => ({ row, target: targetOf(row.name) }));
    const seen = new Set<string>();
    for (const { row, target } of asked) {
      if (target === null) continue;
      if (target.of === "group") {
        dueGroups.push({ rule: target.rule, group: target.group, at: row.at });
      }
      const outdated = target.of === "rule" ? await this.#outdated(team, target.rule, rules) : [];
      dueGroups.push(...outdated);
      if (outdated.length > 0) {
        // What is true is found once they are ended.
        next.push({ at: turn.nowMs + 1, name: row.name });
        continue;
      }
      for (const rule of rules.filter((rule) => isAsked(rule, target))) {
        const name = target.of === "group" ? row.name : rule.slug;
        if (!seen.has(name)) add(await this.#find(team, rule, config, target, turn));
        seen.add(name);
      }
    }
    return rowsOf(team, asked, { signals, dueGroups }, next, turn);
  }

  /** Finds what a rule reports. */
  async #find(
    team: TeamId,
    rule: Rule,
    { budgets }: TeamConfig,
    target: RuleTarget,
    turn: WorkTime,
  ): Promise<Finding> {
    const { store, rateCards } = this.#deps;
    const { nowMs } = turn;
    const group = target.of === "group" ? target.group : null;
    if (isOfKind(rule, "spend")) return await findSpend(this.#deps, team, rule, group, nowMs);
    if (isOfKind(rule, "budget")) {
      return await findBudgets(this.#deps, team, rule, budgets, group, nowMs);
    }
    // The others are found for all groups at once.
    if (group !== null) return NOTHING;
    if (isOfKind(rule, "stuck")) return await this.#stuck.find(team, rule, turn);
    if (isOfKind(rule, "quota")) return await findQuota(store, team, rule, nowMs);
    if (isOfKind(rule, "service")) return await findService(store, team, rule, nowMs);
    const readCard = (): Promise<RateCard> => rateCards.current({ id: team });
    return isOfKind(rule, "unpriced")
      ? await findPriced(store, readCard, team, rule, nowMs)
      : NOTHING;
  }

  /** Returns some groups to evaluate, of earlier versions of a rule, or of one that was deleted. */
  async #outdated(team: TeamId, slug: string, rules: readonly Rule[]): Promise<DueGroup[]> {
    const rule = rules.find((rule) => rule.slug === slug) ?? null;
    const dueGroups: DueGroup[] = [];
    // All groups: those of the current version may be many by now.
    for await (const { value } of eachRow(this.#deps.store, { prefix: keys.alerts(team, slug) })) {
      const instance = decodeInstance(value);
      if (instance === null || isOfRule(instance, rule)) continue;
      dueGroups.push({ rule: slug, group: instance.text, at: null });
      if (dueGroups.length === GROUPS_PER_COMMIT) break;
    }
    return dueGroups;
  }
}

/** Returns the rows to write; what does not fit into one commit is evaluated again. */
function rowsOf(
  team: TeamId,
  asked: readonly Asked[],
  { signals, dueGroups = [] }: AlertWork,
  next: readonly NextEvaluation[],
  { nowMs }: WorkTime,
): PlannedRows {
  const alerts = {
    signals: signals.slice(0, SIGNALS_PER_COMMIT),
    dueGroups: dueGroups.slice(0, GROUPS_PER_COMMIT),
  };
  const isAll = alerts.signals.length === signals.length &&
    alerts.dueGroups.length === dueGroups.length;
  const again = isAll ? [] : asked.map(({ row: { name } }) => ({ at: nowMs + 1, name }));
  return {
    alerts,
    sets: [...next, ...again].map((row) => workSet({ ...row, kind: "rule", team })),
    deletes: asked.map(({ row }) => workKey(row)),
  };
}

/** Returns whether a row asks for a rule. */
function isAsked({ slug, settings: { enabled, condition } }: Rule, target: RuleTarget): boolean {
  if (!enabled) return false;
  return target.of === "kind" ? condition.kind === target.kind : target.rule === slug;
}
