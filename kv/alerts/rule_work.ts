/**
 * Looks at alert rules, as the work loop asks for.
 *
 * A row names a kind of rules, a rule, or a group of a rule. A look at a rule finds what calls do not
 * report: spend over a limit, stuck runs, the quota, troubles of the service, new prices. It also ends
 * the incidents of earlier versions of the rule. A look at a group ends its incident by time and
 * repeats its message; `domain/alerts/decide.ts` decides that.
 *
 * @module
 */
import { isOfRule } from "../../domain/alerts/instance.ts";
import { type AlertSignal, type Look, lookOf } from "../../domain/alerts/signal.ts";
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
import { type Finding, isOfKind, type NextLook, NOTHING } from "./conditions.ts";
import { decodeInstance } from "./rows.ts";
import type { RateCardStore } from "../rate_cards/rate_cards.ts";

/** Dependencies of the looks at rules. */
export interface RuleLookDeps extends SpendDeps {
  readonly changes: TeamChanges;
  readonly rateCards: Pick<RateCardStore, "current">;
}

/** Maximum rows of one commit: of groups, and others, each of which it checks. */
const ROWS_PER_COMMIT = { groups: 50, others: 5 } as const;

/**
 * Maximum groups that one commit looks at, and signals that it counts. The keys of each have the name
 * of its group twice.
 */
const LOOKS_PER_COMMIT = 50, SIGNALS_PER_COMMIT = 50;

/** A row with what it asks for. */
interface Asked {
  readonly row: Work;
  readonly look: Look | null;
}

/** Creates the handler of due rules. */
export function createRuleLooks(deps: RuleLookDeps): WorkHandler {
  const looks = new RuleLooks(deps);
  return {
    kind: "rule",
    async handle(rows, turn) {
      const isGroup = ({ name }: Work) => lookOf(name)?.of === "group";
      const { groups, others } = ROWS_PER_COMMIT;
      // A look that throws is tried again for fewer rows.
      for (
        const some of [
          ...groupsOf(rows.filter((row) => !isGroup(row)), others),
          ...groupsOf(rows.filter(isGroup), groups),
        ]
      ) await looks.lookAt(some, turn);
      return [];
    },
  };
}

class RuleLooks {
  readonly #deps: RuleLookDeps;
  readonly #stuck: StuckFinder;

  constructor(deps: RuleLookDeps) {
    this.#deps = deps;
    this.#stuck = new StuckFinder(deps.store);
  }

  /** Looks at what some rows of one team ask for, in one commit. */
  async lookAt(rows: readonly Work[], turn: WorkTime): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    const { team } = first;
    await this.#deps.changes.changeInTurn(team, "clock", async () => {
      // Read first: some rows are filed without a turn, and one that is filed meanwhile stays.
      const others = rows.filter(({ name }) => lookOf(name)?.of !== "group");
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
    const looks: DueGroup[] = [];
    const next: NextLook[] = [];
    const add = (found: Finding) => {
      signals.push(...found.signals);
      looks.push(...found.looks ?? []);
      next.push(...found.next);
    };
    const asked = rows.map((row): Asked => ({ row, look: lookOf(row.name) }));
    const seen = new Set<string>();
    for (const { row, look } of asked) {
      if (look === null) continue;
      if (look.of === "group") looks.push({ rule: look.rule, group: look.group, at: row.at });
      const outdated = look.of === "rule" ? await this.#outdated(team, look.rule, rules) : [];
      looks.push(...outdated);
      if (outdated.length > 0) {
        // What is true is found once they are ended.
        next.push({ at: turn.nowMs + 1, name: row.name });
        continue;
      }
      for (const rule of rules.filter((rule) => isAsked(rule, look))) {
        const name = look.of === "group" ? row.name : rule.slug;
        if (!seen.has(name)) add(await this.#find(team, rule, config, look, turn));
        seen.add(name);
      }
    }
    return rowsOf(team, asked, { signals, looks }, next, turn);
  }

  /** Finds what a rule reports. */
  async #find(
    team: TeamId,
    rule: Rule,
    { budgets }: TeamConfig,
    look: Look,
    turn: WorkTime,
  ): Promise<Finding> {
    const { store, rateCards } = this.#deps;
    const { nowMs } = turn;
    const group = look.of === "group" ? look.group : null;
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

  /** Returns looks at some groups of earlier versions of a rule, or of one that was deleted. */
  async #outdated(team: TeamId, slug: string, rules: readonly Rule[]): Promise<DueGroup[]> {
    const rule = rules.find((rule) => rule.slug === slug) ?? null;
    const looks: DueGroup[] = [];
    // All groups: those of the current version may be many by now.
    for await (const { value } of eachRow(this.#deps.store, { prefix: keys.alerts(team, slug) })) {
      const instance = decodeInstance(value);
      if (instance === null || isOfRule(instance, rule)) continue;
      looks.push({ rule: slug, group: instance.text, at: null });
      if (looks.length === LOOKS_PER_COMMIT) break;
    }
    return looks;
  }
}

/** Returns the rows to write; what does not fit into one commit is looked at again. */
function rowsOf(
  team: TeamId,
  asked: readonly Asked[],
  { signals, looks = [] }: AlertWork,
  next: readonly NextLook[],
  { nowMs }: WorkTime,
): PlannedRows {
  const alerts = {
    signals: signals.slice(0, SIGNALS_PER_COMMIT),
    looks: looks.slice(0, LOOKS_PER_COMMIT),
  };
  const isAll = alerts.signals.length === signals.length && alerts.looks.length === looks.length;
  const again = isAll ? [] : asked.map(({ row: { name } }) => ({ at: nowMs + 1, name }));
  return {
    alerts,
    sets: [...next, ...again].map((row) => workSet({ ...row, kind: "rule", team })),
    deletes: asked.map(({ row }) => workKey(row)),
  };
}

/** Returns whether a look is at a rule. */
function isAsked({ slug, settings: { enabled, condition } }: Rule, look: Look): boolean {
  if (!enabled) return false;
  return look.of === "kind" ? condition.kind === look.kind : look.rule === slug;
}
