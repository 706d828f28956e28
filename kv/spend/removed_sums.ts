/**
 * Totals of removed runs.
 *
 * Roll-ups and agents outlive the runs they are aggregated from. The totals of removed runs are
 * stored separately, so that the integrity check can recompute each number from stored runs and
 * these rows. They change under the version of the team's roll-ups.
 *
 * @module
 */
import {
  addAgentRun,
  type AgentActivity,
  agentRunOf,
  withLastSeen,
} from "../../domain/agents/activity.ts";
import { contributionsOf, mergeRows, type RollupRow } from "../../domain/spend/rollup.ts";
import { keys } from "../base/keys.ts";
import { keyPart } from "../base/index_parts.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import type { TeamAt } from "../runs/heads.ts";
import { getAll } from "../store.ts";
import type { KvSet, Write } from "../writer/write.ts";
import { changedRow, decodeRollup, encodeRollup } from "./rollups.ts";

/** Returns the rows to set when these runs change; empty unless a run is removed. */
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
