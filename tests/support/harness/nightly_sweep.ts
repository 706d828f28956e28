/** The nightly sweep of one process, without the loop of its work. */
import type { SweepReport } from "../../../domain/retention/retention.ts";
import type { SweepStore } from "../../../kv/retention/sweep_store.ts";
import { SweepWork, type SweepWorkDeps } from "../../../kv/retention/sweep_work.ts";

/** Returns a store with a hook before each step. */
export function stepping(store: SweepStore, before: () => unknown): SweepStore {
  return {
    ...store,
    async step(...args) {
      await before();
      return await store.step(...args);
    },
  };
}

/** A sweep that the test drives. */
export class NightlySweep {
  readonly #deps: Omit<SweepWorkDeps, "store">;
  readonly #work: SweepWork;
  #finished: SweepReport | null = null;

  constructor(sweeps: SweepStore, deps: Omit<SweepWorkDeps, "store">) {
    this.#deps = deps;
    const saveReport: SweepStore["saveReport"] = async (...args) => {
      const saved = await sweeps.saveReport(...args);
      if (saved !== null && saved.report.finishedAt !== null) this.#finished = saved.report;
      return saved;
    };
    const store = new Proxy(sweeps, {
      get: (target, name) => name === "saveReport" ? saveReport : Reflect.get(target, name),
    });
    this.#work = new SweepWork({ ...deps, store });
    this.#work.start();
  }

  /** Runs one turn; returns true if the next one is due at once. */
  async runTurn(): Promise<boolean> {
    await this.#work.handle();
    return this.isDue;
  }

  get isDue(): boolean {
    return this.#work.due(this.#deps.now()).length > 0;
  }

  /** Sweeps the current night if that is due; returns the report if this call finished it. */
  async sweepIfDue(): Promise<SweepReport | null> {
    this.#finished = null;
    while (await this.runTurn());
    return this.#finished;
  }

  /** Sweeps by the machine's clock. */
  sweepNow(): Promise<SweepReport | null> {
    return this.#work.sweepNow();
  }
}
