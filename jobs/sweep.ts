/**
 * The nightly sweep (decision 40): removes what plans keep no longer, a little at a time.
 *
 * How far it is stands in the store with a version, so of several processes one sweeps, and what a killed
 * one left is taken up again. It has a loop of its own, and rests while calls come in.
 *
 * What it removes is gone, and the machine's clock may be wrong. So it judges ages by a clock of its own
 * in the store, which follows the machine's by one bounded step a sweep, and sweeps are apart by process
 * time, which no clock can change.
 */
import type { Team } from "../domain/teams/team.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import { RETENTION_CLASSES, type RetentionClass } from "../domain/retention/retention.ts";
import {
  addSwept,
  EMPTY_SWEEP,
  isEmptySweep,
  isSweepDue,
  nextSweepClock,
  nightOf,
  type ReadReport,
  SWEEP_GAP_MS,
  type SweepClock,
  type SweepClockMove,
  type SweepCounts,
  type SweepReport,
  type SweepStore,
  untilNextNight,
} from "../domain/retention/sweep.ts";
import { jobLine, Loop } from "./loop.ts";

/** What the job is built from. */
export interface SweepDeps {
  readonly store: SweepStore;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds of process time: of a clock that nobody sets. */
  readonly processMs: () => number;
  /** How many commits of calls there were so far: whether calls come in. */
  readonly calls: () => number;
  /** Takes one line about how far it is. */
  readonly log: (line: string) => void;
  /** True if reports of nothing removed stay out of the log. */
  readonly quiet?: boolean;
  /** Told of each step that is done. */
  readonly onStep?: (step: SweptStep) => void;
}

/** What one step of a sweep removed, or would. */
export interface SweptStep {
  readonly team: Team;
  readonly retentionClass: RetentionClass;
  readonly counts: SweepCounts;
}

