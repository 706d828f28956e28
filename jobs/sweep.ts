/**
 * The nightly sweep (decision 40): removes data past its plan's retention, in small steps.
 *
 * Its progress is stored with a version, so only one of several processes sweeps. If that process
 * is killed, a later one resumes its sweep. It has a separate loop, and rests while calls arrive.
 *
 * Removal cannot be undone, and the machine's clock may be wrong. So ages are judged by a separate
 * clock in the store, which follows the machine's clock by one bounded step per sweep. The gap
 * between sweeps is measured in process time, which no clock change affects.
 */
import { addCounts, isZero } from "../domain/core/sums.ts";
import type { Team } from "../domain/teams/team.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import { RETENTION_CLASSES, type RetentionClass } from "../domain/retention/retention.ts";
import {
  EMPTY_SWEEP,
  isSweepDue,
  nextSweepClock,
  nightOf,
  type ReadReport,
  SWEEP_GAP_MS,
  type SweepClock,
  type SweepClockMove,
  type SweepCounts,
  type SweepReport,
  untilNextNight,
} from "../domain/retention/sweep.ts";
import { type JobDeps, jobLine, Loop } from "../runtime/loop.ts";
import type { SweepStore } from "../kv/retention/sweep_store.ts";

export interface SweepDeps extends JobDeps {
  readonly store: SweepStore;
  /** Process time in milliseconds, from a monotonic clock. */
  readonly processMs: () => number;
  /** Number of commits by calls so far; it shows whether calls arrive. */
  readonly calls: () => number;
  /** True to omit reports without removals from the log. */
  readonly quiet?: boolean;
  /** Called after each step. */
  readonly onStep?: (step: SweptStep) => void;
}

/** Removals of one step of a sweep, or those a dry run would make. */
export interface SweptStep {
  readonly team: Team;
  readonly retentionClass: RetentionClass;
  readonly counts: SweepCounts;
}

/** Sweeps a team, one step per iteration. */
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

/**
 * Rest after a step while calls arrive, as a multiple of the step's duration: a tenth of the time
 * is work.
 */
const REST = 9;

/** Milliseconds between stored progress reports: a platform may stop the process within seconds. */
const REPORT_MS = 2_000;

/** Milliseconds between progress reports in the log. */
const LOG_MS = 10_000;

/** Milliseconds between checks for a new night, or for another process's sweep that stalled. */
const CLOCK_MS = 60_000;

/** Milliseconds to wait after a store failure. */
const FAILURE_PAUSE_MS = 5_000;

/** The sweep clock as last seen by this process. */
interface SeenClock {
  /** Version of the clock; null for none. */
  readonly version: string | null;
  /** Process time at which this version was first seen. */
  readonly sinceMs: number;
}

/** Background job that sweeps each night. Stop it before the store closes. */
export class SweepJob {
  readonly #deps: SweepDeps;
  readonly #loop: Loop;
  #seen: SeenClock | null = null;

