/**
 * Finding an agent's last run again after it was deleted, or turned out to start earlier.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import {
  type AgentActivity,
  agentRunOf,
  type LastRun,
  laterRun,
} from "../../domain/agents/activity.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import { agentPart } from "../base/index_parts.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { getMany, listRows, type Store } from "../store.ts";

/**
 * The run of an agent that started last, of those stored and those that went by age; null for none.
 *
 * @param gone runs that are left out: they are just being changed or deleted
 */
export async function lastRunOf(
  store: Store,
  team: TeamId,
  slug: string,
  gone: ReadonlySet<RunId>,
): Promise<LastRun | null> {
  const [removed] = await getMany(store, [keys.removedAgent(team, slug)]);
  const swept = (removed?.value as AgentActivity | null | undefined)?.lastRun ?? null;
  const range = { prefix: keys.runsBy(team, "agent", agentPart(slug)) };
  const rows = await listRows(store, range, { limit: gone.size + 1, reverse: true });
  const id = rows.map(({ key }) => key.at(-1) as RunId).find((each) => !gone.has(each));
  return laterRun(swept, id === undefined ? null : await startOf(store, team, id));
}

async function startOf(store: Store, team: TeamId, id: RunId): Promise<LastRun | null> {
  const [entry] = await getMany(store, [keys.summary(team, id)]);
  const summary = entry?.value instanceof Uint8Array ? decodeSums<RunSummary>(entry.value) : null;
  const run = agentRunOf(id, summary);
  if (run === null) return null;
  const { status, startedAt, sortedAt } = run;
  return { id, status, startedAt, sortedAt };
}
