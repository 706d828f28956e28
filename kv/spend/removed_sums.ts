/**
 * What runs that are gone still count for.
 *
 * Roll-ups and agents outlive the runs they were summed up from. What the gone ones came to is kept
 * apart, so that an audit can still recompute each figure: the stored runs and these rows together.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import {
  addAgentRun,
  type AgentActivity,
  agentRunOf,
  seenLater,
} from "../../domain/agents/activity.ts";
import {
  addMeasures,
  contributionsOf,
  isEmpty,
  type RollupRow,
} from "../../domain/spend/rollup.ts";
import { keyText } from "../writer/group.ts";
import { keys } from "../base/keys.ts";
import { decodeRollup, encodeRollup } from "./rollups.ts";
import { keyPart } from "../base/index_parts.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import { getAll, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";

/** Keeps what gone runs came to; its rows change under the version of the team's roll-ups. */
export class RemovedSums {
  readonly #store: Store;

  /** Remembers nothing: rows are read when some run goes, which is seldom. */
  constructor(store: Store) {
    this.#store = store;
  }

  /** What to set when these runs change; nothing for those that stay. */
  async change(
    team: TeamId,
    changes: readonly RunUpdate[],
  ): Promise<{ readonly sets: NonNullable<Write["sets"]> }> {
    const gone = changes.filter(({ after }) => after === null);
    if (gone.length === 0) return { sets: [] };
    return { sets: [...await this.#rollups(team, gone), ...await this.#agents(team, gone)] };
  }

  /** What to set and delete when differences are taken from what gone runs came to. */
  async adjust(
    team: TeamId,
    differences: readonly RollupRow[],
  ): Promise<Required<Pick<Write, "sets" | "deletes">>> {
    const sums = new Map<string, Sum>();
    for (const row of differences) add(sums, removedKey(team, row), row);
    await this.#addStored(sums);
    const all = [...sums.values()];
    const empty = all.filter(({ row }) => isEmpty(row.measures));
    const kept = all.filter(({ row }) => !isEmpty(row.measures));
    return {
      deletes: empty.map(({ key }) => key),
      sets: kept.map(({ key, row }) => ({ key, value: encodeRollup(row) })),
    };
  }

  async #rollups(team: TeamId, gone: readonly RunUpdate[]): Promise<NonNullable<Write["sets"]>> {
    const sums = new Map<string, Sum>();
    for (const { remains } of gone) {
      const rows = remains?.contribution ? contributionsOf(remains.contribution) : [];
      for (const row of rows) add(sums, removedKey(team, row), row);
    }
    await this.#addStored(sums);
    return [...sums.values()].map(({ key, row }) => ({ key, value: encodeRollup(row) }));
  }

  async #agents(team: TeamId, gone: readonly RunUpdate[]): Promise<NonNullable<Write["sets"]>> {
    const runs = gone.flatMap(({ run: { id }, before, remains }) => {
      const kept = agentRunOf(id, remains ?? null);
      const run = kept ?? agentRunOf(id, before);
      return run === null ? [] : [{ run, isKept: kept !== null }];
    });
    const wanted = [...new Set(runs.map(({ run }) => run.agent))];
    const known = new Map<string, AgentActivity>();
    for (const { key, value } of await this.#read(wanted.map((a) => keys.removedAgent(team, a)))) {
      known.set(String(key[SLUG]), value as AgentActivity);
    }
    for (const { run, isKept } of runs) {
      const before = known.get(run.agent) ?? null;
      // When an agent was last seen stays true of it, whatever became of that run.
      const after = isKept ? addAgentRun(before, null, run) : seenLater(before, run.receivedAt);
      known.set(run.agent, after);
    }
    return Array.from(known, ([slug, value]) => ({ key: keys.removedAgent(team, slug), value }));
  }

  /** Adds the rows there are to sums. */
  async #addStored(sums: Map<string, Sum>): Promise<void> {
    for (const { key, value } of await this.#read([...sums.values()].map(({ key }) => key))) {
      add(sums, key, decodeRollup(String(key[DAY]), value as Uint8Array));
    }
  }

  /** The rows there are of these. */
  async #read(wanted: readonly Deno.KvKey[]): Promise<Deno.KvEntry<unknown>[]> {
    const entries = await getAll(this.#store, wanted);
    return entries.filter((entry) => entry.versionstamp !== null);
  }
}

/** Where the day stands in the key of a roll-up, and the slug in an agent's. */
const DAY = 3, SLUG = 2;

/** The key of what gone runs came to in a roll-up. */
export function removedKey(team: TeamId, { day, group }: RollupRow): Deno.KvKey {
  return keys.removedRollup(team, group.kind, day, keyPart(group));
}

/** A sum on its way to a key. */
interface Sum {
  readonly key: Deno.KvKey;
  row: RollupRow;
}

function add(
  sums: Map<string, Sum>,
  key: Deno.KvKey,
  row: RollupRow,
): void {
  const known = sums.get(keyText(key));
  if (known === undefined) sums.set(keyText(key), { key, row });
  else known.row = { ...row, measures: addMeasures(known.row.measures, row.measures) };
}
