/**
 * Judges runs by budgets and pauses: from memory for acknowledgements, with a read for checks.
 *
 * @module
 */
import { type Budget, type GuardSubject, includes } from "../../domain/budgets/budget.ts";
import {
  blockersOf,
  type BudgetVerdict,
  byBadness,
  decisionOf,
  groupNameOf,
  groupOf,
  headerOf,
  judgeBudget,
  NOTHING_SPENT,
  ofPeriods,
  onlyGroupOf,
  pausesOf,
  prepareBudget,
  type Spent,
  spentIn,
  type Verdict,
} from "../../domain/budgets/verdict.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { groupName, type RollupGroup } from "../../domain/spend/rollup.ts";
import type { Principal } from "../../domain/teams/credentials.ts";
import { BYTES_PER_CHAR } from "../../runtime/memory.ts";
import { TeamCache } from "../../runtime/team_cache.ts";
import type { Store } from "../store.ts";
import type { GroupSpend, GroupSpends } from "./group_spend.ts";
import { FRESH_MS, GuardReads, isOlder } from "./reads.ts";
import { costIn, type GuardCall, GuardRuns, type JudgedRun, NOBODY } from "./runs.ts";
import { forgetVerdicts, prepareGuard, type TeamGuard, TeamGuards } from "./team_guards.ts";

/** Age from which no acknowledgement shows a spend, milliseconds. */
const SHOWN_MS_MAX = 60_000;

/** Bytes of a verdict about a subject, and of each budget in it with the text of an answer. */
const VERDICT_BYTES = 300, JUDGED_BYTES = 900;

/** A verdict about a subject, from spends that may lack. */
interface SubjectVerdict extends Verdict {
  /** State of the team's guard that it holds for. */
  readonly holdsFor: object;
  readonly groups: readonly RollupGroup[];
  /** True if a budget was left out, because its spend is missing. */
  readonly isPartial: boolean;
  /** Time from which a spend is to be read again, unix milliseconds. */
  readonly freshToMs: number;
  /** Everything acknowledged before is in all of the spends, unix milliseconds. */
  readonly oldestMs: number;
}

/** An answer to a check. */
export interface CheckedGuard extends Verdict {
  /** Time of the check, unix milliseconds. */
  readonly atMs: number;
  /** Everything acknowledged before is in the spends, unix milliseconds. */
  readonly asOfMs: number;
}

/** Dependencies of the guard. */
export interface GuardDeps {
  readonly store: Store;
  readonly spends: GroupSpends;
  /** Returns unix milliseconds. */
  readonly now: () => number;
}

/** Judges the runs of all teams. */
export class RunGuard {
  readonly #store: Store;
  readonly #spends: GroupSpends;
  readonly #now: () => number;
  readonly #teams: TeamGuards;
  readonly #verdicts: TeamCache<SubjectVerdict>;
  readonly #reads: GuardReads;
  readonly #runs: GuardRuns;

