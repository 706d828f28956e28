/** A worker over a real file, with a clock that the test moves and a store that it may wrap. */
import { assertEquals } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { processingOf as stagesOfRun } from "../../../domain/runs/stages.ts";
import type { RunSummary } from "../../../domain/runs/summary.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { Worker } from "../../../jobs/worker.ts";
import { createJudgeLater } from "../../../kv/checks/check_runs.ts";
import { createRunWork } from "../../../kv/runs/run_work.ts";
import { createWorkStore, type WorkStore } from "../../../kv/work/store.ts";
import { decodeSums } from "../../../kv/base/codec_sums.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { OpenStore } from "../../../kv/open.ts";
import { assertSumsAddUp, readRun, TEAM } from "../builders/stored_runs.ts";
import { StoreProcess } from "./store_process.ts";
import { TempStore } from "./temp_store.ts";
import type { ProcessingStore } from "../../../kv/summaries/processing_store.ts";

interface WorkerHarnessOptions {
  readonly failurePauseMs?: number;
  /** True to open the store with a bell. */
  readonly hasBell?: boolean;
  /** Replaces methods of the worker's store, for faults. */
  readonly wrap?: (store: ProcessingStore) => ProcessingStore;
  /** Replaces the judging of a run; it may call `judge`. */
  readonly judge?: (run: RunId, judge: () => Promise<void>) => Promise<void>;
  readonly work?: Partial<WorkStore>;
}

/** A worker, not started yet, that its store's commits wake. Always `await using`. */
export class WorkerHarness extends StoreProcess implements AsyncDisposable {
  declare readonly store: OpenStore;
  readonly worker: Worker;
  readonly loop: WorkLoop;
  /** Expected states of the stages without work once the cost is final. */
  readonly skipped = ["checks skipped 0", "alerts skipped 0", "judge skipped 0"];

  private constructor(readonly temp: TempStore, readonly options: WorkerHarnessOptions) {
    super(temp.store);
    const { wrap = (store) => store } = options;
    const pipeline = wrap(this.pipeline);
    this.worker = this.another(pipeline);
    const judge = createJudgeLater({ changes: this.updater, now: this.now });
    const { judge: replaced = (_, judge) => judge(), work } = options;
    const log = (line: string) => void this.log.push(line);
    const handler = createRunWork({
      store: temp.store,
      project: pipeline.project,
      judge: (row) => replaced(row.name as RunId, () => judge(row)),
      onChanged: () => {},
      now: this.now,
      log,
    });
    this.loop = new WorkLoop({
      store: { ...createWorkStore(temp.store, Infinity), ...work },
      handlers: [handler],
      lanes: ["run"],
      now: this.now,
      log,
    });
    temp.store.workerSignal.listen({ worker: this.worker, work: this.loop });
  }

  start(): void {
    this.worker.start();
    this.loop.start();
  }

  /** Resolves once all that is due was done. */
  async idle(): Promise<void> {
    for (let n = 0; n < 2; n++) {
      await this.worker.idle();
      await this.loop.idle();
    }
  }

  static async open(options: WorkerHarnessOptions = {}): Promise<WorkerHarness> {
    return new WorkerHarness(await TempStore.open(undefined, options), options);
  }

  another(store: ProcessingStore): Worker {
    const { failurePauseMs } = this.options;
    return new Worker({
      store,
      calls: this.store.workerSignal,
      now: this.now,
      log: (line) => this.log.push(line),
      ...(failurePauseMs === undefined ? {} : { failurePauseMs }),
    });
  }

  /** Moves the clock and lets the worker check for work. */
  async after(ms: number): Promise<void> {
    this.nowMs += ms;
    await this.idle();
  }

  /** Returns the stages of a run: name, state, attempts. */
  async stagesOf(run: RunId): Promise<string[]> {
    const stored = await readRun(this.runs, TEAM, run, null, 1);
    const stages = stored === null ? [] : stagesOfRun(stored);
    return stages.map(({ stage, state, attempts }) => `${stage} ${state} ${attempts}`);
  }

  /** Resolves when a run is final, without waking the worker. */
  async becomesFinal(run: RunId): Promise<void> {
    const key = keys.summary(TEAM.id, run);
    for await (const [{ value }] of this.store.reader.watch<[Uint8Array]>([key])) {
      if (value !== null && decodeSums<RunSummary>(value).revision > 0) return;
    }
  }

  /** Fails unless the roll-ups equal the runs' totals; returns the number of closed runs. */
  async sumsAddUp(): Promise<number> {
    assertEquals(await this.temp.keysBelow(["dirty"]), []);
    return await assertSumsAddUp(this.store);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.worker.stop(), this.loop.stop()]);
    await this.temp[Symbol.asyncDispose]();
  }
}

/** Replaces a store by one that cannot aggregate a run while `broken` returns true. */
export function breaking(bad: RunId, broken: () => boolean) {
  return (store: ProcessingStore): ProcessingStore => ({
    ...store,
    project: (team, runs) =>
      broken() && runs.includes(bad)
        ? Promise.reject(new RangeError("this run is broken"))
        : store.project(team, runs),
  });
}

/** A gate at which the first caller waits until the test opens it for all. */
export class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();

  /** Waits at the gate. */
  async pass(): Promise<void> {
    this.#reached.resolve();
    await this.#opened.promise;
  }

  /** Resolves when a caller waits. */
  async reached(): Promise<void> {
    await this.#reached.promise;
  }

  open(): void {
    this.#opened.resolve();
  }
}
