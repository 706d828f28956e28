/**
 * Verifies the monitors of a team: each is of an agent, with its row in the due index, and no flip
 * is left of a deleted one. Their states are not recomputed: they depend on outcomes of runs that
 * may be deleted.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { type Monitor, MONITOR_STATES, SIGNALS_MAX } from "../../domain/monitors/monitor.ts";
import { keyParts, keys } from "../base/keys.ts";
import { eachRow, listRows, type Store } from "../store.ts";
import { type Mismatch, NONE } from "./mismatch.ts";

/**
 * Verifies the monitors of a team.
 *
 * @param agents slugs of the team's agents, also of archived ones
 */
export async function verifyMonitors(
  store: Store,
  team: TeamId,
  agents: ReadonlySet<string>,
): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  const monitors = new Set<string>();
  // The clock postpones a row whose look failed, so the row may be later than the monitor says.
  let due: ReadonlySet<string> | null = null;
  for await (const { key, value } of eachRow<Monitor>(store, { prefix: keys.monitors(team) })) {
    const agent = keyParts.name(key);
    const what = `monitor of agent ${agent}`;
    monitors.add(agent);
    if (!agents.has(agent)) mismatches.push({ what, expected: NONE, found: "stored" });
    if (!isReadable(value, agent)) {
      mismatches.push({ what, expected: "readable", found: "not readable" });
    } else if (value.dueAt !== null) {
      due ??= await dueMonitors(store, team);
      if (!due.has(agent)) {
        mismatches.push({ what: `due row of ${what}`, expected: "stored", found: NONE });
      }
    }
  }
  for (const agent of await agentsWithFlips(store, team)) {
    if (monitors.has(agent)) continue;
    mismatches.push({ what: `flips of agent ${agent}`, expected: NONE, found: "stored" });
  }
  return mismatches;
}

function isReadable(monitor: Partial<Monitor> | null, agent: string): monitor is Monitor {
  const { state, signals, dueAt } = monitor ?? {};
  return monitor?.agent === agent && MONITOR_STATES.some((each) => each === state) &&
    Array.isArray(signals) && signals.length <= SIGNALS_MAX &&
    (dueAt === null || Number.isSafeInteger(dueAt));
}

/** Returns the agents of a team whose monitors have a row in the due index. */
async function dueMonitors(store: Store, team: TeamId): Promise<ReadonlySet<string>> {
  const agents = new Set<string>();
  for await (const { key } of eachRow(store, { prefix: keys.dueRows() })) {
    const row = keyParts.due(key);
    if (row.kind === "monitor" && row.team === team) agents.add(row.name);
  }
  return agents;
}

/** Returns the agents of a team that have flips: one read each, however many flips there are. */
async function agentsWithFlips(store: Store, team: TeamId): Promise<string[]> {
  const agents: string[] = [];
  for (;;) {
    const range = keys.agentsAfter(keys.teamFlips(team), agents.at(-1) ?? null);
    const [first] = await listRows(store, range, { limit: 1 });
    if (first === undefined) return agents;
    agents.push(keyParts.name(first.key));
  }
}
