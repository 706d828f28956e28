/**
 * Counts of check results by day and agent, changed by the difference that a commit makes.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { CHECK_STATUSES, type CheckResult } from "../../domain/runs/check_result.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import type { SizedMap } from "../../runtime/byte_cache.ts";
import { getAll, type Store } from "../store.ts";
import { keyText } from "../writer/group.ts";
import type { KvSet } from "../writer/write.ts";
import { type CountsRow, type DayRow, PASSES_MAX } from "./rows.ts";

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

/** Cached rows of a team, by the text of their key; null for a row that is not stored. */
export type CheckDays = SizedMap<DayRow | null>;

/** Changed rows. */
export interface DayChanges {
  readonly sets: readonly KvSet[];
  readonly deletes: readonly Deno.KvKey[];
  /** Caches the rows after the commit. */
  readonly remember: () => void;
}

/** Change of the counts of one check in one row. */
interface CheckChange {
  readonly counts: [pass: number, fail: number, error: number, skipped: number];
  /** Arrivals of runs that passed from now on, and of those that do no longer. */
  readonly passed: number[];
  readonly unpassed: number[];
}

/** Change of one row, by check. */
interface RowChange {
  readonly key: Deno.KvKey;
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
  async rows(store: Store, days: CheckDays): Promise<DayChanges> {
    const changes = [...this.#rows].filter(([, { byCheck, hasGone }]) =>
      hasGone || byCheck.values().some(isChange)
    );
    const missing = changes.filter(([name]) => !days.has(name));
    const stored = await getAll(store, missing.map(([, { key }]) => key));
    for (const [i, [name]] of missing.entries()) days.set(name, stored[i]?.value as DayRow | null);
    const after = changes.map(([name, { key, byCheck }]) => {
      const row = changedDay(days.get(name) ?? null, byCheck, this.#existing);
      return { name, key, row };
    });
    return {
      sets: after.flatMap(({ key, row }) => row === null ? [] : [{ key, value: row }]),
      deletes: after.flatMap(({ key, row }) => row === null ? [key] : []),
      remember: () => after.forEach(({ name, row }) => days.set(name, row)),
    };
  }

  #rowOf(day: string, agent: string): RowChange {
    const key = keys.checkCounts(this.#team, day, agent);
    const name = keyText(key);
    let row = this.#rows.get(name);
    if (row === undefined) this.#rows.set(name, row = { key, byCheck: new Map(), hasGone: false });
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
    const found = all.indexOf(at);
    if (found >= 0) all.splice(found, 1);
  }
  return all.slice(-PASSES_MAX);
}

/** Returns the bytes of a row in memory, roughly. */
export function bytesOfDay(row: DayRow | null): number {
  if (row === null) return 0;
  return CHECK_BYTES * (Object.keys(row.counts).length + Object.keys(row.passes ?? {}).length);
}

/** Bytes of the counts, or of the passes, of a check. */
const CHECK_BYTES = 200;
