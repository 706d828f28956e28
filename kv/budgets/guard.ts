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
import type { Picodollars } from "../../domain/pricing/money.ts";
import { costOfRun } from "../../domain/runs/cost.ts";
import { labelsOf, type RunParts } from "../../domain/runs/run.ts";
import { groupName, type RollupGroup } from "../../domain/spend/rollup.ts";
import type { Principal } from "../../domain/teams/credentials.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { outsideScope } from "../base/reads.ts";
import { readConfig, type TeamConfig } from "../config/objects.ts";
import { readHead } from "../runs/heads.ts";
import type { Store } from "../store.ts";
import { pendingName } from "../writer/group.ts";
import type { Figure, Figures } from "./figures.ts";

/** Age after which a figure is read again, milliseconds. */
const FRESH_MS = 1_000;

/** Age from which no acknowledgement shows a figure, milliseconds. */
const SHOWN_MS_MAX = 60_000;

/** Age after which a configuration without budgets is read again where others may change it. */
const EMPTY_FRESH_MS = 3_000;

/** Maximum reads of a team in the background within a second. */
const READS_PER_SECOND = 20;

/** Those of them that may be of runs: calls of runs that are not stored must not stop the others. */
const RUN_READS_PER_SECOND = 10;

/** Maximum subjects of a team whose verdicts are kept until the next change. */
const VERDICTS_MAX = 200;

/** Bytes of an object of a team, of a team without any, and of a run without its labels. */
const OBJECT_BYTES = 1_000, TEAM_BYTES = 800, RUN_BYTES = 200;

/** A team's budgets and pauses, with the verdicts that hold until something changes. */
interface TeamGuard {
  readonly config: GuardConfig;
  /** Budgets of periods, and of each run; they hold until `untilMs`. */
  ofPeriods: readonly PreparedBudget[];
  ofRuns: readonly PreparedBudget[];
  readonly version: number;
  /** Time of the read, unix milliseconds. */
  readAtMs: number;
  readonly verdicts: Map<string, SubjectVerdict>;
  /** Times between which verdicts and prepared budgets hold, unix milliseconds. */
  lastMs: number;
  untilMs: number;
  /** Reads in the background within a second. */
  readonly reads: { second: number; count: number };
}

/** A verdict about a subject, from figures that may lack. */
interface SubjectVerdict extends Verdict {
  readonly groups: readonly RollupGroup[];
  /** True if a budget was left out, because its figure is missing. */
  readonly isPartial: boolean;
  /** Time from which a figure is to be read again, unix milliseconds. */
  readonly freshToMs: number;
  /** Everything acknowledged before is in all of the figures, unix milliseconds. */
  readonly oldestMs: number;
}

/** A run whose calls are acknowledged here. */
interface KnownRun {
  readonly subject: GuardSubject;
  /** Cost of its events; null if it is not known. */
  readonly spent: Picodollars | null;
}

/** An answer to a check. */
export interface CheckedGuard extends Verdict {
  /** Time of the check, unix milliseconds. */
  readonly atMs: number;
  /** Everything acknowledged before is in the figures, unix milliseconds. */
  readonly asOfMs: number;
}

/** Dependencies of the guard. */
export interface GuardDeps {
  readonly store: Store;
  readonly figures: Figures;
  /** Returns unix milliseconds. */
  readonly now: () => number;
}

/** Subject of calls whose run is not known: only budgets and pauses of the team have it. */
const NOBODY: GuardSubject = { agent: null, customer: null, feature: null };

/** Judges the runs of all teams. */
export class RunGuard {
  readonly #store: Store;
  readonly #figures: Figures;
  readonly #now: () => number;
  readonly #teams: ByteCache<TeamId, TeamGuard>;
  readonly #runs: ByteCache<string, KnownRun>;
  /** Reads under way, by name: several callers share one. */
  readonly #reading = new Map<string, Promise<void>>();
  /** The latest configuration that was read: it may be too large for the cache. */
  #last: TeamGuard | null = null;

