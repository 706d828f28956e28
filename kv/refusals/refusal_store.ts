/**
 * Counts refusals in memory and writes them once a minute. So a flood of refused calls costs the
 * store no more than one call. A killed process loses its counts since the last write.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { PendingRefusals } from "../../domain/refusals/pending_refusals.ts";
import type { RefusalTally } from "../../domain/refusals/refusal_tally.ts";
import {
  addRefusals,
  firstHour,
  firstKeptHour,
  type Refusal,
  type RefusalGroups,
  type RefusalReport,
  type RefusalStore,
} from "../../domain/refusals/refusals.ts";
import { REFUSAL_LIMITS } from "../../domain/core/limits.ts";
import { groupsOf } from "../base/groups.ts";
import { keys } from "../base/keys.ts";
import { getValue, listRows, newRowName, type Store } from "../store.ts";
import { readGroups, type RefusalSums, sumsOf, writeTally } from "./refusal_rows.ts";

/** Teams written concurrently. */
const TEAMS_AT_ONCE = 10;

export function createRefusalStore(store: Store, now: () => number): RefusalStore {
  return new Refusals(store, now);
}

class Refusals implements RefusalStore {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #pending: PendingRefusals;
  /** Tallies being written, and those whose write failed. */
  readonly #writing = new Map<TeamId, RefusalTally>();
  #flushed: Promise<void> = Promise.resolve();

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
    // The other half is for tallies being written.
    const bytesMax = store.memory.bytesMax("refusals") / 2;
    this.#pending = new PendingRefusals(bytesMax, newRowName);
    store.memory.register("refusals", () => {
      const writing = [...this.#writing.values()].reduce((sum, { bytes }) => sum + bytes, 0);
      return this.#pending.bytes + writing;
    });
  }

  note(team: TeamId, refusal: Refusal): void {
    this.#pending.note(team, refusal);
  }

  read(team: TeamId, nowMs: number, hours: number): Promise<RefusalReport> {
    return this.#store.reads.run(team, () => this.#read(team, nowMs, hours));
  }

  flush(): Promise<void> {
    const flushed = this.#flushed.then(() => this.#flush());
    this.#flushed = flushed.catch(() => {});
    return flushed;
  }

  async #flush(): Promise<void> {
    // A tally whose write failed is written first, under its own name.
    for (const [team, tally] of this.#pending.take(this.#writing)) this.#writing.set(team, tally);
    const due = [...this.#writing];
    const failures: unknown[] = [];
    for (const group of groupsOf(due, TEAMS_AT_ONCE)) {
      const ends = await Promise.allSettled(group.map(async ([team, tally]) => {
        await writeTally(this.#store, team, tally, this.#now());
        this.#writing.delete(team);
      }));
      const failed = ends.filter((end) => end.status === "rejected");
      failures.push(...failed.map(({ reason }) => reason));
      // The store is unavailable: do not try the other teams.
      if (failed.length === group.length) break;
    }
    if (failures.length > 0) throw failures[0];
  }

  async #read(team: TeamId, nowMs: number, hours: number): Promise<RefusalReport> {
    // Collected before the read: a tally written meanwhile is recognized by its name.
    const unwritten = [this.#writing.get(team), this.#pending.of(team)]
      .filter((tally) => tally !== undefined);
    const first = hours === 0 ? null : Math.max(firstHour(nowMs, hours), firstKeptHour(nowMs));
    const { sums, groups } = await readRows(this.#store, team, first);
    const counts = new Map(sums.hours);
    const latest = [...sums.latest];
    for (const tally of unwritten) {
      if (sums.writes.includes(tally.name)) continue;
      latest.push(...tally.latest);
      for (const [hour, added] of tally.hours) {
        const ofHour: RefusalGroups = groups.get(hour) ?? new Map();
        if (first !== null && hour >= first) groups.set(hour, ofHour);
        for (const { kind, count } of added.values()) {
          addRefusals(ofHour, kind, count);
          counts.set(hour, (counts.get(hour) ?? 0) + count);
        }
      }
    }
    return reportOf(counts, latest, groups, firstKeptHour(nowMs));
  }
}

/** Reads the rows of a team from one snapshot. */
async function readRows(
  store: Store,
  team: TeamId,
  first: number | null,
): Promise<{ sums: RefusalSums; groups: Map<number, RefusalGroups> }> {
  if (first === null) {
    return { sums: sumsOf(await getValue(store, keys.refusalSums(team))), groups: new Map() };
  }
  const rows = await listRows(store, keys.refusalsFrom(team, first));
  const groups = new Map<number, RefusalGroups>();
  let sums = sumsOf(null);
  for (const { key, value } of rows) {
    const hour = key.at(-1);
    if (typeof hour === "number") groups.set(hour, readGroups(value));
    else sums = sumsOf(value);
  }
  return { sums, groups };
}

function reportOf(
  counts: ReadonlyMap<number, number>,
  latest: readonly Refusal[],
  groups: ReadonlyMap<number, RefusalGroups>,
  first: number,
): RefusalReport {
  return {
    hours: Array.from(counts, ([hour, count]) => ({ hour, count }))
      .filter(({ hour }) => hour >= first)
      .sort((a, b) => b.hour - a.hour),
    latest: latest.filter(({ at }) => at >= first)
      .reverse()
      .sort((a, b) => b.at - a.at)
      .slice(0, REFUSAL_LIMITS.latest),
    groups: Array.from(groups).sort(([a], [b]) => b - a).flatMap(([hour, groups]) =>
      Array.from(groups.values(), ({ kind, count }) => ({ hour, ...kind, count }))
        .sort((a, b) => b.count - a.count)
    ),
  };
}
