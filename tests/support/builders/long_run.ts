/** Runs with very many events. */
import type { Team } from "../../../domain/teams/team.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { EventId, RunId } from "../../../domain/core/ids.ts";
import type { Store } from "../../../kv/store.ts";
import { runsOf } from "./stored_runs.ts";

/** Batches of a run, each with its arrival in unix milliseconds. */
export type Batches = readonly { readonly events: readonly RunEvent[]; readonly at: number }[];

/** Stores batches of a run. */
export async function fillRun(store: Store, team: Team, id: RunId, batches: Batches) {
  const runs = runsOf(store);
  for (const { events, at } of batches) await runs.append(team, id, events, at);
}

/** Creates a minimal event; its id follows from its number. */
export function aLine(n: number, ts: number): RunEvent {
  const id = `evt_eu_${n.toString(16).padStart(32, "0")}` as EventId;
  return { id, type: "log", ts, data: "{}" as RunEvent["data"], facts: { error: false } };
}

/** Creates batches of equal size, starting at one event, with one arrival. */
export function linesOf(
  from: number,
  batches: number,
  perBatch: number,
  at: number,
  tsOf: (n: number) => number = (n) => at + n,
): Batches {
  return Array.from({ length: batches }, (_, batch) => ({
    at,
    events: Array.from({ length: perBatch }, (_, i) => {
      const n = from + batch * perBatch + i;
      return aLine(n, tsOf(n));
    }),
  }));
}