  constructor({ store, figures, now }: GuardDeps) {
    const { memory } = store;
    [this.#store, this.#figures, this.#now] = [store, figures, now];
    this.#teams = createByteCache({
      memory,
      share: "guard",
      part: 0.2,
      bytesOf: ({ config: { budgets, pauses } }) =>
        TEAM_BYTES + OBJECT_BYTES * (budgets.length + pauses.length),
    });
    this.#runs = createByteCache({
      memory,
      share: "guard",
      part: 0.2,
      bytesOf: ({ subject: { agent, customer, feature } }, name) =>
        RUN_BYTES + BYTES_PER_CHAR * `${agent}${customer}${feature}${name}`.length,
    });
    figures.listener = {
      published: (team) => this.#teams.peek(team)?.verdicts.clear(),
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
   * @param parts of the run as the call knows them; null if it knows none
   * @param spent cost of the run's events after the call; null if the call does not know it
   */
  headerOf(
    { team: { id: team }, grant }: Principal,
    run: RunId,
    parts: RunParts | null,
    spent: Picodollars | null,
  ): string | null {
    const guard = this.#teams.get(team);
    const nowMs = this.#now();
    if (this.#isOld(guard, nowMs)) {
      this.#inBackground(guard, `config ${team}`, () => this.#readConfig(team));
    }
    if (guard === undefined || isEmpty(guard.config)) return null;
    const known = this.#runOf(guard, team, run, parts, spent);
    const verdict = this.#verdictOf(guard, team, known?.subject ?? NOBODY, nowMs);
    if (nowMs >= verdict.freshToMs) {
      const old = this.#oldOf(team, verdict.groups, nowMs);
      const isMissing = old.some((group) => !this.#reading.has(figureName(team, group)));
      if (isMissing) this.#inBackground(guard, null, () => this.#readFigures(guard, team, old));
    }
    const shown = withoutOld(verdict, nowMs);
    const withRun = judgeRun(guard, shown, known ?? { subject: NOBODY, spent }, nowMs);
    const isUnsure = withRun.isPartial || known === null;
    if (isUnsure && decisionOf(withRun) !== "block") return null;
    return headerOf(withRun, nowMs, grant.kind === "ping_token" ? grant.agent : null);
  }

  /**
   * Judges a subject by figures that are at most a second old.
   *
   * @throws {StorageUnavailable} when the store fails
   */
  async check(team: TeamId, subject: GuardSubject): Promise<CheckedGuard> {
    const atMs = this.#now();
    const guard = await this.#current(team, atMs);
    this.#prepare(guard, atMs);
    const groups = groupsOf(guard, subject);
    await this.#readFigures(guard, team, this.#oldOf(team, groups, atMs));
    const verdict = this.#verdictOf(guard, team, subject, atMs);
    if (verdict.isPartial) throw new StorageUnavailable("The spend of a budget was not read");
    const asOfMs = Math.min(atMs, ...verdict.budgets.map(({ asOfMs }) => asOfMs));
    return { pauses: verdict.pauses, budgets: verdict.budgets, atMs, asOfMs };
  }

  /** Returns the id of the worst pause or budget that blocks the runs of each agent; null for none. */
  async blockersOf(team: TeamId, agents: readonly string[]): Promise<readonly (string | null)[]> {
    const nowMs = this.#now();
    const guard = await this.#current(team, nowMs);
    if (isEmpty(guard.config)) return agents.map(() => null);
    this.#prepare(guard, nowMs);
    const subjects = agents.map((agent): GuardSubject => ({ ...NOBODY, agent }));
    const groups = new Map(
      subjects.flatMap((subject) => groupsOf(guard, subject))
        .map((group) => [groupName(group), group]),
    );
    await this.#readFigures(guard, team, this.#oldOf(team, [...groups.values()], nowMs));
    return subjects.map((subject) =>
      blockersOf(this.#verdictOf(guard, team, subject, nowMs))[0] ?? null
    );
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
    await this.#readFigures(guard, team, this.#oldOf(team, groups, nowMs));
    return new Map(named.flatMap(({ budget, group }) => {
      const figure = this.#figures.get(team, group, nowMs);
      if (figure === undefined) return [];
      const prepared = prepareBudget(budget, nowMs);
      const spent = spentIn(prepared.days, figure.days);
      return [[budget.slug, judgeBudget(prepared, null, spent, figure.staleAsOf)]];
    }));
  }

  /** Reads the budgets and pauses of a team again, after one of them has changed. */
  async reload(team: TeamId): Promise<void> {
    await this.#reading.get(`config ${team}`);
    await this.#readConfig(team);
  }

  /** Resolves when no read is under way. */
  async idle(): Promise<void> {
    while (this.#reading.size > 0) await Promise.allSettled(this.#reading.values());
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
    return this.#once([`config ${team}`], team, async () => {
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
      verdicts: new Map(),
      lastMs: 0,
      untilMs: 0,
      reads: this.#teams.peek(team)?.reads ?? { second: 0, count: 0 },
    };
    this.#last = guard;
    this.#teams.set(team, guard);
  }

  /** Reads the figures of groups, each of them once at a time. */
  async #readFigures(
    guard: TeamGuard,
    team: TeamId,
    groups: readonly RollupGroup[],
  ): Promise<void> {
    const names = new Map(groups.map((group) => [figureName(team, group), group]));
    const others = [...names.keys()].flatMap((name) => this.#reading.get(name) ?? []);
    const missing = [...names].filter(([name]) => !this.#reading.has(name));
    if (missing.length === 0) return void await Promise.all(others);
    const reading = this.#once(missing.map(([name]) => name), team, async () => {
      const some = missing.map(([, group]) => group);
      await this.#figures.read(this.#store, team, some, this.#now());
      guard.verdicts.clear();
    });
    await Promise.all([...others, reading]);
  }

  /** Returns the groups whose figures are missing or to be read again. */
  #oldOf(team: TeamId, groups: readonly RollupGroup[], nowMs: number): readonly RollupGroup[] {
    return groups.filter((group) => {
      const figure = this.#figures.get(team, group, nowMs);
      return figure === undefined || isOlder(figure.readAtMs, nowMs, FRESH_MS);
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
    if (isOver || guard.verdicts.size >= VERDICTS_MAX) guard.verdicts.clear();
    guard.lastMs = nowMs;
  }

  /** Returns the verdict about a subject, from figures in memory. */
  #verdictOf(guard: TeamGuard, team: TeamId, subject: GuardSubject, nowMs: number): SubjectVerdict {
    this.#prepare(guard, nowMs);
    const name = JSON.stringify([subject.agent, subject.customer, subject.feature]);
    const known = guard.verdicts.get(name);
    if (known !== undefined) return known;
    const groups = groupsOf(guard, subject);
    const figures = new Map<string, Figure>();
    for (const group of groups) {
      const figure = this.#figures.get(team, group, nowMs);
      if (figure !== undefined) figures.set(groupName(group), figure);
    }
    // Budgets share groups and periods.
    const sums = new Map<string, Spent>();
    const budgets = guard.ofPeriods.flatMap((prepared) => {
      const group = groupOf(prepared.budget, subject);
      const figure = group === null ? undefined : figures.get(groupName(group));
      if (group === null || figure === undefined) return [];
      const period = `${group.kind} ${prepared.days}`;
      const spent = sums.get(period) ?? spentIn(prepared.days, figure.days);
      sums.set(period, spent);
      const name = groupNameOf(prepared.budget, subject);
      return [judgeBudget(prepared, name, spent, figure.staleAsOf)];
    });
    const all = [...figures.values()];
    const isPartial = all.length < groups.length;
    const isOld = isPartial || all.some(({ readAtMs }) => isOlder(readAtMs, nowMs, FRESH_MS));
    const verdict: SubjectVerdict = {
      pauses: pausesOf(guard.config, subject, nowMs),
      budgets: budgets.sort(byBadness),
      groups,
      isPartial,
      oldestMs: Math.min(...all.map(({ staleAsOf }) => staleAsOf)),
      freshToMs: isOld ? nowMs : Math.min(...all.map(({ readAtMs }) => readAtMs + FRESH_MS)),
    };
    guard.verdicts.set(name, verdict);
    return verdict;
  }

  /** Returns the labels and the cost of a run; null while they are being read. */
  #runOf(
    guard: TeamGuard,
    team: TeamId,
    run: RunId,
    parts: RunParts | null,
    spent: Picodollars | null,
  ): KnownRun | null {
    const name = pendingName(team, run);
    const known = this.#runs.get(name);
    if (parts?.opening || known !== undefined) {
      const labels = parts === null ? known?.subject : mergedLabels(parts, known?.subject);
      const cost = spent ?? known?.spent ?? (parts?.opening ? 0n : null);
      const { agent = null, customer = null, feature = null } = labels ?? {};
      const now: KnownRun = { subject: { agent, customer, feature }, spent: cost };
      // A run of one call is over.
      const isOneCall = known === undefined && Boolean(parts?.closing);
      if (!isOneCall && !isSameRun(known, now)) this.#runs.set(name, now);
      return now;
    }
    const read = () =>
      this.#once([`run ${name}`], team, async () => {
        const { head } = await readHead({ store: this.#store, team, id: run });
        const { agent, customer, feature } = labelsOf(head.parts);
        // A call may have been acknowledged meanwhile; an opening that is on its way is awaited.
        if (agent === null || this.#runs.has(name)) return;
        const spent = costOfRun(head).amount;
        this.#runs.set(name, { subject: { agent, customer, feature }, spent });
      });
    this.#inBackground(guard, `run ${name}`, read, RUN_READS_PER_SECOND);
    return null;
  }

  /**
   * Starts a read, unless it is under way, or the team had enough within this second. Failures are
   * ignored.
   */
  #inBackground(
    guard: TeamGuard | undefined,
    name: string | null,
    read: () => Promise<void>,
    max = READS_PER_SECOND,
  ): void {
    if (name !== null && this.#reading.has(name)) return;
    const second = Math.floor(this.#now() / 1_000);
    const reads = guard?.reads ?? { second, count: 0 };
    if (reads.second !== second) [reads.second, reads.count] = [second, 0];
    if (reads.count >= max) return;
    reads.count++;
    // A later acknowledgement tries again.
    read().catch(() => {});
  }

  /** Runs a read of a team, unless one of the first name is under way. */
  #once(names: readonly string[], team: TeamId, read: () => Promise<void>): Promise<void> {
    const known = this.#reading.get(names[0] ?? "");
    if (known !== undefined) return known;
    // Several calls share it, so it does not end with one of them.
    const reading = outsideScope(() => this.#store.reads.run(team, read)).finally(() => {
      for (const name of names) this.#reading.delete(name);
    });
    for (const name of names) this.#reading.set(name, reading);
    return reading;
  }
}