  constructor({ store, spends, now }: GuardDeps) {
    [this.#store, this.#spends, this.#now] = [store, spends, now];
    this.#reads = new GuardReads(store, now);
    this.#teams = new TeamGuards(store, this.#reads, now);
    this.#runs = new GuardRuns(store, this.#reads);
    this.#verdicts = new TeamCache({
      memory: store.memory,
      share: "guard",
      part: 0.1,
      bytesOf: ({ budgets }, name) =>
        VERDICT_BYTES + JUDGED_BYTES * budgets.length + BYTES_PER_CHAR * name.length,
    });
    spends.listener = this.#teams;
  }

  /**
   * Returns the value of `Runledger-Guard` for the acknowledgement of a call of a run, from memory;
   * null to leave the header out.
   *
   * @param callOf returns the call; it is not asked for a team without budgets and pauses
   */
  headerOf(
    { team: { id: team }, grant }: Principal,
    run: RunId,
    callOf: () => GuardCall,
  ): string | null {
    const nowMs = this.#now();
    const guard = this.#teams.get(team, nowMs);
    if (guard === undefined || isEmpty(guard)) return null;
    prepareGuard(guard, nowMs);
    const needsSpent = guard.ofRuns.length > 0;
    const known = this.#runs.after(team, run, callOf(), needsSpent, guard.reads);
    const { subject } = known;
    const verdict = this.#verdictOf(guard, team, subject ?? NOBODY, nowMs);
    if (nowMs >= verdict.freshToMs) {
      const old = this.#oldOf(team, verdict.groups, nowMs);
      const names = old.map((group) => spendName(team, group));
      const start = () => this.#readSpend(guard, team, old);
      this.#reads.inBackground(guard.reads, names, start);
    }
    const shown = withoutOld(verdict, nowMs);
    const withRun = judgeRun(guard, shown, known, nowMs);
    const isUnsure = withRun.isPartial || subject === null;
    if (isUnsure && decisionOf(withRun) !== "block") return null;
    return headerOf(withRun, nowMs, grant.kind === "ping_token" ? grant.agent : null);
  }

  /**
   * Judges a subject by spends that are at most a second old.
   *
   * @throws {StorageUnavailable} when the store fails
   */
  async check(team: TeamId, subject: GuardSubject): Promise<CheckedGuard> {
    const atMs = this.#now();
    const [verdict] = await this.#judge(team, [subject], atMs) as [SubjectVerdict];
    if (verdict.isPartial) throw new StorageUnavailable("The spend of a budget was not read");
    const asOfMs = Math.min(atMs, ...verdict.budgets.map(({ asOfMs }) => asOfMs));
    return { pauses: verdict.pauses, budgets: verdict.budgets, atMs, asOfMs };
  }

  /** Returns the id of the worst pause or budget that blocks the runs of each agent; null for none. */
  async blockersOf(team: TeamId, agents: readonly string[]): Promise<readonly (string | null)[]> {
    const subjects = agents.map((agent): GuardSubject => ({ ...NOBODY, agent }));
    const verdicts = await this.#judge(team, subjects, this.#now());
    return verdicts.map((verdict) => blockersOf(verdict)[0] ?? null);
  }

  /** Judges subjects by spends that are at most a second old. */
  async #judge(team: TeamId, subjects: readonly GuardSubject[], nowMs: number) {
    const guard = await this.#teams.current(team, nowMs);
    prepareGuard(guard, nowMs);
    const groups = groupsOf(guard, subjects);
    await this.#readSpend(guard, team, this.#oldOf(team, groups, nowMs));
    return subjects.map((subject) => this.#verdictOf(guard, team, subject, nowMs));
  }

  /** Judges budgets by the spend of their only group; leaves out those of each and of runs. */
  async judge(
    team: TeamId,
    budgets: readonly Budget[],
  ): Promise<ReadonlyMap<string, BudgetVerdict>> {
    const nowMs = this.#now();
    const guard = await this.#teams.current(team, nowMs);
    const named = ofPeriods(budgets).flatMap((budget) => {
      const group = onlyGroupOf(budget);
      return group === null ? [] : [{ budget, group }];
    });
    const groups = named.map(({ group }) => group);
    await this.#readSpend(guard, team, this.#oldOf(team, groups, nowMs));
    return new Map(named.flatMap(({ budget, group }) => {
      const spend = this.#spends.get(team, group, nowMs);
      if (spend === undefined) return [];
      const prepared = prepareBudget(budget, nowMs);
      const spent = spentIn(prepared.days, spend.days);
      return [[budget.slug, judgeBudget(prepared, null, spent, spend.staleAsOf)]];
    }));
  }

  /** Reads the budgets and pauses of a team again, after one of them has changed. */
  reload(team: TeamId): Promise<void> {
    return this.#teams.reload(team);
  }

  /** Resolves when no read is under way. */
  idle(): Promise<void> {
    return this.#reads.idle();
  }

  /** Reads the spends of groups, each of them once at a time. */
  async #readSpend(
    guard: TeamGuard,
    team: TeamId,
    groups: readonly RollupGroup[],
  ): Promise<void> {
    const names = new Map(groups.map((group) => [spendName(team, group), group]));
    const others = [...names.keys()].flatMap((name) => this.#reads.get(name) ?? []);
    const missing = [...names].filter(([name]) => this.#reads.get(name) === undefined);
    if (missing.length === 0) return void await Promise.all(others);
    const reading = this.#reads.once(missing.map(([name]) => name), team, async () => {
      const some = missing.map(([, group]) => group);
      await this.#spends.read(this.#store, team, some, this.#now());
      forgetVerdicts(guard);
      // The configuration may have been read again meanwhile.
      this.#teams.changed(team);
    });
    await Promise.all([...others, reading]);
  }

  /** Returns the groups whose spends are missing or to be read again. */
  #oldOf(team: TeamId, groups: readonly RollupGroup[], nowMs: number): readonly RollupGroup[] {
    return groups.filter((group) => {
      const spend = this.#spends.get(team, group, nowMs);
      return spend === undefined || isOlder(spend.readAtMs, nowMs, FRESH_MS);
    });
  }

  /** Returns the verdict about a subject, from spends in memory. */
  #verdictOf(guard: TeamGuard, team: TeamId, subject: GuardSubject, nowMs: number): SubjectVerdict {
    prepareGuard(guard, nowMs);
    const name = JSON.stringify([subject.agent, subject.customer, subject.feature]);
    const known = this.#verdicts.get(team, name);
    if (known?.holdsFor === guard.state) return known;
    const groups = groupsOf(guard, [subject]);
    const spends = new Map<string, GroupSpend>();
    for (const group of groups) {
      const spend = this.#spends.get(team, group, nowMs);
      if (spend !== undefined) spends.set(groupName(group), spend);
    }
    // Budgets share groups and periods.
    const sums = new Map<string, Spent>();
    const budgets = guard.ofPeriods.flatMap((prepared) => {
      const group = groupOf(prepared.budget, subject);
      const spend = group === null ? undefined : spends.get(groupName(group));
      if (group === null || spend === undefined) return [];
      const period = `${group.kind} ${prepared.days}`;
      const spent = sums.get(period) ?? spentIn(prepared.days, spend.days);
      sums.set(period, spent);
      const name = groupNameOf(prepared.budget, subject);
      return [judgeBudget(prepared, name, spent, spend.staleAsOf)];
    });
    const all = [...spends.values()];
    const isPartial = all.length < groups.length;
    const isOld = isPartial || all.some(({ readAtMs }) => isOlder(readAtMs, nowMs, FRESH_MS));
    const verdict: SubjectVerdict = {
      holdsFor: guard.state,
      pauses: pausesOf(guard.config, subject, nowMs),
      budgets: budgets.sort(byBadness),
      groups,
      isPartial,
      oldestMs: Math.min(...all.map(({ staleAsOf }) => staleAsOf)),
      freshToMs: isOld ? nowMs : Math.min(...all.map(({ readAtMs }) => readAtMs + FRESH_MS)),
    };
    this.#verdicts.set(team, name, verdict);
    return verdict;
  }
}

