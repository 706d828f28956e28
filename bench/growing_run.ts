/**
 * One run that grows, without HTTP: prints the milliseconds of each thousand batches.
 *
 * Usage: growing_run.ts FILE BATCHES
 */
import { runStoreOf } from "../tests/support/stores.ts";
import { Memory } from "../domain/core/memory.ts";
import { type EventId, type RunId, uuid7Hex } from "../domain/core/ids.ts";
import type { RunEvent } from "../domain/runs/event.ts";
import type { RawJson } from "../domain/core/raw_json.ts";
import { insertTeam } from "../kv/teams/credentials.ts";
import { openStore } from "../kv/open.ts";
import { print } from "./report.ts";

const EVENTS = 10;
const IN_FLIGHT = 4;
const BATCHES_PER_MARK = 1_000;

const hex = () => uuid7Hex(Date.now(), crypto.getRandomValues(new Uint8Array(10)));

function batch(n: number): RunEvent[] {
  return Array.from({ length: EVENTS }, () => ({
    id: `evt_eu_${hex()}` as EventId,
    type: "log",
    ts: Date.now(),
    data: `{"message":"line of batch ${n} that says what the agent did next"}` as RawJson,
    facts: { error: false },
  }));
}

const [file = ":memory:", batches = "5000"] = Deno.args;
const store = await openStore(file, new Memory());
const team = await insertTeam(store, "business");
const runs = runStoreOf(store);

/** Appends batches to a new run; answers the milliseconds of each thousand. */
async function grow(count: number): Promise<number[]> {
  const id = `run_eu_${hex()}` as RunId;
  const marks: number[] = [];
  let [next, done, sinceMs] = [0, 0, performance.now()];
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (next < count) {
      await runs.append(team, id, batch(next++), Date.now());
      if (++done % BATCHES_PER_MARK > 0) continue;
      marks.push(performance.now() - sinceMs);
      sinceMs = performance.now();
    }
  }));
  const { totals } = await runs.read(team, id, null, 1) ?? {};
  if (totals?.events !== EVENTS * count) throw new Error("The run is not complete");
  return marks;
}

// Without a run before it, the first thousand batches would be slowed down by a cold start.
await grow(BATCHES_PER_MARK);
const marks = await grow(Number(batches));
await store.close();
print(JSON.stringify(marks));
