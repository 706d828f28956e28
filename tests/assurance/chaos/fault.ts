/** Shared parts of the faults: their type, and the service that they act on. */
import { KEY } from "../../support/harness/harness.ts";
import { Load } from "../../support/harness/load.ts";
import { Process, type Settings } from "../../support/harness/process.ts";
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
interface RunningLoad extends AsyncDisposable {
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

/** Runs `work` on a service with a running load, of which `count` calls are acknowledged. */
export async function underLoad<T>(
  settings: Settings,
  count: number,
  work: (process: Process, load: Load, running: RunningLoad) => Promise<T>,
): Promise<T> {
  await using process = await Process.start(settings);
  const load = new Load(0);
  await using running = startLoad(load, process);
  await load.reached(count);
  return await work(process, load, running);
}

/** Resolves when a further call is acknowledged; returns the time until then as text. */
export async function acknowledgedAgain(load: Load): Promise<string> {
  const [startedMs, acknowledged] = [performance.now(), load.acknowledged];
  await load.until((load) => load.acknowledged > acknowledged);
  return msSince(startedMs);
}

/** Returns the status of a GET with the key, or of a POST with a body. */
export async function statusOf(url: string, body?: string): Promise<number> {
  const post = body === undefined ? {} : { method: "POST", body };
  const response = await fetch(url, { headers: { Authorization: `Bearer ${KEY}` }, ...post });
  await response.body?.cancel();
  return response.status;
}

/** Formats the totals of a ledger. */
export function formatCounts({ acknowledged, stored }: PartCounts): string {
  return `${number(acknowledged)} acknowledged, ${number(stored)} stored`;
}

export function msSince(startedMs: number): string {
  return `${Math.round(performance.now() - startedMs).toLocaleString("en")} ms`;
}

export function number(count: number): string {
  return count.toLocaleString("en");
}
