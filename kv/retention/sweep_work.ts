/**
 * The nightly sweep (decision 40) as work of the queue: removes data past its plan's retention, in
 * small steps.
 *
 * It has no row of the queue. The clock says that a night is due, and the report of the night says
 * what is left of it; so a clock that was wrong for a moment leaves no row that is due too late. The
 * report has a version, so only one of several processes sweeps. If that process is killed, a later
 * one resumes its sweep.
 *
 * Removal cannot be undone, and the machine's clock may be wrong. So ages are judged by a separate
 * clock in the store, which follows the machine's clock by one bounded step per sweep. The gap
 * between sweeps is measured in process time, which no clock change affects.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { addCounts, isZero } from "../../domain/core/sums.ts";
import {
  EMPTY_SWEEP,
  isSweepDue,
  nextSweepClock,
  nightOf,
  type ReadReport,
  RETENTION_CLASSES,
  type RetentionClass,
  SWEEP_GAP_MS,
  type SweepClock,
  type SweepClockMove,
  type SweepCounts,
  type SweepReport,
} from "../../domain/retention/retention.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import { type JobDeps, jobLine } from "../../runtime/loop.ts";
import type { SweepStore } from "./sweep_store.ts";

export interface SweepWorkDeps extends JobDeps {
  readonly store: SweepStore;
  /** Process time in milliseconds, from a monotonic clock. */
  readonly processMs: () => number;
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

/** Milliseconds after which a turn leaves the other steps to later ones, and stores its report. */
const TURN_MS = 100;

/** Milliseconds between progress reports in the log. */
const LOG_MS = 10_000;

/** Milliseconds until the next turn of a night that this process does not sweep. */
const WAIT_MS = 60_000;

/** The sweep clock as last seen by this process. */
interface SeenClock {
  /** Version of the clock; null for none. */
  readonly version: string | null;
  /** Process time at which this version was first seen. */
  readonly sinceMs: number;
}

/** A sweep of this process. */
interface Sweep {
  stored: ReadReport;
  /** The report so far. */
  report: SweepReport;
  readonly steps: AsyncGenerator<void>;
  loggedAt: number;
}

export class SweepWork implements WorkHandler {
  readonly kind = "sweep";
  readonly #deps: SweepWorkDeps;
  #isStarted = false;
  #seen: SeenClock | null = null;
  /** Null while this process does not sweep. */
  #sweep: Sweep | null = null;
  /** Night of the last turn. */
  #night = "";
  /** Process time of the next turn of that night. */
  #nextMs = -Infinity;

  /** Creates a handler; `start` lets it work. */
  constructor(deps: SweepWorkDeps) {
    this.#deps = deps;
  }

  /** Begins with the current night, if it is not swept yet. */
  start(): void {
    this.#isStarted = true;
  }

  due(nowMs: number): readonly Work[] {
    const name = nightOf(nowMs);
    const isDue = this.#deps.processMs() >= this.#nextMs || name !== this.#night;
    if (!this.#isStarted || !isDue) return [];
    return [{ at: nowMs, kind: this.kind, team: "" as TeamId, name, failures: 0 }];
  }

  /** Makes some steps of the current night's sweep, if it is due. */
  async handle(): Promise<readonly Work[]> {
    const { now, processMs } = this.#deps;
    this.#night = nightOf(now());
    this.#nextMs = processMs() + WAIT_MS;
    const sweep = this.#sweep;
    // After a failure the report says what is left.
    this.#sweep = null;
    const current = sweep ?? await this.#beginIfDue();
    if (current === null || !await this.#advance(current)) return [];
    if (current.report.finishedAt !== null) return [];
    this.#sweep = current;
    this.#nextMs = -Infinity;
    return [];
  }

  /**
   * Sweeps by the machine's clock and sets the sweep clock to it, however far it moves. Only for an
   * operator who knows that the machine's clock is right. It also repeats a finished night, and
   * takes over a night from another process, which then stops. Returns null if another process has
   * taken it over.
   */
  async sweepNow(): Promise<SweepReport | null> {
    const { store, now } = this.#deps;
    const nowMs = now();
    await store.resume(nowMs);
    const [stored, from] = await Promise.all([store.report(nightOf(nowMs)), store.clock()]);
    const sweep = await this.#begin(nowMs, nowMs, stored, { from, toMs: nowMs });
    if (sweep === null) return null;
    while (sweep.report.finishedAt === null) if (!await this.#advance(sweep)) return null;
    return sweep.report;
  }

  /**
   * Begins the current night's sweep, unless it is already swept or the previous sweep is too recent.
   * A ledger without a sweep clock gets one, and nothing is swept.
   */
  async #beginIfDue(): Promise<Sweep | null> {
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

  /** Stores the first report of a sweep; returns null if another process did. */
  async #begin(
    startedAt: number,
    clockAt: number,
    before: ReadReport | null,
    move?: SweepClockMove,
  ): Promise<Sweep | null> {
    const begun: SweepReport = {
      night: nightOf(startedAt),
      clockAt,
      startedAt,
      toldAt: startedAt,
      finishedAt: null,
      teams: 0,
      counts: before?.report.counts ?? EMPTY_SWEEP,
    };
    // A sweep that does not move the clock resumes another one.
    const isResumed = before !== null && move === undefined;
    const report = isResumed ? { ...before.report, startedAt, toldAt: startedAt } : begun;
    const stored = await this.#deps.store.saveReport(before, report, move);
    if (stored === null) return null;
    // One commit gives all its rows the same version.
    if (move !== undefined) this.#see(stored.version);
    const sweep: Sweep = { stored, report, steps: this.#steps(() => sweep), loggedAt: startedAt };
    return sweep;
  }

  /** Sweeps all teams that the report does not name, step by step, and notes them in it. */
  async *#steps(sweepOf: () => Sweep): AsyncGenerator<void> {
    const { store, now, onStep } = this.#deps;
    const sweep = sweepOf();
    const { clockAt, lastTeam = null } = sweep.report;
    yield* store.forgetSessions(clockAt);
    for await (const team of store.teams(lastTeam)) {
      for await (const step of sweepTeam(store, team, clockAt, false)) {
        onStep?.(step);
        sweep.report = { ...sweep.report, counts: addCounts(sweep.report.counts, step.counts) };
        yield;
      }
      sweep.report = { ...sweep.report, teams: sweep.report.teams + 1, lastTeam: team.id };
    }
    sweep.report = { ...sweep.report, finishedAt: now() };
  }

  /** Makes steps for a while and stores the report; returns false if another process took over. */
  async #advance(sweep: Sweep): Promise<boolean> {
    const { store, now, processMs, quiet = false } = this.#deps;
    const endMs = processMs() + TURN_MS;
    while (!(await sweep.steps.next()).done && processMs() < endMs);
    sweep.report = { ...sweep.report, toldAt: now() };
    const stored = await store.saveReport(sweep.stored, sweep.report);
    if (stored === null) return false;
    sweep.stored = stored;
    const { report } = sweep;
    if (report.finishedAt === null && report.toldAt - sweep.loggedAt < LOG_MS) return true;
    sweep.loggedAt = report.toldAt;
    if (!quiet || !isZero(report.counts)) this.#deps.log(jobLine(now(), { sweep: report }));
    return true;
  }
}
