/**
 * The nightly sweep (decision 40): removes what plans keep no longer, a little at a time.
 *
 * How far it is stands in the store with a version, so of several processes one sweeps, and what a killed
 * one left is taken up again. It has a loop of its own, and rests while calls come in.
 */
import type { Team } from "../domain/credentials.ts";
import { StorageUnavailable } from "../domain/errors.ts";
import { type Horizon, HORIZONS } from "../domain/retention/retention.ts";
import {
  addSwept,
  isSweepDue,
  nightOf,
  NOTHING_SWEPT,
  type ReadReport,
  type SweepCounts,
  type SweepReport,
  type SweepStore,
  untilNextNight,
} from "../domain/retention/sweep.ts";
import { Alarm } from "./alarm.ts";

/** What the job is built from. */
export interface SweepDeps {
  readonly store: SweepStore;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** How many commits of calls there were so far: whether calls come in. */
  readonly calls: () => number;
  /** Takes one line about how far it is. */
  readonly log: (line: string) => void;
  /** Told of each step that is done. */
  readonly onStep?: (step: SweptStep) => void;
}

/** What one step of a sweep removed, or would. */
export interface SweptStep {
  readonly team: Team;
  readonly horizon: Horizon;
  readonly counts: SweepCounts;
}

/** Goes through all that is due of a team, a step each time it is asked for one. */
export async function* sweepTeam(
  store: Pick<SweepStore, "step">,
  team: Team,
  nowMs: number,
  dryRun: boolean,
): AsyncGenerator<SweptStep> {
  for (const horizon of HORIZONS) {
    let from: object | null = null;
    do {
      const { counts, next } = await store.step(team, horizon, nowMs, from, dryRun);
      yield { team, horizon, counts };
      from = next;
    } while (from !== null);
  }
}

/** Rest after a step while calls come in, as a multiple of the time it took: a tenth of it is work. */
const REST = 9;

/** Milliseconds between two words about how far it is. */
const TELL_MS = 10_000;

/** Milliseconds after which it looks again whether a night has begun, or another sweep fell silent. */
const CLOCK_MS = 60_000;

/** Milliseconds of rest after the store failed. */
const FAILURE_PAUSE_MS = 5_000;

/** The job. Always stop it before the store closes. */
export class SweepJob {
  readonly #deps: SweepDeps;
  readonly #alarm = new Alarm();
  #stopped = false;
  #running: Promise<void> | null = null;

  /** A job that does nothing yet. */
  constructor(deps: SweepDeps) {
    this.#deps = deps;
  }

  /** Begins, with the present night if nobody swept it. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Finishes the step under way and stops. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#alarm.ring();
    await this.#running;
  }

  /** Sweeps the present night, unless it is swept; answers its report when this call finished it. */
  sweepIfDue(): Promise<SweepReport | null> {
    return this.#begin(isSweepDue);
  }

  /** Sweeps also a night that is swept, or that another process is at, which stops then. */
  sweepNow(): Promise<SweepReport | null> {
    return this.#begin(() => true);
  }

  async #begin(isWanted: typeof isSweepDue): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    // Also what a killed process left of a delete.
    await store.resume();
    const startedAt = now();
    const night = nightOf(startedAt);
    const known = await store.report(night);
    if (!isWanted(known?.report ?? null, startedAt)) return null;
    const counts = known?.report.counts ?? NOTHING_SWEPT;
    const report = { night, startedAt, toldAt: startedAt, finishedAt: null, teams: 0, counts };
    const begun = await store.tell(known, report);
    return begun === null ? null : await this.#sweep(begun);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      let pauseMs = CLOCK_MS;
      try {
        await this.sweepIfDue();
        pauseMs = Math.min(CLOCK_MS, untilNextNight(this.#deps.now()));
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) this.#tell({ failure: String(error) });
        pauseMs = FAILURE_PAUSE_MS;
      }
      if (!this.#stopped) await this.#alarm.wait(pauseMs);
    }
  }

  /** Sweeps all teams; null when it stops before its end, or another process took over. */
  async #sweep(begun: ReadReport): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    let told: ReadReport | null = begun;
    const tell = async (report: SweepReport) => {
      told = told && await store.tell(told, report);
      if (told !== null) this.#tell({ ...report });
      return told !== null;
    };
    let report = begun.report;
    for await (const team of store.teams()) {
      for await (const counts of this.#steps(team, begun.report.startedAt)) {
        report = { ...report, counts: addSwept(report.counts, counts) };
        if (now() - report.toldAt < TELL_MS) continue;
        report = { ...report, toldAt: now() };
        if (!await tell(report)) return null;
      }
      if (this.#stopped) {
        await tell({ ...report, toldAt: now() });
        return null;
      }
      report = { ...report, teams: report.teams + 1 };
    }
    const finishedAt = now();
    report = { ...report, toldAt: finishedAt, finishedAt };
    return await tell(report) ? report : null;
  }

  /** Sweeps a team step by step, with rests; ends early when the job stops. */
  async *#steps(team: Team, nowMs: number): AsyncGenerator<SweepCounts> {
    if (this.#stopped) return;
    let [startMs, calls] = [performance.now(), this.#deps.calls()];
    for await (const step of sweepTeam(this.#deps.store, team, nowMs, false)) {
      this.#deps.onStep?.(step);
      yield step.counts;
      if (this.#deps.calls() !== calls) {
        await this.#alarm.wait(REST * (performance.now() - startMs));
      }
      if (this.#stopped) return;
      [startMs, calls] = [performance.now(), this.#deps.calls()];
    }
  }

  #tell(line: Record<string, unknown>): void {
    this.#deps.log(JSON.stringify({ at: new Date(this.#deps.now()).toISOString(), sweep: line }));
  }
}
