/**
 * The worker: updates pending runs.
 *
 * Closed runs go first, because a client waits for their cost, but open runs get a turn too. The
 * worker sleeps until it is woken: by a commit of this process, by the bell that the commit rings, or
 * because a run is tried again. Work that fails on its own is postponed, so it does not block other
 * work.
 */
import type { RunId, TeamId } from "../domain/core/ids.ts";
import { isOfStore, Overloaded, StorageUnavailable } from "../domain/core/errors.ts";
import {
  PENDING_LANES,
  type PendingBatch,
  type PendingLane,
  type PendingRun,
} from "../domain/runs/stages.ts";
import {
  allDone,
  type CallCount,
  FAILURE_PAUSE_MS,
  type JobDeps,
  jobLine,
  Loop,
} from "../runtime/loop.ts";
import type { ProcessingStore } from "../kv/summaries/processing_store.ts";

export interface WorkerDeps extends JobDeps {
  readonly store: ProcessingStore;
  /** Milliseconds to wait after a store failure; 1,000 when absent. */
  readonly failurePauseMs?: number | undefined;
  /** Milliseconds between polls for work; null or absent if each commit wakes the worker. */
  readonly lookMs?: number | null;
  /** Counts the commits with work, which shows whether calls arrive. */
  readonly calls: CallCount;
}

/**
 * Runs per turn: two commits of closed runs, or one of open runs, because a close that arrives
 * meanwhile waits for them.
 */
const RUNS_PER_TURN = { closed: 196, open: 98, min: 20 } as const;

/**
 * Milliseconds, or usual times of a commit, after which a turn was too long. The next one takes half
 * as many runs, because newly pending runs wait for its end. Far from the store most of a turn is
 * round trips, which fewer runs do not shorten.
 */
const TURN_MAX = { ms: 200, commits: 6 } as const;

/** Turns of closed runs before open runs get one. */
const CLOSED_TURNS_MAX = 4;

/**
 * Rest after a turn of closed runs, as a multiple of the time it took, up to `msMax`. The worker
 * rests only while calls arrive: calls go first, and during a rest more marks accumulate, which then
 * share commits. It does not rest after a full turn: runs that wait long are evicted from memory and
 * must be read.
 */
const REST = { times: 3, msMax: 200 } as const;

/**
 * Milliseconds between turns of open runs while calls arrive: a run that is closed by then is
 * updated once instead of twice. A full turn is followed by the next one.
 */
const OPEN_REST_MS = 500;

/** Milliseconds between polls for closed runs while open runs rest and no other work is pending. */
const CLOSED_POLL_MS = 25;

