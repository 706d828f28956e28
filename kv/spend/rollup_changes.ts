/**
 * Changes of a team's roll-ups, and of the totals of removed runs, within a commit.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { contributionsOf, mergeRows, type RollupRow } from "../../domain/spend/rollup.ts";
import { keys } from "../base/keys.ts";
import { changedRow, decodeRollup, encodeRollup, rollupRow } from "./rollups.ts";
import { getAll } from "../store.ts";
import { type TeamRows, type TeamSet, teamSet } from "../team/rows.ts";
import type { KvSet, Write } from "../writer/group.ts";
import {
  addAgentRun,
  type AgentActivity,
  agentRunOf,
  withLastSeen,
} from "../../domain/agents/activity.ts";
import { keyPart } from "../index/entries.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import type { TeamAt } from "../runs/heads.ts";

/** Roll-ups within a commit. */
export interface RollupChange {
  readonly rows: readonly TeamSet[];
  /** Marks of changed days. */
  readonly sets: readonly KvSet[];
}

/** Adds differences to a team's roll-ups; removes rows that become empty. */
export async function changeRollups(
  rows: TeamRows,
  team: TeamId,
  differences: readonly RollupRow[],
): Promise<RollupChange> {
  const keyed = differences.map((row) => rollupRow(team, row));
  const before = await rows.getAll(keyed);
  return {
    rows: keyed.map((key, i) =>
      teamSet(key, changedRow(before[i] ?? null, differences[i] as RollupRow))
    ),
    sets: dayMarks(team, differences),
  };
}

/** Returns the rows that mark days as changed. Only their versions are read. */
function dayMarks(team: TeamId, differences: readonly RollupRow[]): KvSet[] {
  const days = new Set(differences.map(({ day }) => day));
  return Array.from(days, (day) => ({ key: keys.rollupDay(team, day), value: true }));
}

/**
 * Returns the rows to change when runs are removed, or spend of runs that were removed before.
 *
 * Roll-ups and agents outlive the runs they are aggregated from. The totals of removed runs are
 * stored separately, so that the integrity check can recompute each number from stored runs and
 * these rows.
 *
 * @param spend differences, one row per group
 */
export async function changeRemovedRuns(
  at: TeamAt,
  changes: readonly RunUpdate[],
  spend: readonly RollupRow[],
): Promise<Required<Pick<Write, "sets" | "deletes">>> {
  const { store, team } = at;
  const removed = changes.filter(({ after }) => after === null);
  const rows = removed.flatMap(({ remains }) =>
    remains?.contribution ? contributionsOf(remains.contribution) : []
  );
  const differences = mergeRows([...rows, ...spend]);
  const stored = await getAll(
    store,
    differences.map(({ day, group }) => keys.removedRollup(team, group.kind, day, keyPart(group))),
  );
  const sets: KvSet[] = await agentSets(at, removed);
  const deletes: Deno.KvKey[] = [];
  for (const [i, { key, value }] of stored.entries()) {
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
