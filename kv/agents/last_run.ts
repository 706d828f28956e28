/**
 * Finds an agent's last run after the known one was deleted or got an earlier start.
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
import { getValue, listRows, type Store } from "../store.ts";

/**
 * Returns an agent's run with the latest start, stored or expired; null if there is none.
 *
 * @param excluded runs to skip, because they are being changed or deleted
 */
export async function lastRunOf(
  store: Store,
  team: TeamId,
  slug: string,
  excluded: ReadonlySet<RunId>,
): Promise<LastRun | null> {
  const removed = await getValue<AgentActivity>(store, keys.removedAgent(team, slug));
  const swept = removed?.lastRun ?? null;
  const range = { prefix: keys.runsBy(team, "agent", agentPart(slug)) };
  const rows = await listRows(store, range, { limit: excluded.size + 1, reverse: true });
  const id = rows.map(({ key }) => key.at(-1) as RunId).find((runId) => !excluded.has(runId));
  return laterRun(swept, id === undefined ? null : await startOf(store, team, id));
}

async function startOf(store: Store, team: TeamId, id: RunId): Promise<LastRun | null> {
  const stored = await getValue<Uint8Array>(store, keys.summary(team, id));
  const run = agentRunOf(id, stored && decodeSums<RunSummary>(stored));
  if (run === null) return null;
  const { status, startedAt, sortedAt } = run;
  return { id, status, startedAt, sortedAt };
}