  /** Creates a job; `start` runs it. */
  constructor(deps: SweepDeps) {
    this.#deps = deps;
    this.#loop = new Loop(async () => {
      await this.sweepIfDue();
      await this.#loop.wait(Math.min(CLOCK_MS, untilNextNight(deps.now())));
    }, (error) => {
      // The worker logs store failures.
      if (!(error instanceof StorageUnavailable)) {
        this.#log("The sweep failed and resumes later", error);
      }
      return FAILURE_PAUSE_MS;
    }, deps.turn);
  }

  /** Starts the job, with the current night if it is not swept yet. */
  start(): void {
    void this.#loop.start();
  }

  /** Resolves once the current night is swept, if its sweep was due. */
  idle(): Promise<void> {
    return this.#loop.idle();
  }

  /** Finishes the current step and stops. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * Sweeps the current night, unless it is already swept or the previous sweep is too recent.
   * Returns the report if this call finished the sweep. A ledger without a sweep clock gets one,
   * and nothing is swept.
   */
  async sweepIfDue(): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    const nowMs = now();
    // Finish what a killed process left incomplete.
    await store.resume(nowMs);
    const [stored, clock] = await Promise.all([store.report(nightOf(nowMs)), store.clock()]);
    const mayMove = this.#mayMove(clock, nowMs);
    if (clock === null) {
      await store.startClock(nowMs);
      return null;
    }
    if (!isSweepDue(stored?.report ?? null, nowMs)) return null;
    // An interrupted sweep resumes with the clock it started with.
    if (stored !== null) return await this.#begin(nowMs, stored.report.clockAt, stored);
    if (!mayMove) return null;
    const toMs = nextSweepClock(clock.atMs, nowMs);
    return await this.#begin(nowMs, Math.min(toMs, nowMs), null, { from: clock, toMs });
  }

  /**
   * Sweeps by the machine's clock and sets the sweep clock to it, however far it moves. Only for an
   * operator who knows that the machine's clock is right. It also repeats a finished night, and
   * takes over a night from another process, which then stops.
   */
  async sweepNow(): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    const nowMs = now();
    await store.resume(nowMs);
    const [stored, from] = await Promise.all([store.report(nightOf(nowMs)), store.clock()]);
    return await this.#begin(nowMs, nowMs, stored, { from, toMs: nowMs });
  }

  /**
   * Returns whether enough process time has passed since any process last moved the sweep clock. A
   * process that has just started has only the clock's age to go by, and goes by it once.
   */
  #mayMove(clock: SweepClock | null, nowMs: number): boolean {
    const version = clock?.version ?? null;
    const isStart = this.#seen === null;
    const { sinceMs } = this.#seen?.version === version ? this.#seen : this.#see(version);
    const isOld = clock !== null && nowMs - clock.atMs >= SWEEP_GAP_MS;
    return this.#deps.processMs() - sinceMs >= SWEEP_GAP_MS || (isStart && isOld);
  }

  /** Records a new version of the sweep clock. */
  #see(version: string | null): SeenClock {
    return this.#seen = { version, sinceMs: this.#deps.processMs() };
  }

  async #begin(
    startedAt: number,
    clockAt: number,
    stored: ReadReport | null,
    move?: SweepClockMove,
  ): Promise<SweepReport | null> {
    const begun: SweepReport = {
      night: nightOf(startedAt),
      clockAt,
      startedAt,
      toldAt: startedAt,
      finishedAt: null,
      teams: 0,
      counts: stored?.report.counts ?? EMPTY_SWEEP,
    };
    // A sweep that does not move the clock resumes another one.
    const isResumed = stored !== null && move === undefined;
    const report = isResumed ? { ...stored.report, startedAt, toldAt: startedAt } : begun;
    const started = await this.#deps.store.saveReport(stored, report, move);
    if (started === null) return null;
    // One commit gives all its rows the same version.
    if (move !== undefined) this.#see(started.version);
    return await this.#sweep(started);
  }

  /** Sweeps all teams; null if it stops early, or another process took over. */
  async #sweep(started: ReadReport): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    let stored: ReadReport | null = started;
    let { report } = started;
    const { clockAt, lastTeam = null } = report;
    let loggedAt = report.toldAt;
    /** Stores the progress; returns false if another process took over. */
    const save = async (finishedAt: number | null = null) => {
      report = { ...report, toldAt: now(), finishedAt };
      stored = stored && await store.saveReport(stored, report);
      return stored !== null;
    };
    const log = () => {
      loggedAt = now();
      if (!this.#deps.quiet || !isZero(report.counts)) this.#log(report);
    };
    for await (const _ of this.#paced(store.forgetSessions(clockAt)));
    for await (const team of store.teams(lastTeam)) {
      for await (const step of this.#paced(sweepTeam(store, team, clockAt, false))) {
        this.#deps.onStep?.(step);
        report = { ...report, counts: addCounts(report.counts, step.counts) };
        if (now() - report.toldAt >= REPORT_MS && !await save()) return null;
        if (now() - loggedAt >= LOG_MS) log();
      }
      if (this.#loop.isStopped) {
        if (await save()) log();
        return null;
      }
      report = { ...report, teams: report.teams + 1, lastTeam: team.id };
    }
    if (!await save(now())) return null;
    log();
    return report;
  }

  /** Iterates steps, with rests while calls arrive; ends early when the job stops. */
  async *#paced<Step>(steps: AsyncIterable<Step>): AsyncGenerator<Step> {
    if (this.#loop.isStopped) return;
    const { processMs, calls } = this.#deps;
    let [startMs, before] = [processMs(), calls()];
    for await (const step of steps) {
      yield step;
      if (calls() !== before) await this.#loop.rest(REST * (processMs() - startMs));
      if (this.#loop.isStopped) return;
      [startMs, before] = [processMs(), calls()];
    }
  }

  #log(sweep: unknown, error?: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { sweep }, error));
  }
}