/** Goes through all that is due of a team, a step each time it is asked for one. */
export async function* sweepTeam(
  store: Pick<SweepStore, "step">,
  team: Team,
  nowMs: number,
  dryRun: boolean,
): AsyncGenerator<SweptStep> {
  for (const retentionClass of RETENTION_CLASSES) {
    let from: object | null = null;
    do {
      const { counts, next } = await store.step(team, retentionClass, nowMs, from, dryRun);
      yield { team, retentionClass, counts };
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

/** Deletes sessions that are over, a step each time it is asked for one. */
async function* forgetSessions(
  store: Pick<SweepStore, "forgetSessions">,
  nowMs: number,
): AsyncGenerator<object | null> {
  let from: object | null = null;
  do {
    from = await store.forgetSessions(nowMs, from);
    yield from;
  } while (from !== null);
}

/** The clock of sweeps as this process knows it. */
interface SeenClock {
  /** Its version; null for none. */
  readonly version: string | null;
  /** Process time at which it was first seen so. */
  readonly sinceMs: number;
  /** True if it is as this process found it first. */
  readonly isOfStart: boolean;
}

/** The job. Always stop it before the store closes. */
export class SweepJob {
  readonly #deps: SweepDeps;
  readonly #loop: Loop;
  #seen: SeenClock | null = null;

  /** Creates a job that does nothing yet. */
  constructor(deps: SweepDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      step: async () => {
        await this.sweepIfDue();
        await this.#loop.wait(Math.min(CLOCK_MS, untilNextNight(deps.now())));
      },
      failed: (error) => {
        // A store that fails is logged by the worker.
        if (!(error instanceof StorageUnavailable)) this.#log("The sweep goes on later", error);
        return FAILURE_PAUSE_MS;
      },
    });
  }

  /** Begins, with the present night if nobody swept it. */
  start(): void {
    void this.#loop.start();
  }

  /** Finishes the step under way and stops. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * Sweeps the present night, unless it is swept or the sweep before is too recent; answers its report
   * when this call finished it. A ledger without a clock of sweeps gets one, and nothing is swept.
   */
  async sweepIfDue(): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    // Also what a killed process left of a delete.
    await store.resume();
    const nowMs = now();
    const [known, clock] = await Promise.all([store.report(nightOf(nowMs)), store.clock()]);
    const mayMove = this.#mayMove(clock, nowMs);
    if (clock === null) {
      await store.startClock(nowMs);
      return null;
    }
    if (!isSweepDue(known?.report ?? null, nowMs)) return null;
    // What was broken off goes on as it began.
    if (known !== null) return await this.#begin(nowMs, known.report.clockAt, known);
    if (!mayMove) return null;
    const toMs = nextSweepClock(clock.atMs, nowMs);
    return await this.#begin(nowMs, Math.min(toMs, nowMs), null, { from: clock, toMs });
  }

  /**
   * Sweeps by the machine's clock and sets the clock of sweeps to it, however far that is: for a person who
   * knows that it is right. Also a night that is swept, or that another process is at, which stops then.
   */
  async sweepNow(): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    await store.resume();
    const nowMs = now();
    const [known, from] = await Promise.all([store.report(nightOf(nowMs)), store.clock()]);
    return await this.#begin(nowMs, nowMs, known, { from, toMs: nowMs });
  }

  /** Returns whether enough process time has passed since the clock of sweeps moved, here or elsewhere. */
  #mayMove(clock: SweepClock | null, nowMs: number): boolean {
    const processMs = this.#deps.processMs();
    const version = clock?.version ?? null;
    const seen = this.#seen?.version === version ? this.#seen : this.#see(version);
    const { sinceMs, isOfStart } = seen;
    const isOld = clock !== null && nowMs - clock.atMs >= SWEEP_GAP_MS;
    return processMs - sinceMs >= SWEEP_GAP_MS || (isOfStart && isOld);
  }

  /** Takes note of a version of the clock of sweeps that was not seen before. */
  #see(version: string | null): SeenClock {
    const isOfStart = this.#seen === null;
    return this.#seen = { version, sinceMs: this.#deps.processMs(), isOfStart };
  }

  async #begin(
    startedAt: number,
    clockAt: number,
    known: ReadReport | null,
    move?: SweepClockMove,
  ): Promise<SweepReport | null> {
    const counts = known?.report.counts ?? EMPTY_SWEEP;
    const report: SweepReport = {
      night: nightOf(startedAt),
      clockAt,
      startedAt,
      toldAt: startedAt,
      finishedAt: null,
      teams: 0,
      counts,
    };
    const begun = await this.#deps.store.tell(known, report, move);
    if (begun === null) return null;
    // One commit gives all its rows one version.
    if (move !== undefined) this.#see(begun.version);
    return await this.#sweep(begun);
  }

  /** Sweeps all teams; null when it stops before its end, or another process took over. */
  async #sweep(begun: ReadReport): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    let told: ReadReport | null = begun;
    const tell = async (report: SweepReport) => {
      told = told && await store.tell(told, report);
      const isQuiet = this.#deps.quiet && isEmptySweep(report.counts);
      if (told !== null && !isQuiet) this.#log(report);
      return told !== null;
    };
    let report = begun.report;
    const { clockAt } = report;
    for await (const _ of this.#paced(forgetSessions(store, clockAt)));
    for await (const team of store.teams()) {
      for await (const step of this.#paced(sweepTeam(store, team, clockAt, false))) {
        this.#deps.onStep?.(step);
        report = { ...report, counts: addSwept(report.counts, step.counts) };
        if (now() - report.toldAt < TELL_MS) continue;
        report = { ...report, toldAt: now() };
        if (!await tell(report)) return null;
      }
      if (this.#loop.isStopped) {
        await tell({ ...report, toldAt: now() });
        return null;
      }
      report = { ...report, teams: report.teams + 1 };
    }
    const finishedAt = now();
    report = { ...report, toldAt: finishedAt, finishedAt };
    return await tell(report) ? report : null;
  }

  /** Goes step by step, with rests while calls come in; ends early when the job stops. */
  async *#paced<Step>(steps: AsyncIterable<Step>): AsyncGenerator<Step> {
    if (this.#loop.isStopped) return;
    const { processMs, calls } = this.#deps;
    let [startMs, before] = [processMs(), calls()];
    for await (const step of steps) {
      yield step;
      if (calls() !== before) await this.#loop.wait(REST * (processMs() - startMs));
      if (this.#loop.isStopped) return;
      [startMs, before] = [processMs(), calls()];
    }
  }

  #log(sweep: unknown, error?: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { sweep }, error));
  }
}
