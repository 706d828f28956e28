/**
 * Several service processes over one KV server, each behind a proxy of its own that loses answers,
 * and every one of them can be killed.
 */
import { assert, assertEquals } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { openUnlocked } from "../../../kv/open.ts";
import { KvProcess } from "../../support/fakes/denokv.ts";
import { asKvClient, KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { type Fate, KvProxy, type ProxyRequest } from "../../support/fakes/kv_proxy.ts";
import { Process, type Settings } from "../../support/harness/process.ts";
import type { Access } from "../../support/oracles/totals.ts";
import type { Random } from "../../../tools/random.ts";
import { isDefect } from "../crash/book.ts";

/** The first team's key. */
const KEY = `apk_eu_${"5a".repeat(16)}`;
/** The operator's key, for teams. */
export const OPERATOR_KEY = `opk_eu_${"5b".repeat(16)}`;

/** Rates of faults, and milliseconds of delay, at most. */
export interface Faults {
  /** Part of the commits without an answer: some of them are stored later. */
  readonly lost: number;
  /** Part of the commits with 503: some of them are not stored. */
  readonly unavailable: number;
  readonly jitterMs: number;
}

export const NO_FAULTS: Faults = { lost: 0, unavailable: 0, jitterMs: 0 };

/** First part of the key of the lease, as a request's body has it. */
const LEASE = "\x02lease\x00";

export class Instance {
  readonly proxy: KvProxy;
  process: Process | null = null;
  /** Time of the latest renewal of the lease. */
  leaseMs = -Infinity;
  readonly defects: string[] = [];
  readonly #settings: Settings;

  constructor(kv: KvProcess, settings: Settings) {
    this.proxy = new KvProxy(() => kv.origin);
    this.#settings = { ...settings, RUNLEDGER_KV: this.proxy.origin + kv.path };
    this.proxy.onRequest = (request) => this.#sees(request);
  }

  async start(): Promise<void> {
    this.process = await Process.startLogging(this.#settings, (line) => this.#logs(line));
  }

  async kill(): Promise<void> {
    const { process } = this;
    this.process = null;
    await process?.stop("SIGKILL");
    this.leaseMs = -Infinity;
  }

  #sees({ kind, text }: ProxyRequest): void {
    if (kind === "commit" && text.includes(LEASE)) this.leaseMs = performance.now();
  }

  #logs(line: string): void {
    if (isDefect(line)) this.defects.push(line);
  }
}

/** The instances and their KV server. Always `await using`. */
export class Cluster implements AsyncDisposable {
  readonly access: Access;
  readonly #random: Random;

  private constructor(
    readonly kv: KvProcess,
    readonly instances: readonly Instance[],
    random: Random,
  ) {
    this.#random = random;
    const pick = () => this.#pick();
    this.access = {
      key: KEY,
      get url() {
        return pick();
      },
    };
  }

  /** Starts a KV server with its file in a folder, and instances. */
  static async start(
    folder: string,
    { denokv, random, count = 3, settings: others = {} }: {
      readonly denokv: string | null;
      readonly random: Random;
      readonly count?: number;
      readonly settings?: Settings;
    },
  ): Promise<Cluster> {
    const kv = await KvProcess.start(folder, denokv);
    const settings = {
      RUNLEDGER_KV_TOKEN: KV_TOKEN,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_OPERATOR_KEY: OPERATOR_KEY,
      RUNLEDGER_TIER: "enterprise",
      ...others,
    };
    const instances = Array.from({ length: count }, () => new Instance(kv, settings));
    const cluster = new Cluster(kv, instances, random);
    try {
      await Promise.all(instances.map((instance) => instance.start()));
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Recomputes all sums from the runs, without faults: none may differ. */
  async audit(): Promise<{ readonly runs: number; readonly events: number }> {
    const store = await asKvClient(() => openUnlocked(this.kv.url));
    try {
      const { differences, teams, runs, events } = await verifyStore(store);
      assertEquals(differences, []);
      assert(teams.every(({ state }) => state === "exact"), JSON.stringify(teams));
      return { runs, events };
    } finally {
      await store.close();
    }
  }

  set faults({ lost, unavailable, jitterMs }: Faults) {
    const random = this.#random;
    const fate = (): Fate => {
      if (random.chance(lost)) return random.pick<Fate>(["lost", "lost", "lost", "late", "torn"]);
      if (random.chance(unavailable)) return random.chance(0.5) ? "refused" : "unavailable";
      return "sent";
    };
    for (const { proxy } of this.instances) {
      proxy.knobs.fate = fate;
      proxy.knobs.delayMs = () => jitterMs === 0 ? 0 : random.int(0, jitterMs);
    }
  }

  /** The instance that renewed the lease last; null without one. */
  get holder(): Instance | null {
    const [latest] = this.instances.toSorted((a, b) => b.leaseMs - a.leaseMs);
    return latest === undefined || latest.leaseMs === -Infinity ? null : latest;
  }

  /** Fails if an instance has logged a defect. */
  assertNoDefects(): void {
    const defects = this.instances.flatMap(({ defects }) => defects);
    assert(defects.length === 0, defects.join("\n"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.kill()));
    await Promise.all(this.instances.map(({ proxy }) => proxy[Symbol.asyncDispose]()));
    await this.kv[Symbol.asyncDispose]();
  }

  /** Returns the address of a random running instance. */
  #pick(): string {
    const running = this.instances.flatMap(({ process }) => process === null ? [] : [process.url]);
    const [first, ...others] = running;
    assert(first !== undefined, "no instance is running");
    return this.#random.pick([first, ...others]);
  }
}