/** Leaves out budgets whose figure is too old for an acknowledgement. */
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
  { subject, spent }: KnownRun,
  nowMs: number,
): SubjectVerdict {
  if (ofRuns.length === 0) return verdict;
  const inScope = ofRuns.filter(({ budget }) => includes(budget.settings.scope, subject));
  if (inScope.length === 0) return verdict;
  if (spent === null) return { ...verdict, isPartial: true };
  const budgets = inScope.map((prepared) =>
    judgeBudget(prepared, null, { ...NOTHING_SPENT, cost: spent }, nowMs)
  );
  return { ...verdict, budgets: [...verdict.budgets, ...budgets].sort(byBadness) };
}

/** Returns the different groups that the budgets of a subject are about. */
function groupsOf({ ofPeriods }: TeamGuard, subject: GuardSubject): RollupGroup[] {
  const groups = ofPeriods.flatMap(({ budget }) => groupOf(budget, subject) ?? []);
  return [...new Map(groups.map((group) => [groupName(group), group])).values()];
}

function figureName(team: TeamId, group: RollupGroup): string {
  return `${team} ${groupName(group)}`;
}

/** Returns the labels of a run; those of its close win. */
function mergedLabels(parts: RunParts, known: GuardSubject | undefined): GuardSubject {
  const { agent, customer, feature } = labelsOf(parts);
  return {
    agent: agent ?? known?.agent ?? null,
    customer: customer ?? known?.customer ?? null,
    feature: feature ?? known?.feature ?? null,
  };
}

function isSameRun(a: KnownRun | undefined, b: KnownRun): boolean {
  return a !== undefined && a.spent === b.spent && a.subject.agent === b.subject.agent &&
    a.subject.customer === b.subject.customer && a.subject.feature === b.subject.feature;
}

function isEmpty({ budgets, pauses }: GuardConfig): boolean {
  return budgets.length === 0 && pauses.length === 0;
}

/** Returns whether a time is further away than this; a clock may have been set back. */
function isOlder(atMs: number, nowMs: number, ms: number): boolean {
  return Math.abs(nowMs - atMs) > ms;
}
