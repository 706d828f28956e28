/**
 * Totals of removed runs.
 *
 * Roll-ups and agents outlive the runs they are aggregated from. The totals of removed runs are
 * stored separately, so that the integrity check can recompute each number from stored runs and
 * these rows.
 *
 * @module
 */
import { addCounts, isZero } from "../../domain/core/sums.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  addAgentRun,
  type AgentActivity,
  agentRunOf,
  seenLater,
} from "../../domain/agents/activity.ts";
import { contributionsOf, type RollupRow } from "../../domain/spend/rollup.ts";
import { keyText } from "../writer/group.ts";
import { keys } from "../base/keys.ts";
import { decodeRollup, encodeRollup } from "./rollups.ts";
import { keyPart } from "../base/index_parts.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import { getAll, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";

/** Maintains the totals of removed runs; they change under the version of the team's roll-ups. */
export class RemovedSums {
  readonly #store: Store;

  /** Caches nothing: removals are rare. */
  constructor(store: Store) {
    this.#store = store;
  }

  /** Returns the rows to set when these runs change; empty unless a run is removed. */
  async change(
    team: TeamId,
    changes: readonly RunUpdate[],
  ): Promise<{ readonly sets: NonNullable<Write["sets"]> }> {
    const removed = changes.filter(({ after }) => after === null);
    if (removed.length === 0) return { sets: [] };
    return { sets: [...await this.#rollups(team, removed), ...await this.#agents(team, removed)] };
  }

  /**
   * Returns the rows to set and delete when differences are added to the totals of removed runs.
   */
  async adjust(
    team: TeamId,
    differences: readonly RollupRow[],
  ): Promise<Required<Pick<Write, "sets" | "deletes">>> {
    const sums = new Map<string, Sum>();
    for (const row of differences) add(sums, removedKey(team, row), row);
    await this.#addStored(sums);
    const all = [...sums.values()];
    const empty = all.filter(({ row }) => isZero(row.measures));
    const kept = all.filter(({ row }) => !isZero(row.measures));
    return {
      deletes: empty.map(({ key }) => key),
      sets: kept.map(({ key, row }) => ({ key, value: encodeRollup(row) })),
    };
  }

  async #rollups(team: TeamId, removed: readonly RunUpdate[]): Promise<NonNullable<Write["sets"]>> {
    const sums = new Map<string, Sum>();
    for (const { remains } of removed) {
      const rows = remains?.contribution ? contributionsOf(remains.contribution) : [];
      for (const row of rows) add(sums, removedKey(team, row), row);
    }
    await this.#addStored(sums);
    return [...sums.values()].map(({ key, row }) => ({ key, value: encodeRollup(row) }));
  }

  async #agents(team: TeamId, removed: readonly RunUpdate[]): Promise<NonNullable<Write["sets"]>> {
    const runs = removed.flatMap(({ run: { id }, before, remains }) => {
      const kept = agentRunOf(id, remains ?? null);
      const run = kept ?? agentRunOf(id, before);
      return run === null ? [] : [{ run, isKept: kept !== null }];
    });
    const wanted = [...new Set(runs.map(({ run }) => run.agent))];
    const activities = new Map<string, AgentActivity>();
    for (const { key, value } of await this.#read(wanted.map((a) => keys.removedAgent(team, a)))) {
      activities.set(String(key[SLUG]), value as AgentActivity);
    }
    for (const { run, isKept } of runs) {
      const before = activities.get(run.agent) ?? null;
      // The time an agent was last seen remains, even if that run is deleted.
      const after = isKept ? addAgentRun(before, null, run) : seenLater(before, run.receivedAt);
      activities.set(run.agent, after);
    }
    return Array.from(
      activities,
      ([slug, value]) => ({ key: keys.removedAgent(team, slug), value }),
    );
  }

  /** Adds the stored rows to the sums. */
  async #addStored(sums: Map<string, Sum>): Promise<void> {
    for (const { key, value } of await this.#read([...sums.values()].map(({ key }) => key))) {
      add(sums, key, decodeRollup(String(key[DAY]), value as Uint8Array));
    }
  }

  /** Reads those keys that are stored. */
  async #read(wanted: readonly Deno.KvKey[]): Promise<Deno.KvEntry<unknown>[]> {
    const entries = await getAll(this.#store, wanted);
    return entries.filter((entry) => entry.versionstamp !== null);
  }
}

/** Offset of the day in the key of a roll-up, and of the slug in an agent's key. */
const DAY = 3, SLUG = 2;

/** Returns the key of the totals of removed runs in a roll-up. */
export function removedKey(team: TeamId, { day, group }: RollupRow): Deno.KvKey {
  return keys.removedRollup(team, group.kind, day, keyPart(group));
}

/** A total and the key it is stored at. */
interface Sum {
  readonly key: Deno.KvKey;
  row: RollupRow;
}

function add(
  sums: Map<string, Sum>,
  key: Deno.KvKey,
  row: RollupRow,
): void {
  const sum = sums.get(keyText(key));
  if (sum === undefined) sums.set(keyText(key), { key, row });
  else sum.row = { ...row, measures: addCounts(sum.row.measures, row.measures) };
}