/** Leaves out budgets whose spend is too old for an acknowledgement. */
function withoutOld(verdict: SubjectVerdict, nowMs: number): SubjectVerdict {
  if (verdict.budgets.length === 0 || !isOlder(verdict.oldestMs, nowMs, SHOWN_MS_MAX)) {
    return verdict;
  }
  const isShown = ({ asOfMs }: BudgetVerdict) => !isOlder(asOfMs, nowMs, SHOWN_MS_MAX);
  return { ...verdict, budgets: verdict.budgets.filter(isShown), isPartial: true };
}

/** Adds the verdicts of a run's own budgets. */
function judgeRun(
  { ofRuns }: TeamGuard,
  verdict: SubjectVerdict,
  run: JudgedRun,
  nowMs: number,
): SubjectVerdict {
  if (ofRuns.length === 0) return verdict;
  const subject = run.subject ?? NOBODY;
  const inScope = ofRuns.filter(({ budget }) => includes(budget.settings.scope, subject));
  if (inScope.length === 0) return verdict;
  const spent = costIn(run);
  if (spent === null) return { ...verdict, isPartial: true };
  const budgets = inScope.map((prepared) =>
    judgeBudget(prepared, null, { ...NOTHING_SPENT, cost: spent }, nowMs)
  );
  return {
    ...verdict,
    budgets: [...verdict.budgets, ...budgets].sort(byBadness),
    isPartial: verdict.isPartial || !run.isSure,
  };
}

/** Returns the different groups that the budgets of some subjects are about. */
function groupsOf(
  { ofPeriods }: TeamGuard,
  subjects: readonly GuardSubject[],
): RollupGroup[] {
  const groups = subjects.flatMap((subject) =>
    ofPeriods.flatMap(({ budget }) => groupOf(budget, subject) ?? [])
  );
  return [...new Map(groups.map((group) => [groupName(group), group])).values()];
}

function spendName(team: TeamId, group: RollupGroup): string {
  return `${team} ${groupName(group)}`;
}

function isEmpty({ config: { budgets, pauses } }: TeamGuard): boolean {
  return budgets.length === 0 && pauses.length === 0;
}
