/** Builds monitors and their outcomes. */
import type { RunId } from "../../../../domain/core/ids.ts";
import type { Outcome } from "../../../../domain/outcomes/window.ts";
import {
  addOutcomes,
  createMonitor,
  evaluateMonitor,
  type Flip,
  type Monitor,
  type MonitorChange,
  type MonitorSettings,
  runOutcome,
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

/** Kinds of outcomes of runs. */
export type Kind = Parameters<typeof runOutcome>[0];

export function outcome(at: number, kind: Kind, run = at - T0): Outcome {
  return runOutcome(kind, `run_eu_${run.toString(16).padStart(32, "0")}` as RunId, at);
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

  add(...outcomes: Outcome[]): this {
    return this.do(addOutcomes(this.monitor, outcomes));
  }

  evaluate(nowMs: number, absences: readonly { fromMs: number; untilMs: number }[] = []): this {
    return this.do(evaluateMonitor(this.monitor, turn(nowMs, absences)));
  }
}
