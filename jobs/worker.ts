/**
 * The worker behind the ingest: brings dirty runs up to date and runs the stages behind their close.
 *
 * Closed runs go first, because somebody waits for their cost, but not for ever. It sleeps until it is
 * woken: by a commit of this process, by the doorbell, by the clock each minute, or because a stage is
 * due. What fails by itself is put off, so that it holds up nothing else.
 */
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { isOfStore, Overloaded, StorageUnavailable } from "../domain/core/errors.ts";
import {
  PENDING_LANES,
  type PendingBatch,
  type PendingLane,
  type PendingRun,
  type ProcessingStore,
  type RunnableStage,
  type StageTask,
} from "../domain/runs/processing.ts";
import { jobLine, Loop } from "./loop.ts";

/** Long work in the store that goes on step by step, until it is done. */
export interface Job {
  /** Goes a step further; answers false when there was nothing to do. What fails is not next again. */
  work(): Promise<boolean>;
  /** True if the last step found something, also what still waits for runs to be summed up. */
  readonly underWay: boolean;
}

/** What the worker is built from. */
export interface WorkerDeps {
  readonly store: ProcessingStore;
  readonly stages: readonly RunnableStage[];
  /** Jobs that somebody asked for: they go on a step each turn. */
  readonly jobs: readonly Job[];
  /** Takes the team of runs that were brought up to date. */
  readonly onUpdated?: (team: TeamId) => void;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Takes one line about what went wrong. */
  readonly log: (line: string) => void;
  /** Milliseconds of rest after the store failed; a second when absent. */
  readonly failurePauseMs?: number;
}

/** Runs taken at once: of open ones fewer, because a close that comes meanwhile waits for them. */
const RUNS_PER_TURN = { closed: 200, open: 80, min: 20 } as const;

/**
 * Milliseconds after which a turn was too long: the next one takes half as many runs, because whatever
 * becomes dirty meanwhile waits for its end.
 */
const TURN_MS = 200;

/** Turns of closed runs after which open ones have one. */
const CLOSED_TURNS_MAX = 4;

/**
 * Rest after bringing runs of a lane up to date, as a multiple of the time that took, and at most so many
 * milliseconds. It is taken only while calls come in: they go first, and a rest lets more marks gather,
 * which then share their commits.
 */
const REST = { closed: 1, open: 6, msMax: 200 } as const;

/** Stages taken at once. */
const STAGES_PER_TURN = 20;

/** Milliseconds of rest after the store failed. */
const FAILURE_PAUSE_MS = 1_000;

