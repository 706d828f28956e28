/**
 * Counts of check results by day and agent, changed by the difference that a commit makes.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { CHECK_STATUSES, type CheckResult } from "../../domain/runs/check_result.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import {
  type RowFamily,
  type TeamKey,
  teamKey,
  type TeamRows,
  type TeamSet,
  teamSet,
} from "../team/team_rows.ts";

/** Counts of the results of a check: passes, failures, errors and skipped ones. */
export type CountsRow = readonly [pass: number, fail: number, error: number, skipped: number];

/**
 * Counts of a UTC day by the identifier of the check, of one agent or of all. Checks that were deleted
 * are left out when the row is written again, and ignored by reads.
 */
export interface DayRow {
  readonly counts: Readonly<Record<string, CountsRow>>;
  /**
   * Arrivals of the latest runs that passed, at most {@link PASSES_MAX} of each check, in order; only
   * in the row of all agents.
   */
  readonly passes?: Readonly<Record<string, readonly number[]>>;
}

/** Arrivals of passes that a day keeps, so that the removal of some leaves the latest one known. */
export const PASSES_MAX = 4;

/** Agent of the row that counts the results of all agents. */
export const ALL_AGENTS = "";

/** Where the results of a run count. */
export interface ResultsPlace {
  /** UTC day of the run. */
  readonly day: string;
  /** Agent's slug; null for none. */
  readonly agent: string | null;
  /** Arrival of the run's close, unix milliseconds. */
  readonly at: number;
}

/** Returns where the results of a run count; null for a run without an opening, which has none. */
export function placeOf(summary: RunSummary | null): ResultsPlace | null {
  const { contribution = null, times = null } = summary ?? {};
  if (contribution === null || times === null) return null;
  const { day, labels: { agent } } = contribution;
  return { day, agent, at: times.receivedAt };
}

/** Bytes in memory of the counts, or of the passes, of a check, roughly. */
const CHECK_BYTES = 200;

const DAYS: RowFamily<DayRow> = {
  decode: (stored) => stored as DayRow,
  encode: (row) => row,
  bytesOf: ({ counts, passes = {} }) =>
    CHECK_BYTES * (Object.keys(counts).length + Object.keys(passes).length),
};

/** Change of the counts of one check in one row. */
interface CheckChange {
  readonly counts: [pass: number, fail: number, error: number, skipped: number];
  /** Arrivals of runs that passed from now on, and of those that do no longer. */
  readonly passed: number[];
  readonly unpassed: number[];
}

/** Change of one row, by check. */
interface RowChange {
  readonly key: TeamKey<DayRow>;
  readonly byCheck: Map<string, CheckChange>;
  /** True if results of a deleted check go, which the row may still count. */
  hasGone: boolean;
}

/** Collects the results that a commit adds and removes. */
export class DayDifference {
  readonly #team: TeamId;
  /** Identifiers of the checks that exist; those of others are not counted any more. */
  readonly #existing: ReadonlySet<string>;
  readonly #rows = new Map<string, RowChange>();

  constructor(team: TeamId, existing: ReadonlySet<string>) {
    this.#team = team;
    this.#existing = existing;
  }

  /** Adds the results of a run, or removes them. */
  count({ day, agent, at }: ResultsPlace, results: readonly CheckResult[], by: 1 | -1): void {
    const total = this.#rowOf(day, ALL_AGENTS);
    const ofAgent = agent === null ? null : this.#rowOf(day, agent);
    for (const { id, status } of results) {
      if (!this.#existing.has(id)) {
        for (const row of [total, ofAgent]) if (row !== null && by < 0) row.hasGone = true;
        continue;
      }
      const place = CHECK_STATUSES.indexOf(status) as 0 | 1 | 2 | 3;
      const change = changeOf(total, id);
      change.counts[place] += by;
      if (status === "pass") (by > 0 ? change.passed : change.unpassed).push(at);
      if (ofAgent !== null) changeOf(ofAgent, id).counts[place] += by;
    }
  }

  /** Returns the rows that change. */
  async rows(cached: TeamRows): Promise<TeamSet[]> {
    const changes = [...this.#rows.values()].filter(({ byCheck, hasGone }) =>
      hasGone || byCheck.values().some(isChange)
    );
    const stored = await cached.getAll(changes.map(({ key }) => key));
    return changes.map(({ key, byCheck }, i) =>
      teamSet(key, changedDay(stored[i] ?? null, byCheck, this.#existing))
    );
  }

  #rowOf(day: string, agent: string): RowChange {
    const key = teamKey(DAYS, keys.checkCounts(this.#team, day, agent));
    let row = this.#rows.get(key.name);
    if (row === undefined) {
      this.#rows.set(key.name, row = { key, byCheck: new Map(), hasGone: false });
    }
    return row;
  }
}

function changeOf({ byCheck }: RowChange, check: string): CheckChange {
  let change = byCheck.get(check);
  if (change === undefined) {
    byCheck.set(check, change = { counts: [0, 0, 0, 0], passed: [], unpassed: [] });
  }
  return change;
}

function isChange({ counts, passed, unpassed }: CheckChange): boolean {
  return counts.some((by) => by !== 0) || passed.join() !== unpassed.join();
}

/** Returns a row after a change, without checks that no longer exist; null if it becomes empty. */
function changedDay(
  row: DayRow | null,
  changes: ReadonlyMap<string, CheckChange>,
  existing: ReadonlySet<string>,
): DayRow | null {
  const counts: Record<string, CountsRow> = {};
  const passes: Record<string, readonly number[]> = {};
  for (const id of new Set([...Object.keys(row?.counts ?? {}), ...changes.keys()])) {
    if (!existing.has(id)) continue;
    const change = changes.get(id);
    const [pass, fail, error, skipped] = row?.counts[id] ?? [0, 0, 0, 0];
    const by = change?.counts ?? [0, 0, 0, 0];
    const sum: CountsRow = [pass + by[0], fail + by[1], error + by[2], skipped + by[3]];
    if (sum.every((number) => number === 0)) continue;
    counts[id] = sum;
    const kept = latestPasses(row?.passes?.[id] ?? [], change);
    if (kept.length > 0) passes[id] = kept;
  }
  if (Object.keys(counts).length === 0) return null;
  return Object.keys(passes).length === 0 ? { counts } : { counts, passes };
}

function latestPasses(kept: readonly number[], change?: CheckChange): readonly number[] {
  if (change === undefined) return kept;
  const all = [...kept, ...change.passed].sort((a, b) => a - b);
  for (const at of change.unpassed) {
    const index = all.indexOf(at);
    if (index >= 0) all.splice(index, 1);
  }
  return all.slice(-PASSES_MAX);
}
