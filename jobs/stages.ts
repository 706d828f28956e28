/**
 * Does work on runs that is due after finish, while the worker does its other work.
 *
 * @module
 */
import { isOfStore } from "../domain/core/errors.ts";
import type { DueRun } from "../domain/runs/stages.ts";
import { allDone } from "../runtime/loop.ts";
import type { ProcessingStore } from "../kv/summaries/processing_store.ts";

/** Stages per turn. */
const STAGES_PER_TURN = 20;

/**
 * Rest of the stages while there is other work, as a multiple of the time that they took, and at least
 * `msMin`: they neither wait for its end, nor take more than a fifth of the time.
 */
const STAGES_REST = { times: 4, msMin: 250 } as const;

/** Stages of one team that run at the same time. */
const LANES_PER_TEAM = 2;

/** Milliseconds after which a turn begins no stage: those of other teams wait for its end. */
const TURN_MS_MAX = 500;

/** Dependencies of the turns. */
export interface StageTurnsDeps {
  readonly store: ProcessingStore;
  /** Returns unix milliseconds. */
  readonly now: () => number;
  readonly logFailure: (what: string, error: unknown) => void;
  /** Rethrows an error if the store itself fails. */
  readonly throwIfOfStore: (error: unknown) => Promise<void>;
  /** Called at the end of a turn. */
  readonly ended: () => void;
}

/** Turns of stages: a turn may take long, because a team decides what its checks compute. */
export class StageTurns {
  readonly #deps: StageTurnsDeps;
  /** The turn that is under way, or whose error was not reported yet. */
  #turn: { isOver: boolean; readonly work: Promise<void> } | null = null;
  /** End of the rest, by the clock of the process. */
  #restMs = 0;

  /** Creates turns; `begin` begins the first. */
  constructor(deps: StageTurnsDeps) {
    this.#deps = deps;
  }

  /** True while stages rest, because there is other work. */
  get isResting(): boolean {
    return performance.now() < this.#restMs;
  }

  /**
   * Begins a turn unless one is under way; returns false if no stage is due. Rejects with the error of
   * the last turn.
   */
  async begin(): Promise<boolean> {
    if (this.#turn?.isOver === false) return true;
    const last = this.#turn;
    this.#turn = null;
    await last?.work;
    const { store, now, ended } = this.#deps;
    const startMs = performance.now();
    const rows = await store.takeDue(now(), STAGES_PER_TURN);
    if (rows.length === 0) {
      this.#rest(startMs);
      return false;
    }
    const teams = Map.groupBy(rows, ({ team }) => team).values();
    const lanes = teams.flatMap((ofTeam) => Array(LANES_PER_TEAM).fill(ofTeam));
    const work = allDone(Array.from(lanes, (ofTeam) => this.#runAll(ofTeam, startMs)));
    const turn = { isOver: false, work };
    this.#turn = turn;
    // The next turn rejects with its error.
    turn.work.catch(() => {}).finally(() => {
      this.#rest(startMs);
      turn.isOver = true;
      ended();
    });
    return true;
  }

  /** Resolves when no turn is under way. */
  async end(): Promise<void> {
    await Promise.allSettled([this.#turn?.work]);
  }

  #rest(startMs: number): void {
    const endMs = performance.now();
    const { times, msMin } = STAGES_REST;
    this.#restMs = endMs + Math.max(msMin, times * (endMs - startMs));
  }

  /** Takes runs of a team, which other lanes may share. Those that it does not begin stay due. */
  async #runAll(rows: DueRun[], startMs: number): Promise<void> {
    for (let row = rows.shift(); row !== undefined; row = rows.shift()) {
      await this.#work(row);
      if (performance.now() - startMs > TURN_MS_MAX) return;
    }
  }

  async #work(row: DueRun): Promise<void> {
    const { store, logFailure, throwIfOfStore } = this.#deps;
    let what = "Work";
    try {
      const task = await store.begin(row);
      if (task === null) return;
      what = `Stage ${task.work}`;
      try {
        if (task.work === "cost") await store.project(task.team, [task.run]);
        else await store.judge(task);
      } catch (error) {
        if (isOfStore(error)) throw error;
        logFailure(`${what} of a run of team ${row.team} failed`, error);
        return await store.fail(task, error ?? new Error("Failed without a reason"));
      }
      await store.complete(task);
    } catch (error) {
      await throwIfOfStore(error);
      logFailure(`${what} of a run of team ${row.team} is postponed`, error);
      store.postpone(row);
    }
  }
}