/** Background worker. Stop it before the store closes. */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #loop: Loop;
  #restMs = 0;
  /** Time of the next turn of open runs, by the clock of the process. */
  #openAtMs = -Infinity;
  /** Callers for whom the worker does not rest. */
  #hurries = 0;
  /** Maximum runs of the next turn. */
  readonly #runsMax: Record<PendingLane, number> = {
    closed: RUNS_PER_TURN.closed,
    open: RUNS_PER_TURN.open,
  };
  /** Turns of closed runs since the last turn of open runs. */
  #closedTurns = 0;

  /** Creates a worker; `start` runs it. */
  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#loop = new Loop(() => this.#step(), (error) => {
      this.#logFailure("The worker failed and resumes after a pause", error);
      return deps.failurePauseMs ?? FAILURE_PAUSE_MS;
    }, deps.leadership);
  }

  /** Starts the worker, including work left by an earlier process. */
  start(): void {
    void this.#loop.start();
  }

  /** Signals that there may be work. */
  wake(): void {
    this.#loop.waker.wake();
  }

  /**
   * Resolves once the worker has processed everything that was pending at the time of the call.
   *
   * @param rests whether the worker still rests while calls arrive
   */
  async idle(rests = false): Promise<void> {
    if (!rests) this.#hurries++;
    await this.#loop.idle();
    if (!rests) this.#hurries--;
  }

  /** Finishes the work in progress and stops. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #step(): Promise<void> {
    if (!await this.#turn()) await this.#sleep();
    else if (this.#restMs > 0 && this.#hurries === 0) await this.#loop.rest(this.#restMs);
  }

  async #sleep(): Promise<void> {
    const { store, lookMs = null, now } = this.#deps;
    const openMs = this.#openRestMs();
    if (openMs > 0) return await this.#loop.rest(Math.min(openMs, CLOSED_POLL_MS));
    const nextMs = store.nextTryMs();
    if (nextMs === null) return await this.#loop.wait(lookMs);
    await this.#loop.wait(Math.min(Math.max(0, nextMs - now()), lookMs ?? Infinity));
  }

  /** Returns the milliseconds until the next turn of open runs. */
  #openRestMs(): number {
    return this.#hurries > 0 ? 0 : Math.max(0, this.#openAtMs - performance.now());
  }

  /** Updates some runs; returns false if there are none. */
  async #turn(): Promise<boolean> {
    this.#restMs = 0;
    const isTurnOfOpen = this.#closedTurns >= CLOSED_TURNS_MAX;
    for (const lane of isTurnOfOpen ? PENDING_LANES.toReversed() : PENDING_LANES) {
      if (lane === "open" && this.#openRestMs() > 0) continue;
      const rows = await this.#deps.store.takePending(lane, this.#runsMax[lane]);
      this.#closedTurns = lane === "open" ? 0 : this.#closedTurns + 1;
      if (rows.isEmpty) continue;
      const [startMs, calls] = [performance.now(), this.#deps.calls.raised];
      await this.#bringUpToDate(rows);
      const tookMs = performance.now() - startMs;
      this.#fitRunsMax(lane, tookMs);
      const isFull = rows.runs.length >= this.#runsMax[lane];
      if (isFull || this.#deps.calls.raised === calls) return true;
      if (lane === "open") this.#openAtMs = performance.now() + OPEN_REST_MS;
      else this.#restMs = Math.min(REST.msMax, REST.times * tookMs);
      return true;
    }
    return false;
  }

  #fitRunsMax(lane: PendingLane, tookMs: number): void {
    const runsMax = this.#runsMax[lane];
    const maxMs = Math.max(TURN_MAX.ms, TURN_MAX.commits * this.#deps.store.commitMs());
    if (tookMs > maxMs) this.#runsMax[lane] = Math.max(RUNS_PER_TURN.min, runsMax >> 1);
    else if (tookMs < maxMs / 2) this.#runsMax[lane] = Math.min(RUNS_PER_TURN[lane], runsMax * 2);
  }

  async #bringUpToDate({ runs, ack }: PendingBatch): Promise<void> {
    const byTeam = Map.groupBy(runs, ({ team }) => team);
    const again: PendingRun[] = [];
    await allDone(
      Array.from(byTeam, async ([team, ofTeam]) => {
        again.push(...await this.#project(team, ofTeam.map(({ run }) => run)));
      }),
    );
    await ack(again);
  }

  /**
   * Projects runs of a team. On a failure it retries in halves, so that only the runs at fault
   * wait.
   *
   * @returns runs whose marks stay, because they can be neither read nor recorded as failed
   */
  async #project(team: TeamId, runs: readonly RunId[]): Promise<PendingRun[]> {
    try {
      await this.#deps.store.project(team, runs);
      return [];
    } catch (error) {
      await this.#throwIfOfStore(error);
      // The team's queue is full: no run is at fault.
      if (error instanceof Overloaded) return runs.map((run) => ({ team, run }));
      const [run] = runs;
      if (run !== undefined && runs.length === 1) {
        return await this.#noteFailed({ team, run }, error);
      }
      const middle = runs.length >> 1;
      return [
        ...await this.#project(team, runs.slice(0, middle)),
        ...await this.#project(team, runs.slice(middle)),
      ];
    }
  }

  /** Records that a run cannot be summarized; returns the run if that cannot be written either. */
  async #noteFailed(run: PendingRun, error: unknown): Promise<PendingRun[]> {
    this.#logFailure(`Cannot summarize a run of team ${run.team}`, error);
    if (error instanceof StorageUnavailable) return [run];
    try {
      await this.#deps.store.projectFailed(run, error);
      return [];
    } catch (failure) {
      await this.#throwIfOfStore(failure);
      return [run];
    }
  }

  /** Rethrows an error if the store itself fails: then no run or job is at fault. */
  async #throwIfOfStore(error: unknown): Promise<void> {
    if (isOfStore(error) && !await this.#deps.store.isAlive()) throw error;
  }

  #logFailure(what: string, error: unknown): void {
    this.#deps.log(jobLine(this.#deps.now(), { worker: what }, error));
  }
}
