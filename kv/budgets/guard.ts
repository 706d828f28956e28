/**
 * Judges runs by budgets and pauses: from memory for acknowledgements, with a read for checks.
 *
 * @module
 */
import {
  type Budget,
  type GuardConfig,
  type GuardSubject,
  includes,
} from "../../domain/budgets/budget.ts";
import {
  blockersOf,
  type BudgetVerdict,
  byBadness,
  decisionOf,
  groupNameOf,
  groupOf,
  headerOf,
  judgeBudget,
  nextChangeMs,
  NOTHING_SPENT,
  ofPeriods,
  onlyGroupOf,
  pausesOf,
  prepareBudget,
  type PreparedBudget,
  type Spent,
  spentIn,
  type Verdict,
} from "../../domain/budgets/verdict.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { groupName, type RollupGroup } from "../../domain/spend/rollup.ts";
import type { Principal } from "../../domain/teams/credentials.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { TeamCache } from "../../runtime/team_cache.ts";
import { readConfig, type TeamConfig } from "../config/objects.ts";
import type { Store } from "../store.ts";
import type { GroupSpend, GroupSpends } from "./group_spend.ts";
import { GuardReads, type ReadCount } from "./reads.ts";
import { costIn, type GuardCall, GuardRuns, type JudgedRun, NOBODY } from "./runs.ts";

/** Age after which a spend is read again, milliseconds. */
const FRESH_MS = 1_000;

/** Age from which no acknowledgement shows a spend, milliseconds. */
const SHOWN_MS_MAX = 60_000;

/** Age after which a configuration without budgets is read again where others may change it. */
const EMPTY_FRESH_MS = 3_000;

/** Bytes of an object of a team, and of a team without any. */
const OBJECT_BYTES = 1_000, TEAM_BYTES = 800;

/** Bytes of a verdict about a subject, and of each budget in it with the text of an answer. */
const VERDICT_BYTES = 300, JUDGED_BYTES = 900;

