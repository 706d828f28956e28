/** Shared parts of the faults: their type, and the service that they act on. */
import { KEY } from "../../support/harness/harness.ts";
import { Load } from "../../support/harness/load.ts";
import { Process, type Settings } from "../../support/harness/process.ts";
import type { Access } from "../../support/oracles/totals.ts";
import type { PartCounts } from "../../support/oracles/verify.ts";
import { stopExact } from "./verify.ts";

/** Calls before a fault. */
const CALLS_BEFORE = 300;

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

/** A fault that passes while a service runs. */
export interface Interruption {
  begin(): Promise<void>;
  /** Does something meanwhile. */
  meanwhile?(load: Load, process: Process): Promise<void>;
  end(): Promise<void>;
  /** Checks the load after its last call. */
  check?(load: Load): void;
  /** Calls that are refused before it ends, at least. */
  readonly refused: number;
}

/** Interrupts a service under load: it refuses calls with 503, and then accepts them again. */
export async function interrupted(
  settings: ReturnType<typeof settingsIn>,
  { begin, meanwhile, end, check, refused }: Interruption,
): Promise<string> {
  await using process = await Process.start(settings);
  const load = new Load(0);
  await using running = startLoad(load, process);
  await load.reached(CALLS_BEFORE);
  await begin();
  try {
    await meanwhile?.(load, process);
    await load.until((load) => load.refused >= refused);
  } finally {
    await end();
  }
  const [endMs, acknowledged] = [performance.now(), load.acknowledged];
  await load.until((load) => load.acknowledged > acknowledged);
  const acceptedIn = msSince(endMs);
  await running.stop();
  check?.(load);
  await load.resend(accessTo(process));
  const verified = await stopExact(process, settings.RUNLEDGER_KV, [load]);
  return `${formatCounts(verified)}, ${number(load.refused)} calls refused with 503, ` +
    `accepted again after ${acceptedIn}, exact`;
}

/** Returns the status of a call with the key. */
export async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, { ...init, headers: { Authorization: `Bearer ${KEY}` } });
  await response.body?.cancel();
  return response.status;
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
