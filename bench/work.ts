/**
 * Measures the work queue: monitors that are all due in one minute, and a delivery behind runs that are
 * due. Over a file, and over a shared KV whose requests take a round trip.
 */
import { WebhookReceiver } from "../tests/support/fakes/webhook_receiver.ts";
import { denokvCommand, KvProcess } from "../tests/support/fakes/denokv.ts";
import { asKvClient } from "../tests/support/fakes/kv_client.ts";
import { LOOPBACK } from "../tests/support/builders/alerts.ts";
import { Instance } from "../tests/support/harness/instance.ts";
import { Memory } from "../runtime/memory.ts";
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { createMonitor, nextDueAt } from "../domain/monitors/monitor.ts";
import { runOutcome, withRunOutcome } from "../domain/monitors/row.ts";
import { monitorRow } from "../kv/agents/agents.ts";
import { workSet } from "../kv/work/store.ts";
import { type OpenStore, openStore } from "../kv/open.ts";
import { storedRows, teamSet } from "../kv/team/team_rows.ts";
import type { KvSet } from "../kv/writer/group.ts";
import { atMost, type Bar, type BenchOptions, print, say } from "./report.ts";
import { createBenchService } from "./service.ts";
import { newId } from "./volume.ts";

const MONITORS = 10_000;

/** Outcomes that each monitor keeps. */
const OUTCOMES = 32;

/** Due rows of runs before the delivery. */
const RUNS = 100_000;

/** Milliseconds of a round trip to the shared KV. */
const ROUND_TRIP_MS = 3;

/** Maximum seconds until all monitors are handled, and until the delivery arrives. */
const SECONDS_MAX = { file: 4.2, shared: 15, delivery: 2 } as const;

const ROWS_PER_COMMIT = 100;

const MINUTE_MS = 60_000, HOUR_MS = 3_600_000;

/** Measures monitors of one team and of many, and the delivery. */
export async function bench({ folder }: BenchOptions): Promise<Bar[]> {
  const bars: Bar[] = [];
  for (const teams of [1, 1_000]) {
    const seconds = await lateMonitors(`${folder}/monitors-${teams}.kv`, teams);
    bars.push(atMost(`${MONITORS} monitors of ${teams} teams, file, s`, SECONDS_MAX.file, seconds));
  }
  const denokv = denokvCommand();
  print(`KV: ${denokv ?? "the tests' server"}\n`);
  for (const teams of [1, 1_000]) {
    await using shared = await startShared(folder, denokv);
    const seconds = await lateMonitors(shared.url, teams, shared.slow);
    const name = `${MONITORS} monitors of ${teams} teams, ${ROUND_TRIP_MS} ms a trip, s`;
    bars.push(atMost(name, SECONDS_MAX.shared, seconds));
  }
  await using shared = await startShared(folder, denokv);
  const name = `a delivery behind ${RUNS} due runs, ${ROUND_TRIP_MS} ms a trip, s`;
  bars.push(atMost(name, SECONDS_MAX.delivery, await deliverySeconds(shared.url, shared.slow)));
  return bars;
}

/** Starts a KV server; its round trip is short until `slow` is called. */
async function startShared(folder: string, denokv: string | null) {
  await using stack = new AsyncDisposableStack();
  const kv = stack.use(await KvProcess.start(await Deno.makeTempDir({ dir: folder }), denokv));
  const network = new Worker(new URL("./network_thread.ts", import.meta.url), { type: "module" });
  stack.defer(() => network.terminate());
  network.postMessage(kv.origin);
  const origin = await new Promise<string>((resolve) => {
    network.onmessage = ({ data }) => resolve(data);
  });
  const all = stack.move();
  return {
    url: `${origin}${kv.path}`,
    slow: () => network.postMessage(ROUND_TRIP_MS),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Returns the seconds until all monitors of some teams are handled. */
async function lateMonitors(location: string, teams: number, begin = () => {}): Promise<number> {
  const store = await asKvClient(() => openStore(location, new Memory()));
  await fillMonitors(store, teams);
  begin();
  const service = createBenchService(store, { log: say });
  const beginMs = performance.now();
  service.start();
  await service.work.idle();
  const seconds = (performance.now() - beginMs) / 1_000;
  await service.stop();
  await store.close();
  return seconds;
}

/** Returns the seconds from a finish to its message, while rows of runs are due. */
async function deliverySeconds(url: string, begin: () => void): Promise<number> {
  await using receiver = WebhookReceiver.start();
  await using service = await Instance.start(url, { egress: LOOPBACK, isIdle: true });
  const channel = { type: "webhook", url: receiver.url, default: true };
  await service.call("PUT", "/v1/channels/ops", channel);
  const rule = { kind: "run_failed", params: { consecutive: 1 }, group_by: "agent" };
  await service.call("PUT", "/v1/rules/failed", rule);
  const at = Date.now() - MINUTE_MS;
  await commitAll(
    service.store,
    RUNS,
    () => [workSet({ at, kind: "run", team: service.team.id, name: newId("run", at) })],
  );
  begin();
  service.service.start();
  const beginMs = performance.now();
  await service.call("POST", "/v1/heartbeats", { agent: "nightly", status: "fail" });
  await receiver.until((received) => received.length > 0);
  return (performance.now() - beginMs) / 1_000;
}

/** Stores monitors that became late within one minute: none is down. */
async function fillMonitors(store: OpenStore, teams: number): Promise<void> {
  const startMs = Date.now() - HOUR_MS - MINUTE_MS;
  const settings = {
    schedule: { everySeconds: HOUR_MS / 1_000 },
    graceSeconds: 600,
    maxRuntimeSeconds: null,
    failureThreshold: 1,
    recoveryThreshold: 1,
    enabled: true,
  };
  const runs = Array.from({ length: OUTCOMES }, () => newId("run", startMs) as RunId);
  await commitAll(store, MONITORS, (n) => {
    const [team, name] = [`team-${n % teams}` as TeamId, `agent-${n}`];
    const at = startMs + Math.floor(n * MINUTE_MS / 2 / MONITORS);
    const last = { lastArrivalAt: at, lastOkAt: at };
    let { monitor } = createMonitor(name, `mon_${n}`, settings, { by: "bench", at }, last);
    for (const [i, run] of runs.entries()) {
      monitor = withRunOutcome(monitor, runOutcome("good", run, at + 1 + i));
    }
    const dueAt = nextDueAt(monitor, at, 0) ?? NaN;
    return [
      ...storedRows([teamSet(monitorRow(team, name), { ...monitor, dueAt })]).sets,
      workSet({ at: dueAt, kind: "monitor", team, name }),
    ];
  });
}

/** Commits the rows of `count` things. */
async function commitAll(
  store: OpenStore,
  count: number,
  rowsOf: (n: number) => readonly KvSet[],
): Promise<void> {
  for (let n = 0; n < count; n += ROWS_PER_COMMIT) {
    const some = Array.from({ length: ROWS_PER_COMMIT }, (_, i) => rowsOf(n + i));
    await store.writer.commit({ sets: some.flat() });
  }
}
