/**
 * Counts refusals in memory and writes them once a minute into one row a team. So a flood of
 * refused calls costs the store no more than one call. A killed process loses its counts since the
 * last write. Each write checks the row's version, so processes that share a store add to each
 * other's counts.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import {
  PendingRefusals,
  refusalBytes,
  type TeamRefusals,
} from "../../runtime/pending_refusals.ts";
import {
  addRefusals,
  NO_REFUSALS,
  type Refusal,
  type Refusals,
} from "../../domain/refusals/refusals.ts";
import { packBlob, storedJson } from "../base/blob.ts";
import { groupsOf } from "../base/reads.ts";
import { inTime, LOST, untilCommitted } from "../base/retry.ts";
import { keys } from "../base/keys.ts";
import { getEntry, getValue, newRowName, type Store } from "../store.ts";

/** Teams written concurrently. */
const TEAMS_AT_ONCE = 10;

/** Maximum write names stored: as many processes may read and write concurrently. */
const WRITES_MAX = 32;

interface StoredRefusals extends Refusals {
  /** Names of the last tallies written. */
  readonly writes: readonly string[];
}

/** Counts, reads and writes refusals. */
export type RefusalStore = ReturnType<typeof createRefusalStore>;

export function createRefusalStore(store: Store, now: () => number) {
  // Half is for tallies being written.
  const bytesMax = store.memory.bytesMax("refusals") / 2;
  const pending = new PendingRefusals(bytesMax, newRowName);
  /** Tallies being written, and those whose write failed. */
  const writing = new Map<TeamId, TeamRefusals>();
  let flushed: Promise<void> = Promise.resolve();
  store.memory.register("refusals", () => pending.bytes + writingBytes());
  return {
    /** Counts a refusal in memory. Copies the texts that it keeps. */
    note: (team: TeamId, refusal: Refusal) => pending.note(team, refusal),
    /** Reads a team's refusals, including refusals that are not written yet. */
    read: (team: TeamId, nowMs: number) => store.reads.run(team, () => read(team, nowMs)),
    /** Writes the refusals counted since the last call; the next call retries those that failed. */
    flush(): Promise<void> {
      const next = flushed.then(flush);
      flushed = next.catch(() => {});
      return next;
    },
  };

  function writingBytes(): number {
    return [...writing.values()].reduce((sum, refusals) => sum + refusalBytes(refusals), 0);
  }

  async function read(team: TeamId, nowMs: number): Promise<Refusals> {
    // Collected before the read: a tally written meanwhile is recognized by its name.
    const unwritten = [writing.get(team), pending.of(team)];
    const stored = storedOf(await getValue(store, keys.refusals(team)));
    return unwritten.reduce<Refusals>(
      (sum, refusals) =>
        refusals === undefined || stored.writes.includes(refusals.name)
          ? sum
          : addRefusals(sum, refusals, nowMs),
      addRefusals(stored, NO_REFUSALS, nowMs),
    );
  }

  async function flush(): Promise<void> {
    // A tally whose write failed is written first, under its own name.
    for (const [team, refusals] of pending.all()) {
      if (writing.has(team) || writingBytes() + refusalBytes(refusals) > bytesMax) continue;
      pending.take(team);
      writing.set(team, refusals);
    }
    const failures: unknown[] = [];
    for (const group of groupsOf([...writing], TEAMS_AT_ONCE)) {
      const ends = await Promise.allSettled(group.map(async ([team, refusals]) => {
        await writeRefusals(store, team, refusals, now());
        writing.delete(team);
      }));
      const failed = ends.filter((end) => end.status === "rejected");
      failures.push(...failed.map(({ reason }) => reason));
      // The store is unavailable: do not try the other teams.
      if (failed.length === group.length) break;
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Removes a team's refusals that are too old. */
export function forgetRefusals(store: Store, team: TeamId, nowMs: number): Promise<void> {
  return writeRefusals(store, team, null, nowMs);
}

/** Adds a tally to the stored refusals, and removes those that are too old; idempotent by the tally's name. */
async function writeRefusals(
  store: Store,
  team: TeamId,
  refusals: TeamRefusals | null,
  nowMs: number,
): Promise<void> {
  const key = keys.refusals(team);
  await untilCommitted("write refusals", async () => {
    const entry = await inTime(getEntry(store, key), store.deadlines);
    const stored = storedOf(entry.value);
    if (refusals !== null && stored.writes.includes(refusals.name)) return null;
    const kept = addRefusals(stored, refusals ?? NO_REFUSALS, nowMs);
    const isEmpty = kept.counts.length === 0;
    if (refusals === null && kept.counts.length === stored.counts.length) return null;
    const writes = refusals === null ? stored.writes : [...stored.writes, refusals.name];
    const value = pack({ ...kept, writes: writes.slice(-WRITES_MAX) });
    const version = await store.writer.commit({
      team,
      checks: [entry],
      ...isEmpty ? { deletes: [key] } : { sets: [{ key, value }] },
    });
    return version ?? LOST;
  });
}

function storedOf(value: unknown): StoredRefusals {
  return storedJson(value) ?? { ...NO_REFUSALS, writes: [] };
}

/** Packs refusals into one value; drops the oldest messages if it would be too large. */
function pack(refusals: StoredRefusals): Uint8Array {
  const { head, chunks } = packBlob(JSON.stringify(refusals), newRowName);
  if (chunks.length === 0) return head;
  const kept = Math.floor(refusals.latest.length * 3 / 4);
  return pack({ ...refusals, latest: refusals.latest.slice(0, kept) });
}
