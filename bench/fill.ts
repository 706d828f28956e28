/**
 * Fills a file with runs that began and ended over the last month, as the service stores them.
 *
 * Usage: fill.ts FILE FROM TO; stores runs number FROM to TO and prints the seconds it took.
 */
import { runStoreOf } from "../tests/support/stores.ts";
import { Memory } from "../domain/core/memory.ts";
import { type RunId, uuid7Hex } from "../domain/core/ids.ts";
import { createCredentialStore } from "../kv/teams/credentials.ts";
import { openStore } from "../kv/open.ts";
import { print, say } from "./report.ts";
import { createTeams, keyOf } from "./service.ts";

const IN_FLIGHT = 256;
const RUNS_PER_SAY = 100_000;
const MONTH_MS = 30 * 86_400_000;
/** Runs are spread over the month as if so many were to come. */
const RUNS_IN_MONTH = 1_000_000;

const [file = ":memory:", from = "0", to = "0"] = Deno.args;
const store = await openStore(file, new Memory());
await createTeams(store, 1);
const environment = { now: () => Date.now(), random: (bytes: number) => new Uint8Array(bytes) };
const credentials = createCredentialStore(store, environment, {
  region: "eu",
  refusedSecret: null,
});
const principal = await credentials.find(keyOf(1));
if (principal === null) throw new Error("There is no team to fill the file for");
const { team } = principal;
const runs = runStoreOf(store);
const startMs = performance.now();
const firstMs = Date.now() - MONTH_MS;
let next = Number(from);
await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
  while (next < Number(to)) {
    const n = next++;
    if (n > 0 && n % RUNS_PER_SAY === 0) say(`growth: ${n} runs are stored …`);
    const at = firstMs + Math.floor(n % RUNS_IN_MONTH * MONTH_MS / RUNS_IN_MONTH);
    const id = `run_eu_${uuid7Hex(at, crypto.getRandomValues(new Uint8Array(10)))}` as RunId;
    // A heartbeat stores both parts of a run at once.
    const request = { id, agent: "nightly", status: "ok", startedAt: at, reported: {} } as const;
    const { kind } = await runs.heartbeat(team, request, at);
    if (kind !== "stored") throw new Error(`Run ${n} was not stored: ${kind}`);
  }
}));
const seconds = (performance.now() - startMs) / 1000;
await store.close();
print(JSON.stringify(seconds));
