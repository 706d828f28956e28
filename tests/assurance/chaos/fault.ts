/** What the faults share: how one is written down, and the service that it is done to. */
import { KEY } from "../../support/harness/harness.ts";
import type { Load } from "../../support/harness/load.ts";
import type { Settings } from "../../support/harness/process.ts";
import type { Access } from "../../support/oracles/totals.ts";
import type { Tally } from "../../support/oracles/verify.ts";

/** Something that goes wrong around a service, done to it on purpose. */
export interface Fault {
  readonly name: string;
  /** Why it cannot be done on this machine; absent where it can. */
  readonly impossible?: string | undefined;
  /** Does it; answers the figures. Throws when a promise of the service was not held. */
  run(): Promise<string>;
}

export { KEY };

/** Settings of a service with a ledger in a folder, whose team has no limits. */
export function settingsIn(folder: string, more: Settings = {}) {
  const RUNLEDGER_KV = `${folder}/ledger.kv`;
  return { RUNLEDGER_KV, RUNLEDGER_KEY: KEY, RUNLEDGER_TIER: "enterprise", ...more };
}

/** The way to such a service. */
export function accessTo({ url }: Pick<Access, "url">): Access {
  return { url, key: KEY };
}

/** A load that runs until it is told to stop. Always `await using`. */
export interface RunningLoad extends AsyncDisposable {
  /** Stops it, and waits for its last answers. */
  stop(): Promise<void>;
}

/** Has clients write, whatever they are answered. */
export function startLoad(load: Load, process: Pick<Access, "url">): RunningLoad {
  const stopping = new AbortController();
  const running = load.run(accessTo(process), { until: stopping.signal });
  const stop = async () => {
    stopping.abort();
    await running;
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

/** What a ledger holds, for people. */
export function toldOf({ acknowledged, stored }: Tally): string {
  return `${number(acknowledged)} acknowledged, ${number(stored)} stored`;
}

/** Milliseconds since then, for people. */
export function msSince(startedMs: number): string {
  return `${Math.round(performance.now() - startedMs).toLocaleString("en")} ms`;
}

/** A count, for people. */
export function number(count: number): string {
  return count.toLocaleString("en");
}
