/** Rounds of load on a platform that kills instances, and their comparison with the clients' responses. */
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../tools/random.ts";
import { DAYS, totalsOf } from "../../support/builders/scripts.ts";
import { KEY } from "../../support/harness/harness.ts";
import { asKvClient, KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Load } from "../../support/harness/load.ts";
import { Platform, type PlatformOptions } from "../../support/fakes/platform.ts";
import type { Settings } from "../../support/harness/process.ts";
import {
  type Access,
  addTotals,
  assertTotals,
  assertVerified,
  noTotals,
} from "../../support/oracles/totals.ts";

/** Acknowledged calls between two kills. */
const CALLS_PER_KILL = { min: 20, max: 200 } as const;

/** Acknowledged calls that the clients surely reach in time. */
const CALLS_PER_STEP = 1_000;

/** Crons after the load until all costs are final; one waits for the lease of a killed instance. */
const CRONS_MAX = 3;

/** Settings of an app whose attached KV is a database of a test server. */
export function settingsOf(url: string): Settings {
  return {
    DENO_KV_DEFAULT_PATH: url,
    DENO_KV_ACCESS_TOKEN: KV_TOKEN,
    RUNLEDGER_REGION: "eu",
    RUNLEDGER_KEY: KEY,
    RUNLEDGER_TIER: "enterprise",
  };
}

/** A platform, its KV and its clients. Always `await using`. */
export class KillRounds implements AsyncDisposable {
  kills = 0;
  readonly load = new Load(1);

  private constructor(readonly kv: KvServer, readonly platform: Platform) {}

  static async start(options: PlatformOptions): Promise<KillRounds> {
    const kv = await KvServer.start();
    return new KillRounds(kv, new Platform(settingsOf(kv.url()), options));
  }

  get access(): Access {
    return { url: this.platform.url, key: KEY };
  }

  /** Lets clients write until `kills` instances were killed; crons run meanwhile. */
  async run(kills: number, seed: string): Promise<void> {
    const random = new Random(seed);
    const { platform } = this;
    await this.#underLoad(async (more) => {
      for (let kill = 0; kill < kills; kill++) {
        await more(random.int(CALLS_PER_KILL.min, CALLS_PER_KILL.max));
        if (platform.instances > 0) this.kills++;
        await platform.kill(random.int(0, 3));
      }
      await more(CALLS_PER_KILL.min);
    });
  }

  /** Lets clients write until `calls` calls are acknowledged; crons run meanwhile. */
  async fill(calls: number): Promise<void> {
    await this.#underLoad(async (more) => {
      for (let done = 0; done < calls; done += CALLS_PER_STEP) await more(CALLS_PER_STEP);
    });
  }

  /** Does something while clients write; `more` resolves once they have more acknowledged calls. */
  async #underLoad(work: (more: (calls: number) => Promise<void>) => Promise<void>) {
    const { load } = this;
    const end = new AbortController();
    const running = load.run(this.access, { until: end.signal });
    const crons = this.#runCrons(end.signal);
    try {
      // Clients that fail end the work.
      await work((calls) => Promise.race([load.reached(load.acknowledged + calls), running]));
    } finally {
      end.abort();
      await Promise.all([running, crons]);
    }
  }

  /**
   * Compares the ledger with the responses, when crons have made all costs final; returns the
   * milliseconds of these crons.
   */
  async verify(): Promise<number> {
    const { load, platform, access } = this;
    assertEquals(platform.failures, []);
    // The comparison needs no more instances than there are.
    platform.instancesMax = 1;
    await load.verify(access);
    await load.resend(access);
    const totals = noTotals();
    for (const script of load.scripts) addTotals(totals, totalsOf(script));
    const startMs = performance.now();
    for (let cron = 1; !await platform.runCrons(); cron++) assert(cron < CRONS_MAX, "crons fail");
    const cronMs = performance.now() - startMs;
    await load.untilFinal(access);
    await assertTotals(access, DAYS, totals);
    await asKvClient(() => assertVerified(this.kv.url(), totals));
    return cronMs;
  }

  /** Runs the crons one time after the other, as the platform does each minute. */
  async #runCrons(end: AbortSignal): Promise<void> {
    // One that is killed fails.
    while (!end.aborted) await this.platform.runCrons().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.platform[Symbol.asyncDispose]();
    await this.kv[Symbol.asyncDispose]();
  }
}