/** The worker. Always stop it before the store closes. */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #loop: Loop;
  /** Wake-ups so far, which show whether calls came in. */
  #signals = 0;
  #restMs = 0;
  /** Runs of the next turn. */
  readonly #runsMax: Record<PendingLane, number> = {
    closed: RUNS_PER_TURN.closed,
    open: RUNS_PER_TURN.open,
  };
  /** Turns of closed runs since open ones had theirs. */
  #closedTurns = 0;
  #asleep: PromiseWithResolvers<void> | null = null;

  /** A worker that does nothing yet. */
  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      step: () => this.#step(),
      failed: (error) => {
        this.#logFailure("The worker goes on after a pause", error);
        return deps.failurePauseMs ?? FAILURE_PAUSE_MS;
      },
    });
  }

  /** Begins to work, with what an earlier process left. */
  start(): void {
    void this.#loop.start();
  }

  /** Says that there may be something to do. */
  wake(): void {
    this.#signals++;
    this.#loop.waker.wake();
  }

  /** Resolves once the worker has looked at everything there was when this was called. */
  async idle(): Promise<void> {
    this.#asleep ??= Promise.withResolvers<void>();
    this.#loop.waker.wake();
    await this.#asleep.promise;
  }

  /** Finishes what is under way and stops. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #step(): Promise<void> {
    if (!await this.#turn()) await this.#sleep();
    else if (this.#restMs > 0 && this.#asleep === null) await this.#loop.rest(this.#restMs);
  }

  async #sleep(): Promise<void> {
    const idleMs = await this.#idleMs();
    const { waker } = this.#loop;
    // What woke it after the last turn wants another look before it counts as idle.
    if (waker.isAwake) return waker.reset();
    this.#asleep?.resolve();
    this.#asleep = null;
    await this.#loop.wait(idleMs);
  }

  /** Does some work; answers false when there is none. */
  async #turn(): Promise<boolean> {
    this.#restMs = 0;
    const summedUp = await this.#sumUp();
    // A step each turn, so that none keeps the others from coming on.
    let moved = summedUp;
    for (const job of this.#deps.jobs) {
      if (await this.#stepOn(job)) moved = true;
      // Somebody watches its progress, and it waits for everything that came before it.
      if (job.underWay) this.#restMs = 0;
    }
    return moved || await this.#runStages();
  }

  async #sumUp(): Promise<boolean> {
    const isTurnOfOpen = this.#closedTurns >= CLOSED_TURNS_MAX;
    for (const lane of isTurnOfOpen ? PENDING_LANES.toReversed() : PENDING_LANES) {
      const rows = await this.#deps.store.takePending(lane, this.#runsMax[lane]);
      this.#closedTurns = lane === "open" ? 0 : this.#closedTurns + 1;
      if (rows.isEmpty) continue;
      const [startMs, signals] = [performance.now(), this.#signals];
      await this.#bringUpToDate(rows);
      const tookMs = performance.now() - startMs;
      this.#fitRunsMax(lane, tookMs);
      if (this.#signals > signals) this.#restMs = Math.min(REST.msMax, REST[lane] * tookMs);
      return true;
    }
    return false;
  }

  #fitRunsMax(lane: PendingLane, tookMs: number): void {
    const runsMax = this.#runsMax[lane];
    if (tookMs > TURN_MS) this.#runsMax[lane] = Math.max(RUNS_PER_TURN.min, runsMax >> 1);
    else if (tookMs < TURN_MS / 2) this.#runsMax[lane] = Math.min(RUNS_PER_TURN[lane], runsMax * 2);
  }

  /** Takes a job a step on. One that fails by itself must not keep others, or the stages, waiting. */
  async #stepOn(job: Job): Promise<boolean> {
    try {
      return await job.work();
    } catch (error) {
      await this.#throwIfOfStore(error);
      this.#logFailure("A job cannot go on and is tried again later", error);
      return job.underWay;
    }
  }

  async #runStages(): Promise<boolean> {
    const { store, now } = this.#deps;
    const tasks = await store.dueStages(now(), STAGES_PER_TURN);
    await allDone(tasks.map((task) => this.#runStage(task)));
    return tasks.length > 0;
  }

  async #bringUpToDate({ runs, ack }: PendingBatch): Promise<void> {
    const byTeam = Map.groupBy(runs, ({ team }) => team);
    const again: PendingRun[] = [];
    await allDone(
      Array.from(byTeam, async ([team, some]) => {
        again.push(...await this.#project(team, some.map(({ run }) => run)));
      }),
    );
    await ack(again);
  }

  /**
   * Projects runs of a team; where that fails, in halves, so that only those at fault wait.
   *
   * @returns runs whose marks stay, because they can be neither read nor noted as failed
   */
  async #project(team: TeamId, runs: readonly RunId[]): Promise<PendingRun[]> {
    try {
      await this.#deps.store.project(team, runs);
      this.#deps.onUpdated?.(team);
      return [];
    } catch (error) {
      await this.#throwIfOfStore(error);
      // Too much of the team waits: no run is at fault.
      if (error instanceof Overloaded) return runs.map((run) => ({ team, run }));
      const [run] = runs;
      if (run !== undefined && runs.length === 1) {
        return await this.#noteFailed({ team, run }, error);
      }
      const half = runs.length >> 1;
      return [
        ...await this.#project(team, runs.slice(0, half)),
        ...await this.#project(team, runs.slice(half)),
      ];
    }
  }

  /** Notes that a run cannot be summed up; returns the run when it cannot be written either. */
  async #noteFailed(run: PendingRun, error: unknown): Promise<PendingRun[]> {
    this.#logFailure(`Cannot sum up a run of team ${run.team}`, error);
    if (error instanceof StorageUnavailable) return [run];
    try {
      await this.#deps.store.projectFailed(run, error);
      return [];
    } catch (failure) {
      await this.#throwIfOfStore(failure);
      return [run];
    }
  }

  async #runStage(task: StageTask): Promise<void> {
    const { store } = this.#deps;
    try {
      let failure: unknown = null;
      try {
        await this.#work(task);
      } catch (error) {
        if (isOfStore(error)) throw error;
        this.#logFailure(`Stage ${task.stage?.stage} of a run of team ${task.team} failed`, error);
        failure = error ?? new Error("Failed without a reason");
      }
      await store.completeStage(task, failure);
    } catch (error) {
      await this.#throwIfOfStore(error);
      this.#logFailure(
        `Stage ${task.stage?.stage} of a run of team ${task.team} is put off`,
        error,
      );
      store.putOffStage(task);
    }
  }

  async #work({ team, run, stage }: StageTask): Promise<void> {
    if (stage === null) return;
    if (stage.stage === "cost") return await this.#deps.store.project(team, [run]);
    const { stages } = this.#deps;
    await stages.find(({ name }) => name === stage.stage)?.run({ team, run });
  }

  /** Throws an error again when the store fails altogether: then no run or job is at fault. */
  async #throwIfOfStore(error: unknown): Promise<void> {
    if (isOfStore(error) && !await this.#deps.store.isAlive()) throw error;
  }

  /** How long there is nothing to do unless somebody signals; null for as long as it takes. */
  async #idleMs(): Promise<number | null> {
    const dueMs = await this.#deps.store.nextDueMs();
    return dueMs === null ? null : Math.max(0, dueMs - this.#deps.now());
  }

  #logFailure(what: string, error: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { worker: what }, error));
  }
}

/** Waits for all, also when one fails: what is under way ends before the worker rests or stops. */
async function allDone(work: readonly Promise<void>[]): Promise<void> {
  const ends = await Promise.allSettled(work);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
