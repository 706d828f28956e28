/**
 * Rounds on one ledger: load, sudden end, restart, and a comparison with the clients' responses.
 *
 * The clients run in this process, so their memory survives each kill.
 */
import { assert, assertEquals } from "@std/assert";
import { Load } from "../../support/harness/load.ts";
import { assertRollupsAddUp } from "../../support/builders/stored_runs.ts";
import { type Ended, Process, type Settings } from "../../support/harness/process.ts";
import { withStore } from "../../support/harness/temp_store.ts";
import { type Access, assertUsage, assertVerified } from "../../support/oracles/totals.ts";
import { Book, isDefect } from "./book.ts";

const KEY = `apk_eu_${"c4".repeat(16)}`;

interface RoundMetrics {
  /** Milliseconds of each start, until the service reports that it is ready. */
  readonly readyMs: number[];
  /** Calls acknowledged before their process ended. */
  acknowledged: number;
  /** Calls that were in doubt or unsent at an end, and were resent. */
  resent: number;
  /** Counted events in doubt at an end, and how many of them were stored. */
  inDoubt: number;
  storedInDoubt: number;
}

/** A ledger, its service and its clients. Always `await using`. */
export class Rounds implements AsyncDisposable {
  readonly metrics: RoundMetrics = {
    readyMs: [],
    acknowledged: 0,
    resent: 0,
    inDoubt: 0,
    storedInDoubt: 0,
  };
  readonly book = new Book();
  readonly path: string;
  readonly #settings: Settings;
  #process: Process | null = null;
  #load: { readonly load: Load; readonly running: Promise<void> } | null = null;

  constructor(folder: string, settings: Settings = {}) {
    this.path = `${folder}/test.kv`;
    this.#settings = {
      RUNLEDGER_KV: this.path,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_TIER: "enterprise",
      ...settings,
    };
  }

  /** Address and credential of the running service. */
  get access(): Access {
    assert(this.#process !== null, "no service is running");
    return { url: this.#process.url, key: KEY };
  }

  /** Starts the service and compares its data with earlier responses. */
  async start(): Promise<void> {
    const startedMs = performance.now();
    this.#process = await Process.start(this.#settings);
    const response = await fetch(`${this.access.url}/readyz`);
    await response.body?.cancel();
    assertEquals(response.status, 200);
    this.metrics.readyMs.push(performance.now() - startedMs);
    await this.#check();
  }

  /** Lets clients write until the service ends. */
  load(): void {
    const load = this.book.newLoad();
    this.#load = { load, running: load.run(this.access) };
  }

  /**
   * Resolves when `acknowledged` calls of the load are acknowledged, or its clients have given up.
   */
  async reached(acknowledged: number): Promise<void> {
    assert(this.#load !== null);
    const { load, running } = this.#load;
    const reached = load.until((load) => load.isOver || load.acknowledged >= acknowledged);
    // Throws the error of a failed client, here or where the service is ended.
    await Promise.race([reached, running]);
  }

  /** Lets clients write `runs` runs, all of them acknowledged. */
  async fill(runs: number): Promise<void> {
    const load = this.book.newLoad();
    await load.run(this.access, { runs });
    await load.resend(this.access);
    this.book.add(load);
  }

  /** Waits until `acknowledged` calls are acknowledged, then ends the service. */
  async end(signal: Deno.Signal, acknowledged = 0): Promise<Ended> {
    assert(this.#process !== null && this.#load !== null);
    const { load, running } = this.#load;
    await this.reached(acknowledged);
    const ended = await this.#process.stop(signal);
    this.#process = null;
    await running;
    this.metrics.acknowledged += load.acknowledged;
    assertEquals(ended.stdout.split("\n").filter(isDefect), []);
    return ended;
  }

  async #check(): Promise<void> {
    const { access } = this;
    const load = this.#load?.load;
    this.#load = null;
    if (load !== undefined) {
      assertEquals(load.misanswered, []);
      const { stored, acknowledged, sent } = await load.verify(access);
      await assertUsage(access, this.book.totals.counted + stored);
      this.metrics.inDoubt += sent - acknowledged;
      this.metrics.storedInDoubt += stored - acknowledged;
      // This process finishes the last process's work without any write call.
      await load.untilFinal(access);
      this.metrics.resent += await load.resend(access);
      this.book.add(load);
    }
    await this.book.check(access);
  }

  /**
   * Inspects a copy of the file that a sudden end left, so that the next start finds it untouched.
   * The roll-ups must equal the totals of the summaries. Returns the number of pending work rows.
   */
  async compareAll(): Promise<number> {
    const copy = `${this.path}.copy`;
    for (const suffix of ["", "-wal"]) {
      await Deno.copyFile(this.path + suffix, copy + suffix).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    }
    try {
      return await withStore(copy, async (store) => {
        await assertRollupsAddUp(store);
        return (await Array.fromAsync(store.reader.list({ prefix: ["dirty"] }))).length;
      });
    } finally {
      for (const suffix of ["", "-wal", "-shm", ".lock"]) {
        await Deno.remove(copy + suffix).catch(() => {});
      }
    }
  }

  /** Recomputes all totals from the runs while the service runs. */
  async audit(): Promise<void> {
    await assertVerified(this.path, this.book.totals);
  }

  /** Reads every run of all rounds again. */
  async verifyAll(): Promise<void> {
    await this.book.verifyAll(this.access);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
    await this.#load?.running.catch(() => {});
  }
}