/** A team's budgets and pauses. */
interface TeamGuard {
  readonly config: GuardConfig;
  /** Budgets of periods, and of each run; they hold until `untilMs`. */
  ofPeriods: readonly PreparedBudget[];
  ofRuns: readonly PreparedBudget[];
  readonly version: number;
  /** Time of the read, unix milliseconds. */
  readAtMs: number;
  /** Another object after each change: verdicts hold for one. */
  state: object;
  /** Times between which verdicts and prepared budgets hold, unix milliseconds. */
  lastMs: number;
  untilMs: number;
  /** Reads in the background within a second. */
  readonly reads: ReadCount;
}

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
  readonly #teams: ByteCache<TeamId, TeamGuard>;
  readonly #verdicts: TeamCache<SubjectVerdict>;
  readonly #reads: GuardReads;
  readonly #runs: GuardRuns;
  /** The latest configuration that was read: it may be too large for the cache. */
  #last: TeamGuard | null = null;

  constructor({ store, spends, now }: GuardDeps) {
    const { memory } = store;
    [this.#store, this.#spends, this.#now] = [store, spends, now];
    this.#teams = createByteCache({
      memory,
      share: "guard",
      part: 0.2,
      bytesOf: ({ config: { budgets, pauses } }) =>
        TEAM_BYTES + OBJECT_BYTES * (budgets.length + pauses.length),
    });
    this.#verdicts = new TeamCache({
      memory,
      share: "guard",
      part: 0.1,
      bytesOf: ({ budgets }, name) =>
        VERDICT_BYTES + JUDGED_BYTES * budgets.length + BYTES_PER_CHAR * name.length,
    });
    this.#reads = new GuardReads(store, now);
    this.#runs = new GuardRuns(store, this.#reads);
    spends.listener = {
      published: (team) => forgetVerdicts(this.#teams.peek(team)),
      configured: (team, config) => {
        const known = this.#teams.peek(team);
        if (known?.version === config.version) known.readAtMs = now();
        else this.#set(team, config);
      },
    };
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
    const guard = this.#teams.get(team);
    const nowMs = this.#now();
    if (this.#isOld(guard, nowMs)) {
      const start = () => this.#readConfig(team);
      this.#reads.inBackground(guard?.reads, [`config ${team}`], start);
    }
    if (guard === undefined || isEmpty(guard.config)) return null;
    this.#prepare(guard, nowMs);
    const known = this.#runs.after(
      ...[team, run, callOf(), guard.ofRuns.length > 0, guard.reads] as const,
    );
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
    const guard = await this.#current(team, nowMs);
    this.#prepare(guard, nowMs);
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
    const guard = await this.#current(team, nowMs);
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
  async reload(team: TeamId): Promise<void> {
    await this.#reads.get(`config ${team}`);
    await this.#readConfig(team);
  }

  /** Resolves when no read is under way. */
  idle(): Promise<void> {
    return this.#reads.idle();
  }

  /** Returns whether a configuration must be read: commits of this process tell their own. */
  #isOld(guard: TeamGuard | undefined, nowMs: number): boolean {
    if (!this.#store.limits.mayRepeat) return false;
    if (guard === undefined) return true;
    return isOlder(guard.readAtMs, nowMs, isEmpty(guard.config) ? EMPTY_FRESH_MS : FRESH_MS);
  }

  async #current(team: TeamId, nowMs: number): Promise<TeamGuard> {
    const known = this.#teams.get(team);
    if (known !== undefined && !this.#isOld(known, nowMs)) return known;
    await this.#readConfig(team);
    return this.#teams.peek(team) ?? this.#last as TeamGuard;
  }

  #readConfig(team: TeamId): Promise<void> {
    return this.#reads.once([`config ${team}`], team, async () => {
      this.#set(team, await readConfig(this.#store, team));
    });
  }

  #set(team: TeamId, { version, budgets, pauses }: TeamConfig): void {
    const enabled = budgets.filter(({ settings }) => settings.enabled);
    const guard: TeamGuard = {
      config: { budgets: enabled, pauses },
      ofPeriods: [],
      ofRuns: [],
      version,
      readAtMs: this.#now(),
      state: {},
      lastMs: 0,
      untilMs: 0,
      reads: this.#teams.peek(team)?.reads ?? { second: 0, count: 0 },
    };
    this.#last = guard;
    this.#teams.set(team, guard);
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
      // The configuration may have been read again meanwhile.
      forgetVerdicts(guard);
      forgetVerdicts(this.#teams.peek(team));
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

  /** Prepares budgets for the time: without a change, only the end of a period changes verdicts. */
  #prepare(guard: TeamGuard, nowMs: number): void {
    // The clock may have been set back.
    const isOver = nowMs >= guard.untilMs || nowMs < guard.lastMs;
    if (isOver) {
      const { budgets } = guard.config;
      const ofRuns = budgets.filter(({ settings }) => settings.period === "run");
      guard.ofPeriods = ofPeriods(budgets).map((budget) => prepareBudget(budget, nowMs));
      guard.ofRuns = ofRuns.map((budget) => prepareBudget(budget, nowMs));
      guard.untilMs = nextChangeMs(guard.config, nowMs);
    }
    if (isOver) forgetVerdicts(guard);
    guard.lastMs = nowMs;
  }

  /** Returns the verdict about a subject, from spends in memory. */
  #verdictOf(guard: TeamGuard, team: TeamId, subject: GuardSubject, nowMs: number): SubjectVerdict {
    this.#prepare(guard, nowMs);
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

/** Makes the verdicts of a team be judged again. */
function forgetVerdicts(guard: TeamGuard | undefined): void {
  if (guard !== undefined) guard.state = {};
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

function isEmpty({ budgets, pauses }: GuardConfig): boolean {
  return budgets.length === 0 && pauses.length === 0;
}

/** Returns whether a time is further away than this; a clock may have been set back. */
function isOlder(atMs: number, nowMs: number, ms: number): boolean {
  return Math.abs(nowMs - atMs) > ms;
}
