/** Rounds of `kill -9` of instances and of the KV server under load, with lost answers. */
import { assert, assertEquals } from "@std/assert";
import { type Random } from "../../../tools/random.ts";
import type { Load } from "../../support/harness/load.ts";
import { assertUsage } from "../../support/oracles/totals.ts";
import { Book } from "../crash/book.ts";
import { type Cluster, type Faults, type Instance, NO_FAULTS } from "./cluster.ts";

/** Faults during each round. */
const FAULTS: Faults = { lost: 0.2, unavailable: 0.05, jitterMs: 5 };

/** Acknowledged calls before and after a kill, at most. */
const CALLS_MAX = 200;

/** Maximum milliseconds until a killed process starts again. */
const DOWN_MS_MAX = 1_000;

/** Maximum attempts to send a run's remaining calls. */
const ATTEMPTS_MAX = 50;

/** Maximum milliseconds without a holder of the lease. */
const REPLACED_MS_MAX = 30_000;

/** The process that a round kills; `cut` takes the KV from the lease's holder for a while, and kills nothing. */
type Victim = "holder" | "any" | "kv" | "cut";

/** Victims, weighted by repetition. */
const VICTIMS: readonly [Victim, ...Victim[]] = ["holder", "holder", "any", "kv", "cut"];

/** Maximum milliseconds of a cut: more than the lease lasts. */
const CUT_MS_MAX = 13_000;

/** Part of the rounds in which a model gets a price and its calls are repriced. */
const REPRICED = 0.2;

/** Rounds on one cluster. */
export class Kills {
  readonly book = new Book();
  readonly metrics = {
    acknowledged: 0,
    refused: 0,
    resent: 0,
    holders: 0,
    instances: 0,
    kv: 0,
    cuts: 0,
    finalMs: [] as number[],
    replacedMs: [] as number[],
  };
  readonly #cluster: Cluster;
  readonly #random: Random;
  constructor(cluster: Cluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
  }

  /** Loads the instances, kills one of them or the KV server, and compares all answers. */
  async round(
    victim: Victim = this.#random.pick(VICTIMS),
    callsMax: number = CALLS_MAX,
  ): Promise<void> {
    const { access } = this.#cluster;
    const load = this.book.newLoad();
    this.#cluster.faults = FAULTS;
    const stop = new AbortController();
    const running = load.run(access, { until: stop.signal, several: true });
    // Throws the error of a failed client at once.
    const reached = (count: number) => Promise.race([load.reached(count), running]);
    await reached(this.#random.int(1, callsMax));
    const repricing = this.#random.chance(REPRICED) ? this.book.price.ask(access) : null;
    const { replaced } = await this.#kill(victim);
    await reached(load.acknowledged + this.#random.int(1, callsMax));
    stop.abort();
    await running;
    this.metrics.acknowledged += load.acknowledged;
    this.metrics.refused += load.refused;
    this.metrics.resent += await load.resend(access, ATTEMPTS_MAX);
    await Promise.all([replaced, repricing]);
    await this.#check(load);
  }

  /** Kills something and starts it again. `replaced` resolves when an instance has the lease. */
  async #kill(victim: Victim): Promise<{ readonly replaced: Promise<void> }> {
    const cluster = this.#cluster;
    const pauseMs = this.#random.int(0, DOWN_MS_MAX);
    const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (victim === "kv") {
      this.metrics.kv++;
      await cluster.kv.kill();
      await pause();
      await cluster.kv.start();
      return { replaced: Promise.resolve() };
    }
    const { holder } = cluster;
    if (victim === "cut" && holder !== null) {
      this.metrics.cuts++;
      return { replaced: this.#cut(holder) };
    }
    const any = this.#random.pick([...cluster.instances] as [Instance, ...Instance[]]);
    const killed = victim === "holder" ? holder ?? any : any;
    const wasHolder = killed === holder;
    this.metrics[wasHolder ? "holders" : "instances"]++;
    const startedMs = performance.now();
    await killed.kill();
    await pause();
    const replaced = wasHolder ? this.#replaced(startedMs) : Promise.resolve();
    // A failure is thrown where the round waits for it.
    replaced.catch(() => {});
    await killed.start();
    return { replaced };
  }

  async #cut({ proxy }: Instance): Promise<void> {
    const ms = this.#random.int(0, CUT_MS_MAX);
    proxy.knobs.isCut = true;
    await new Promise((resolve) => setTimeout(resolve, ms));
    proxy.knobs.isCut = false;
  }

  async #replaced(startedMs: number): Promise<void> {
    while ((this.#cluster.holder?.leaseMs ?? -Infinity) < startedMs) {
      assert(performance.now() - startedMs < REPLACED_MS_MAX, "nobody took the lease");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.metrics.replacedMs.push((this.#cluster.holder?.leaseMs ?? NaN) - startedMs);
  }

  async #check(load: Load): Promise<void> {
    const { access } = this.#cluster;
    assertEquals(load.misanswered, [], "first calls were answered as repeated ones");
    const startedMs = performance.now();
    await load.untilFinal(access);
    this.metrics.finalMs.push(performance.now() - startedMs);
    this.#cluster.faults = NO_FAULTS;
    const { stored, acknowledged, sent } = await load.verify(access);
    assertEquals([stored, acknowledged], [sent, sent]);
    this.book.add(load);
    await assertUsage(access, this.book.totals.counted);
    await this.book.check(access);
    this.#cluster.assertNoDefects();
  }

  /** Recomputes all sums from the runs: none may differ. */
  async audit(): Promise<void> {
    const { runs, events } = this.book.totals;
    assertEquals(await this.#cluster.audit(), { runs, events });
  }

  /** Reads every run of all rounds again. */
  async verifyAll(): Promise<void> {
    await this.book.verifyAll(this.#cluster.access);
  }
}
