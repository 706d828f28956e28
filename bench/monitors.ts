/** Measures how long the clock takes for monitors that are all due in one minute. */
import { Memory } from "../runtime/memory.ts";
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { createMonitor, nextDueAt } from "../domain/monitors/monitor.ts";
import { Clock } from "../jobs/clock.ts";
import { ALWAYS } from "../runtime/loop.ts";
import { keys } from "../kv/base/keys.ts";
import { createClockStore } from "../kv/clock/store.ts";
import { dueSet } from "../kv/clock/due_rows.ts";
import { createMonitorLooks } from "../kv/monitors/looks.ts";
import { type OpenStore, openStore } from "../kv/open.ts";
import { findOpenRuns } from "../kv/run_list/open_runs.ts";
import { RunUpdater } from "../kv/summaries/run_updater.ts";
import type { KvSet } from "../kv/writer/write.ts";
import { atMost, type Bar, type BenchOptions, say } from "./report.ts";

const MONITORS = 10_000;

/** Outcomes that each monitor keeps. */
const OUTCOMES = 32;

/** Seconds within which all are handled. */
const SECONDS_MAX = 10;

const MINUTE_MS = 60_000, HOUR_MS = 3_600_000;

/** Measures monitors of one team and of many. */
export async function bench({ folder }: BenchOptions): Promise<Bar[]> {
  const bars: Bar[] = [];
  for (const teams of [1, 1_000]) {
    const store = await openStore(`${folder}/monitors-${teams}.kv`, new Memory());
    try {
      const seconds = await measureLooks(store, teams);
      const name = `${MONITORS} monitors of ${teams} teams are late, s`;
      say(`${name}: ${seconds.toFixed(1)}`);
      bars.push(atMost(name, SECONDS_MAX, seconds));
    } finally {
      await store.close();
    }
  }
  return bars;
}

/** Returns the seconds until all monitors that are due have changed. */
async function measureLooks(store: OpenStore, teams: number): Promise<number> {
  const startMs = Date.now() - 2 * HOUR_MS;
  await fill(store, teams, startMs);
  const changes = new RunUpdater(store, null);
  const looks = createMonitorLooks({
    store,
    changes,
    findOpenRuns: (...args) => findOpenRuns(store, ...args),
  });
  const clock = new Clock({
    store: createClockStore(store, HOUR_MS),
    handlers: [looks],
    turn: ALWAYS,
    // The last ones are late, and none is down.
    now: () => startMs + HOUR_MS + MINUTE_MS,
    log: say,
  });
  const beginMs = performance.now();
  clock.start();
  await clock.idle();
  const seconds = (performance.now() - beginMs) / 1_000;
  await clock.stop();
  return seconds;
}

/** Stores monitors that become late within one minute, an hour after `startMs`. */
async function fill(store: OpenStore, teams: number, startMs: number): Promise<void> {
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
    const monitor = { ...made, signals, dueAt: nextDueAt(made, at, 0) };
    sets.push({ key: keys.monitor(team, name), value: monitor });
    if (monitor.dueAt !== null) {
      sets.push(dueSet({ at: monitor.dueAt, kind: "monitor", team, name }));
    }
    if (sets.length < 200 && n < MONITORS - 1) continue;
    await store.writer.commit({ sets });
    sets = [];
  }
}
