/**
 * Caches the roll-ups of active teams, so that adding to them needs no read.
 *
 * One version covers all of a team's roll-ups: every commit that changes a roll-up also changes the
 * version. While the version is the cached one, every cached row is current.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { contributionsOf, mergeRows, type RollupRow } from "../../domain/spend/rollup.ts";
import {
  type ByteCache,
  BYTES_PER_CHAR,
  createByteCache,
  SizedMap,
} from "../../runtime/byte_cache.ts";
import { keys } from "../base/keys.ts";
import { keyText } from "../writer/group.ts";
import { bytesOfRow, changedRow, decodeRollup, encodeRollup, rollupKey } from "./rollups.ts";
import { getAll, getEntry, type Store } from "../store.ts";
import type { KvSet, Write } from "../writer/write.ts";
import {
  addAgentRun,
  type AgentActivity,
  agentRunOf,
  withLastSeen,
} from "../../domain/agents/activity.ts";
import { keyPart } from "../base/index_parts.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import type { TeamAt } from "../runs/heads.ts";

/** Part of the memory share for roll-ups; the rest is for the versions of runs. */
const TEAMS_PART = 0.75;

/** Bytes of a team without its rows. */
const TEAM_BYTES = 300;

/** Cached roll-ups of a team. */
export interface TeamRollups {
  /** Version of all roll-ups; null when the team has none yet. */
  readonly version: string | null;
  /** Number of the latest feed change under that version. */
  readonly lastChange: number;
  /** Rows under that version, by the text of their key; null for a row that is not stored. */
  readonly rows: SizedMap<RollupRow | null>;
}

/** Cache of roll-ups, by team. */
export class RollupCache {
  readonly #store: Store;
  readonly #teams: ByteCache<TeamId, TeamRollups>;

