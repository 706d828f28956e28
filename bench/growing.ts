/** Measures one growing run without HTTP: how fast its first and its last batches are stored. */
import { runStoreOf } from "../tests/support/harness/stores.ts";
import { Memory } from "../domain/core/memory.ts";
import type { RawJson } from "../domain/core/raw_json.ts";
import { type EventId, type RunId, uuid7Hex } from "../domain/core/ids.ts";
import type { RunEvent } from "../domain/runs/event.ts";
import type { RunStore } from "../domain/runs/store.ts";
import type { Team } from "../domain/teams/team.ts";
import { insertTeam } from "../kv/teams/credentials.ts";
import { openStore } from "../kv/open.ts";
import type { IngestPart, IngestPlan } from "./options.ts";
import { atLeast, say } from "./report.ts";

const BATCHES = 5_000;
const BATCHES_PER_MARK = 1_000;
const EVENTS_PER_BATCH = 10;
const IN_FLIGHT = 4;
const RATIO_MIN = 0.7;

export async function measureGrowing({ folder }: IngestPlan): Promise<IngestPart> {
  say(`growing: one run, ${BATCHES} batches of ${EVENTS_PER_BATCH} events …`);
  const store = await openStore(`${folder}/growing.kv`, new Memory());
  const team = await insertTeam(store, "business");
  const runs = runStoreOf(store);
  // Warm up: a cold start would slow down the first thousand batches.
  await grow(runs, team, BATCHES_PER_MARK);
  const marksMs = await grow(runs, team, BATCHES);
  await store.close();
  const ratio = (marksMs[0] ?? NaN) / (marksMs.at(-1) ?? NaN);
  const name = "one run growing to 50,000 events: last 1,000 batches ÷ first";
  return { rows: [], bars: [atLeast(name, RATIO_MIN, [ratio])] };
}

/** Appends batches to a new run; returns the milliseconds of each thousand. */
async function grow(runs: RunStore, team: Team, count: number): Promise<number[]> {
  const id = `run_eu_${newHex()}` as RunId;
  const marksMs: number[] = [];
  let [next, done, sinceMs] = [0, 0, performance.now()];
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (next < count) {
      await runs.append(team, id, batchOf(next++), Date.now());
      if (++done % BATCHES_PER_MARK > 0) continue;
      marksMs.push(performance.now() - sinceMs);
      sinceMs = performance.now();
    }
  }));
  return marksMs;
}

function batchOf(n: number): RunEvent[] {
  return Array.from({ length: EVENTS_PER_BATCH }, () => ({
    id: `evt_eu_${newHex()}` as EventId,
    type: "log",
    ts: Date.now(),
    data: `{"message":"line of batch ${n} that says what the agent did next"}` as RawJson,
    facts: { error: false },
  }));
}

function newHex(): string {
  return uuid7Hex(Date.now(), crypto.getRandomValues(new Uint8Array(10)));
}
