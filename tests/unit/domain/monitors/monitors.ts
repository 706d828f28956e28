/** Builds monitors and their signals. */
import type { RunId } from "../../../../domain/core/ids.ts";
import {
  addSignals,
  createMonitor,
  type Flip,
  lookAt,
  type Monitor,
  type MonitorChange,
  type MonitorSettings,
  type Signal,
} from "../../../../domain/monitors/monitor.ts";

/** Instant of the creation in these tests. */
export const T0 = Date.parse("2026-05-01T00:00:00Z");
export const SECOND = 1_000, MINUTE = 60_000, HOUR = 3_600_000;

/** Settings of a run each hour with 10 minutes of grace. */
export function settings(changes: Partial<MonitorSettings> = {}): MonitorSettings {
  return {
    schedule: { everySeconds: 3_600 },
    graceSeconds: 600,
    maxRuntimeSeconds: null,
    failureThreshold: 1,
    recoveryThreshold: 1,
    enabled: true,
    ...changes,
  };
}

/** A monitor of an agent that has, or had, outcomes. */
export function created(
  changes: Partial<MonitorSettings> = {},
  lastArrivalAt: number | null = T0 - HOUR,
): Monitor {
  const last = { lastArrivalAt, lastOkAt: lastArrivalAt };
  return createMonitor("a", "mon_eu_1", settings(changes), { at: T0, by: "k" }, last).monitor;
}

export function signal(at: number, outcome: Signal["outcome"], run = at - T0): Signal {
  const name = `run_eu_${run.toString(16).padStart(32, "0")}` as RunId;
  return { at, run: name, outcome };
}

export function turn(nowMs: number, absences: readonly { fromMs: number; untilMs: number }[] = []) {
  return { nowMs, absences, summarizedToMs: nowMs };
}

/** The flips of a change in short: instant from T0 in seconds, from, to, reason. */
export function short(flips: readonly Flip[]): string[] {
  return flips.map(({ at, from, to, reason }) => `${(at - T0) / SECOND} ${from}>${to} ${reason}`);
}

/** A monitor that is counted and looked at in turn. */
export class Watched {
  readonly flips: Flip[] = [];

  constructor(public monitor: Monitor) {}

  do(change: MonitorChange | null): this {
    if (change === null) throw new Error("nothing differs");
    this.monitor = change.monitor;
    this.flips.push(...change.flips);
    return this;
  }

  add(...signals: Signal[]): this {
    return this.do(addSignals(this.monitor, signals));
  }

  look(nowMs: number, absences: readonly { fromMs: number; untilMs: number }[] = []): this {
    return this.do(lookAt(this.monitor, turn(nowMs, absences)));
  }
}
