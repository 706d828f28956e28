/**
 * Budgets and pauses of teams in memory, prepared for the time of their verdicts.
 *
 * Commits of this process publish the configuration that they were made under. Other processes
 * change it too, so what is old is read again.
 *
 * @module
 */
import { type GuardConfig, placeOf } from "../../domain/budgets/budget.ts";
import {
  nextChangeMs,
  ofPeriods,
  prepareBudget,
  type PreparedBudget,
} from "../../domain/budgets/verdict.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { readConfig, type TeamConfig } from "../config/objects.ts";
import type { Store } from "../store.ts";
import type { SpendListener } from "./group_spend.ts";
import { FRESH_MS, type GuardReads, isOlder, type ReadCount } from "./reads.ts";

/** Age after which a configuration without budgets is read again where others may change it. */
const EMPTY_FRESH_MS = 3_000;

/** Bytes of an object of a team without its texts, and of a team without any. */
const OBJECT_BYTES = 800, TEAM_BYTES = 800;

/** Fraction of the share of memory: the budgets and pauses of one team take half of it at most. */
const PART = 0.3;

/** A team's budgets and pauses. */
export interface TeamGuard {
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

/** Budgets and pauses of all teams. */
export class TeamGuards implements SpendListener {
  readonly #store: Store;
  readonly #reads: GuardReads;
  readonly #now: () => number;
  readonly #teams: ByteCache<TeamId, TeamGuard>;

  constructor(store: Store, reads: GuardReads, now: () => number) {
    [this.#store, this.#reads, this.#now] = [store, reads, now];
    const bytesMax = store.memory.bytesMax("guard") * PART;
    this.#teams = createByteCache({
      memory: store.memory,
      share: "guard",
      part: PART,
      entryBytesMax: Math.floor(bytesMax / 2),
      bytesOf: ({ config }) => bytesOf(config),
    });
  }

  /** Returns what is in memory of a team; what is old is read in the background. */
  get(team: TeamId, nowMs: number): TeamGuard | undefined {
    const guard = this.#teams.get(team);
    if (this.#isOld(guard, nowMs)) {
      this.#reads.inBackground(guard?.reads, [nameOf(team)], () => this.#read(team));
    }
    return guard;
  }

  /** Returns the budgets and pauses of a team, read again if they are old. */
  async current(team: TeamId, nowMs: number): Promise<TeamGuard> {
    const known = this.#teams.get(team);
    return known === undefined || this.#isOld(known, nowMs) ? await this.#read(team) : known;
  }

  /** Reads the budgets and pauses of a team again, after one of them has changed. */
  async reload(team: TeamId): Promise<void> {
    // A read that is under way may have begun before the change, and fail for others.
    await Promise.allSettled([this.#reads.get(nameOf(team))]);
    await this.#read(team);
  }

  /** Takes the configuration that a commit was made under. */
  configured(team: TeamId, config: TeamConfig): void {
    const known = this.#teams.peek(team);
    if (known?.version === config.version) known.readAtMs = this.#now();
    else this.#set(team, config);
  }

  /** Makes the verdicts of a team be judged again. */
  changed(team: TeamId): void {
    const guard = this.#teams.peek(team);
    if (guard !== undefined) forgetVerdicts(guard);
  }

  /** Returns whether a configuration must be read: commits of this process tell their own. */
  #isOld(guard: TeamGuard | undefined, nowMs: number): boolean {
    if (!this.#store.limits.mayRepeat) return false;
    if (guard === undefined) return true;
    const { budgets, pauses } = guard.config;
    const isEmpty = budgets.length === 0 && pauses.length === 0;
    return isOlder(guard.readAtMs, nowMs, isEmpty ? EMPTY_FRESH_MS : FRESH_MS);
  }

  #read(team: TeamId): Promise<TeamGuard> {
    return this.#reads.once([nameOf(team)], team, async () => {
      return this.#set(team, await readConfig(this.#store, team));
    });
  }

  #set(team: TeamId, { version, budgets, pauses }: TeamConfig): TeamGuard {
    const guard: TeamGuard = {
      config: { budgets: budgets.filter(({ settings }) => settings.enabled), pauses },
      ofPeriods: [],
      ofRuns: [],
      version,
      readAtMs: this.#now(),
      state: {},
      lastMs: 0,
      untilMs: 0,
      reads: this.#teams.peek(team)?.reads ?? { second: 0, count: 0 },
    };
    this.#teams.set(team, guard);
    return guard;
  }
}

/** Prepares budgets for the time: without a change, only the end of a period changes verdicts. */
export function prepareGuard(guard: TeamGuard, nowMs: number): void {
  // The clock may have been set back.
  if (nowMs >= guard.untilMs || nowMs < guard.lastMs) {
    const { budgets } = guard.config;
    const ofRuns = budgets.filter(({ settings }) => settings.period === "run");
    guard.ofPeriods = ofPeriods(budgets).map((budget) => prepareBudget(budget, nowMs));
    guard.ofRuns = ofRuns.map((budget) => prepareBudget(budget, nowMs));
    guard.untilMs = nextChangeMs(guard.config, nowMs);
    forgetVerdicts(guard);
  }
  guard.lastMs = nowMs;
}

/** Makes the verdicts of a guard be judged again. */
export function forgetVerdicts(guard: TeamGuard): void {
  guard.state = {};
}

function nameOf(team: TeamId): string {
  return `config ${team}`;
}

function bytesOf({ budgets, pauses }: GuardConfig): number {
  const scopes = [
    ...budgets.map(({ settings }) => settings.scope),
    ...pauses.map(({ settings }) => settings),
  ];
  const names = scopes.map((scope) => placeOf(scope).name ?? "");
  const texts = [...names, ...pauses.map(({ settings }) => settings.reason)];
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  return TEAM_BYTES + OBJECT_BYTES * scopes.length + BYTES_PER_CHAR * chars;
}
