/**
 * Stores the refusals of a team: one row for each hour, with its kinds, and one row of totals. The
 * latter has the counts by hour, the latest refusals and the names of the last writes. Each write
 * changes the row of totals and checks its version, so processes that share a store add to each
 * other's counts.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { REFUSAL_LIMITS } from "../../domain/core/limits.ts";
import type { RefusalTally } from "../../domain/refusals/refusal_tally.ts";
import {
  addRefusals,
  firstKeptHour,
  otherOf,
  type Refusal,
  type RefusalGroup,
  type RefusalGroups,
} from "../../domain/refusals/refusals.ts";
import { packBlob, unpackBlob } from "../base/blob.ts";
import { inTime } from "../base/deadline.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getAll, getEntry, newRowName, type Store } from "../store.ts";

/** Maximum write names stored: as many processes may read and write concurrently. */
const WRITES_MAX = 32;

export interface RefusalSums {
  /** Number of refusals by the start of the hour. */
  readonly hours: readonly (readonly [hour: number, count: number])[];
  readonly latest: readonly Refusal[];
  /** Names of the last tallies written. */
  readonly writes: readonly string[];
}

const NO_REFUSALS: RefusalSums = { hours: [], latest: [], writes: [] };

/** Adds a tally to the stored refusals; idempotent by the tally's name. */
export async function writeTally(
  store: Store,
  team: TeamId,
  tally: RefusalTally,
  nowMs: number,
): Promise<void> {
  await rewrite(store, team, nowMs, async (stored) => {
    if (stored.writes.includes(tally.name)) return null;
    const hours = [...tally.hours].filter(([hour]) => hour >= firstKeptHour(nowMs));
    const rows = await getAll(store, hours.map(([hour]) => keys.refusalHour(team, hour)));
    const sums = new Map(stored.hours);
    const sets = hours.map(([hour, added], at) => {
      const groups = readGroups(rows[at]?.value);
      for (const { kind, count } of added.values()) addRefusals(groups, kind, count);
      sums.set(hour, Array.from(groups.values()).reduce((sum, { count }) => sum + count, 0));
      return { key: keys.refusalHour(team, hour), value: packGroups(groups) };
    });
    const latest = [...stored.latest, ...tally.latest].sort((a, b) => a.at - b.at);
    const writes = [...stored.writes, tally.name].slice(-WRITES_MAX);
    return { sums: { hours: [...sums], latest, writes }, sets };
  });
}

/** Removes a team's refusals that are too old. */
export async function forgetRefusals(store: Store, team: TeamId, nowMs: number): Promise<void> {
  await rewrite(store, team, nowMs, (stored) => {
    const first = firstKeptHour(nowMs);
    const isOld = stored.hours.some(([hour]) => hour < first) ||
      stored.latest.some(({ at }) => at < first);
    return Promise.resolve(isOld ? { sums: stored, sets: [] } : null);
  });
}

/** New totals, and the rows of hours to set. */
interface Rewritten {
  readonly sums: RefusalSums;
  readonly sets: readonly { readonly key: Deno.KvKey; readonly value: Uint8Array }[];
}

/** Changes the rows of a team, unless `change` returns null. Each change also deletes old hours. */
async function rewrite(
  store: Store,
  team: TeamId,
  nowMs: number,
  change: (stored: RefusalSums) => Promise<Rewritten | null>,
): Promise<void> {
  const key = keys.refusalSums(team);
  await untilCommitted("write refusals", async () => {
    const entry = await inTime(getEntry(store, key), store.deadlines);
    const changed = await change(sumsOf(entry.value));
    if (changed === null) return null;
    const first = firstKeptHour(nowMs);
    const { hours, latest, writes } = changed.sums;
    const current: RefusalSums = {
      hours: hours.filter(([hour]) => hour >= first).sort(([a], [b]) => a - b),
      latest: latest.filter(({ at }) => at >= first).slice(-REFUSAL_LIMITS.latest),
      writes,
    };
    const old = hours.filter(([hour]) => hour < first).map(([hour]) => hour);
    const deletes = old.map((hour) => keys.refusalHour(team, hour));
    const isEmpty = current.hours.length === 0 && current.latest.length === 0;
    const version = await store.writer.commit({
      team,
      checks: [entry],
      sets: isEmpty ? [] : [...changed.sets, { key, value: packSums(current) }],
      deletes: isEmpty ? [...deletes, key] : deletes,
    });
    return version ?? LOST;
  });
}

/** Decodes the row of totals. */
export function sumsOf(value: unknown): RefusalSums {
  return value instanceof Uint8Array ? JSON.parse(unpackBlob(value, [])) : NO_REFUSALS;
}

/** Decodes the row of an hour. */
export function readGroups(value: unknown): RefusalGroups {
  const groups: RefusalGroups = new Map();
  if (!(value instanceof Uint8Array)) return groups;
  const stored: RefusalGroup[] = JSON.parse(unpackBlob(value, []));
  for (const { count, ...kind } of stored) addRefusals(groups, kind, count);
  return groups;
}

/** Packs totals into one value; drops the oldest refusals if it would be too large. */
function packSums(sums: RefusalSums): Uint8Array {
  const { head, chunks } = packBlob(JSON.stringify(sums), newRowName);
  if (chunks.length === 0) return head;
  const from = Math.ceil(sums.latest.length / 4);
  return packSums({ ...sums, latest: sums.latest.slice(from) });
}

/** Packs kinds into one value; merges the last kinds if it would be too large. */
function packGroups(groups: RefusalGroups): Uint8Array {
  const rows = Array.from(groups.values(), ({ kind, count }): RefusalGroup => ({ ...kind, count }));
  const { head, chunks } = packBlob(JSON.stringify(rows), newRowName);
  if (chunks.length === 0) return head;
  const fewer: RefusalGroups = new Map();
  const keptCount = Math.floor(rows.length / 2);
  for (const [at, { count, ...kind }] of rows.entries()) {
    addRefusals(fewer, at < keptCount ? kind : otherOf(kind), count);
  }
  return packGroups(fewer);
}