  constructor(store: Store) {
    this.#store = store;
    this.#teams = createByteCache({
      memory: store.memory,
      share: "rollup_teams",
      part: TEAMS_PART,
      bytesOf: ({ rows }, team) => TEAM_BYTES + rows.bytes + BYTES_PER_CHAR * team.length,
    });
  }

  /** Returns the team's roll-ups under one version. Call it before reading what is to be added. */
  async of(team: TeamId): Promise<TeamRollups> {
    const cached = this.#teams.get(team);
    if (cached !== undefined) return cached;
    const { value, versionstamp } = await getEntry(this.#store, keys.rollupVersion(team));
    const loaded: TeamRollups = {
      version: versionstamp,
      lastChange: lastChangeOf(value),
      rows: newRows(),
    };
    this.#teams.set(team, loaded);
    return loaded;
  }

  /** Drops a team from the cache, after a commit conflicted with another process. */
  forget(team: TeamId): void {
    this.#teams.delete(team);
  }

  /**
   * Adds differences to a team's roll-ups; deletes rows that become empty.
   *
   * @param lastChange number of the latest feed change once this is committed
   */
  async change(
    team: TeamId,
    current: TeamRollups,
    differences: readonly RollupRow[],
    lastChange: number = current.lastChange,
  ) {
    const keyed = differences.map((row) => {
      const key = rollupKey(team, row);
      return { key, name: keyText(key), row };
    });
    const missing = keyed.filter(({ name }) => !current.rows.has(name));
    const entries = await getAll(this.#store, missing.map(({ key }) => key));
    for (const [i, { name, row }] of missing.entries()) {
      const value = entries[i]?.value as Uint8Array | null | undefined;
      current.rows.set(name, value ? decodeRollup(row.day, value) : null);
    }
    const versionKey = keys.rollupVersion(team);
    const sets: KvSet[] = [{ key: versionKey, value: lastChange }, ...dayMarks(team, differences)];
    const deletes: Deno.KvKey[] = [];
    const after = new Map<string, RollupRow | null>();
    for (const { key, name, row } of keyed) {
      const changed = changedRow(current.rows.get(name) ?? null, row);
      if (changed === null) deletes.push(key);
      else sets.push({ key, value: encodeRollup(changed) });
      after.set(name, changed);
    }
    return {
      checks: [{ key: versionKey, versionstamp: current.version }],
      sets,
      deletes,
      /** Caches the change after it is committed under a version, and returns the new roll-ups. */
      remember: (version: string): TeamRollups => {
        // A team whose rows exceed half of its limit loses all of them.
        const isLarge = current.rows.bytes > this.#teams.maxEntrySize / 2;
        const rows = isLarge ? newRows() : current.rows;
        for (const [name, row] of after) rows.set(name, row);
        const now = { version, lastChange, rows };
        this.#teams.set(team, now);
        return now;
      },
    };
  }
}

function newRows(): TeamRollups["rows"] {
  return new SizedMap((row) => row === null ? 0 : bytesOfRow(row));
}

/** Returns the rows that mark days as changed. Only their versions are read. */
function dayMarks(team: TeamId, differences: readonly RollupRow[]) {
  const days = new Set(differences.map(({ day }) => day));
  return Array.from(days, (day) => ({ key: keys.rollupDay(team, day), value: true }));
}

/**
 * Returns the number of a team's latest change from the value of its version row; 0 before the
 * first.
 */
export function lastChangeOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/**
 * Returns the rows to set when these runs change; empty unless a run is removed.
 *
 * Roll-ups and agents outlive the runs they are aggregated from. The totals of removed runs are
 * stored separately, so that the integrity check can recompute each number from stored runs and
 * these rows.
 */
export async function removedRunSets(at: TeamAt, changes: readonly RunUpdate[]): Promise<KvSet[]> {
  const removed = changes.filter(({ after }) => after === null);
  const rows = removed.flatMap(({ remains }) =>
    remains?.contribution ? contributionsOf(remains.contribution) : []
  );
  const { sets } = await changeRemovedSums(at, mergeRows(rows));
  return [...sets, ...await agentSets(at, removed)];
}

/** Adds differences, one row per group, to the totals of removed runs. */
export async function changeRemovedSums(
  { store, team }: TeamAt,
  differences: readonly RollupRow[],
): Promise<Required<Pick<Write, "sets" | "deletes">>> {
  const rowKeys = differences.map(({ day, group }) =>
    keys.removedRollup(team, group.kind, day, keyPart(group))
  );
  const sets: KvSet[] = [];
  const deletes: Deno.KvKey[] = [];
  for (const [i, { key, value }] of (await getAll(store, rowKeys)).entries()) {
    const difference = differences[i] as RollupRow;
    const before = value === null ? null : decodeRollup(difference.day, value as Uint8Array);
    const after = changedRow(before, difference);
    if (after === null) deletes.push(key);
    else sets.push({ key, value: encodeRollup(after) });
  }
  return { sets, deletes };
}

async function agentSets({ store, team }: TeamAt, removed: readonly RunUpdate[]): Promise<KvSet[]> {
  const runs = removed.flatMap(({ run: { id }, before, remains }) => {
    const kept = agentRunOf(id, remains ?? null);
    const run = kept ?? agentRunOf(id, before);
    return run === null ? [] : [{ run, isKept: kept !== null }];
  });
  const slugs = [...new Set(runs.map(({ run }) => run.agent))];
  const entries = await getAll(store, slugs.map((slug) => keys.removedAgent(team, slug)));
  const activities = new Map<string, AgentActivity | null>(
    slugs.map((slug, i) => [slug, entries[i]?.value as AgentActivity | null]),
  );
  for (const { run, isKept } of runs) {
    const before = activities.get(run.agent) ?? null;
    // The time an agent was last seen remains, even if that run is deleted.
    const after = isKept ? addAgentRun(before, null, run) : withLastSeen(before, run.receivedAt);
    activities.set(run.agent, after);
  }
  return Array.from(activities, ([slug, value]) => ({ key: keys.removedAgent(team, slug), value }));
}
