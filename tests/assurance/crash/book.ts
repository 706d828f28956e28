/** Expected totals of loads whose calls are all certain, while models get a price. */
import { assertEquals } from "@std/assert";
import { Load } from "../../support/harness/load.ts";
import { costOfOthers, DAYS, totalsOf } from "../../support/builders/scripts.ts";
import { type Access, addTotals, assertTotals, noTotals } from "../../support/oracles/totals.ts";
import { NewPrice } from "./new_price.ts";

/** Run numbers reserved for each load. */
const RUNS_PER_LOAD = 1_000_000;

export class Book {
  readonly totals = noTotals();
  /** Calls of the model without a price, and their cost once it has one. */
  unpriced = { calls: 0, cost: 0 };
  /** Price of the model that has none yet; the next model replaces it after the repricing. */
  price = new NewPrice("model-0");
  prices = 0;
  readonly #loads: Load[] = [];
  readonly #runs = new Map<Load, number>();

  /** Creates a load of runs of its own, with calls of the model without a price. */
  newLoad(): Load {
    const load = new Load(RUNS_PER_LOAD * this.#loads.length, this.price.model);
    this.#loads.push(new Load(load.first, load.model));
    return load;
  }

  /** Adds the totals of a load without doubt, and forgets the contents of its runs. */
  add({ first, scripts }: Load): void {
    for (const script of scripts) {
      const totals = totalsOf(script);
      addTotals(this.totals, totals);
      this.unpriced.calls += totals.unpriced;
      this.unpriced.cost += costOfOthers(script);
    }
    const kept = this.#loads[first / RUNS_PER_LOAD];
    if (kept !== undefined) this.#runs.set(kept, scripts.length);
  }

  /** Waits until the model's calls have their price if it was asked for, and compares all totals. */
  async check(access: Access): Promise<void> {
    await this.price.reprice(access);
    if (this.price.state === "done") {
      this.totals.cost += this.unpriced.cost;
      this.totals.unpriced -= this.unpriced.calls;
      this.unpriced = { calls: 0, cost: 0 };
      this.price = new NewPrice(`model-${++this.prices}`);
    }
    await assertTotals(access, DAYS, this.totals);
  }

  /** Reads every run of all loads again. */
  async verifyAll(access: Access): Promise<void> {
    for (const [{ first, model }, runs] of this.#runs) {
      const { stored, sent } = await Load.acknowledged(first, model, runs).verify(access);
      assertEquals(stored, sent);
    }
  }
}

/** A single slow store operation is no defect; any other logged failure is. */
export function isDefect(line: string): boolean {
  return line.includes('"failure"') && !/StorageUnavailable|Overloaded/.test(line);
}
