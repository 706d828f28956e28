/** Measures how long the clock takes for monitors that are all due in one minute. */
import { Memory } from "../runtime/memory.ts";
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { createMonitor, nextDueAt } from "../domain/monitors/monitor.ts";
import { keys } from "../kv/base/keys.ts";
import { workSet } from "../kv/work/store.ts";
import { type OpenStore, openStore } from "../kv/open.ts";
import type { KvSet } from "../kv/writer/group.ts";
import { atMost, type Bar, type BenchOptions, say } from "./report.ts";
import { createBenchService } from "./service.ts";

const MONITORS = 10_000;

/** Outcomes that each monitor keeps. */
const OUTCOMES = 32;

/** Seconds within which all are handled. */
const SECONDS_MAX = 10;

/** Monitors of a commit. */
const MONITORS_PER_COMMIT = 100;

const MINUTE_MS = 60_000, HOUR_MS = 3_600_000;

/** Measures monitors of one team and of many. */
export async function bench({ folder }: BenchOptions): Promise<Bar[]> {
  const bars: Bar[] = [];
  for (const teams of [1, 1_000]) {
    const store = await openStore(`${folder}/monitors-${teams}.kv`, new Memory());
    await fill(store, teams);
    const service = createBenchService(store, { log: say });
    const beginMs = performance.now();
    service.start();
    await service.work.idle();
    const seconds = (performance.now() - beginMs) / 1_000;
    await service.stop();
    await store.close();
    bars.push(atMost(`${MONITORS} monitors of ${teams} teams are late, s`, SECONDS_MAX, seconds));
  }
  return bars;
}

/** Stores monitors that became late within one minute: none is down. */
async function fill(store: OpenStore, teams: number): Promise<void> {
  const startMs = Date.now() - HOUR_MS - MINUTE_MS;
  const settings = {
    schedule: { everySeconds: HOUR_MS / 1_000 },
    graceSeconds: 600,
    maxRuntimeSeconds: null,
    failureThreshold: 1,
    recoveryThreshold: 1,
    enabled: true,
  };
  let sets: KvSet[] = [];
  for (let n = 0; n < MONITORS; n++) {
    const [team, name] = [`team-${n % teams}` as TeamId, `agent-${n}`];
    const at = startMs + Math.floor(n * MINUTE_MS / 2 / MONITORS);
    const last = { lastArrivalAt: at, lastOkAt: at };
    const made = createMonitor(name, `mon_${n}`, settings, { by: "bench", at }, last).monitor;
    const signals = Array.from({ length: OUTCOMES }, (_, i) => ({
      at,
      run: `run_eu_${String(i).padStart(32, "0")}` as RunId,
      outcome: "ok" as const,
    }));
    const dueAt = nextDueAt(made, at, 0) ?? NaN;
    sets.push({ key: keys.monitor(team, name), value: { ...made, signals, dueAt } });
    sets.push(workSet({ at: dueAt, kind: "monitor", team, name }));
    if ((n + 1) % MONITORS_PER_COMMIT > 0) continue;
    await store.writer.commit({ sets });
    sets = [];
  }
}
