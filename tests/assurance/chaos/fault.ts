/** Shared parts of the faults: their type, and the service that they act on. */
import { KEY } from "../../support/harness/harness.ts";
import type { Load } from "../../support/harness/load.ts";
import type { Settings } from "../../support/harness/process.ts";
import type { Access } from "../../support/oracles/totals.ts";
import type { PartCounts } from "../../support/oracles/verify.ts";

/** A fault that is caused on purpose around a service. */
export interface Fault {
  readonly name: string;
  /** Reason why this machine cannot cause the fault; absent if it can. */
  readonly impossible?: string | undefined;
  /**
   * Causes the fault and returns its results as text. Throws if a promise of the service is broken.
   */
  run(): Promise<string>;
}

export { KEY };

/** Returns settings of a service with a ledger in `folder` and a team without limits. */
export function settingsIn(folder: string, more: Settings = {}) {
  const RUNLEDGER_KV = `${folder}/ledger.kv`;
  return { RUNLEDGER_KV, RUNLEDGER_KEY: KEY, RUNLEDGER_TIER: "enterprise", ...more };
}

/** Returns the address and credential of such a service. */
export function accessTo({ url }: Pick<Access, "url">): Access {
  return { url, key: KEY };
}

/** A load that runs until it is stopped. Always `await using`. */
export interface RunningLoad extends AsyncDisposable {
  /** Stops the load and waits for its last responses. */
  stop(): Promise<void>;
}

/** Starts clients that keep writing whatever the responses are. */
export function startLoad(load: Load, process: Pick<Access, "url">): RunningLoad {
  const stopping = new AbortController();
  const running = load.run(accessTo(process), { until: stopping.signal });
  const stop = async () => {
    stopping.abort();
    await running;
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

/** Formats the totals of a ledger. */
export function formatCounts({ acknowledged, stored }: PartCounts): string {
  return `${number(acknowledged)} acknowledged, ${number(stored)} stored`;
}

/** Formats the milliseconds since `startedMs`. */
export function msSince(startedMs: number): string {
  return `${Math.round(performance.now() - startedMs).toLocaleString("en")} ms`;
}

/** Formats a count. */
export function number(count: number): string {
  return count.toLocaleString("en");
}
