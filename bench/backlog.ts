/**
 * The backlog of a server by its API: the accepted calls minus the calls in its sums.
 * It does not depend on how the worker finds its work, so other checkouts have it too.
 */
import { addTo, subtractCounts } from "../domain/core/sums.ts";
import { formatInstant } from "../domain/core/time.ts";
import { RUN_EVENTS } from "./load.ts";
import { untilIdle } from "./process.ts";
import { keyOf } from "./service.ts";
import { servicesOf, type Side } from "./sides.ts";

/** Calls of the loads `run`, `heartbeat` and `ping` by what they add to the sums. */
export interface Counts {
  readonly opened: number;
  readonly batches: number;
  readonly finished: number;
}

/** Counts of a server at one time. */
export interface Progress {
  /** Since the start of its process. */
  readonly accepted: Counts;
  /** In all sums of the ledger. */
  readonly aggregated: Counts;
}

const HEARTBEAT = ["opened", "finished"] as const;
const ADDED: Readonly<Record<string, readonly (keyof Counts)[]>> = {
  "POST /v1/runs": ["opened"],
  "POST /v1/runs/:id/events": ["batches"],
  "POST /v1/runs/:id/finish": ["finished"],
  "POST /v1/heartbeats": HEARTBEAT,
  "GET /v1/ping": HEARTBEAT,
};

/** Counts accepted calls in the text of `/metrics`. */
export function parseAccepted(metrics: string): Counts {
  const line =
    /^runledger_http_requests_total\{method="(\w+)",route="([^"]+)",status="20\d"\} (\d+)$/gm;
  const total = { opened: 0, batches: 0, finished: 0 };
  for (const [, method, route, count] of metrics.matchAll(line)) {
    for (const name of ADDED[`${method} ${route}`] ?? []) addTo(total, { [name]: Number(count) });
  }
  return total;
}

/** First day of the sums, so that a midnight during a measurement changes nothing. */
const FROM = formatInstant(Date.now() - 86_400_000).slice(0, 10);

/** Reads the counts of a server. */
export async function readProgress(side: Side): Promise<Progress> {
  const get = async (path: string, url = side.url) => {
    const response = await fetch(url + path, {
      headers: { Authorization: `Bearer ${keyOf(1)}` },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return text;
  };
  // In this order, a call that is accepted in between counts as pending and never as lost.
  const { totals } = JSON.parse(await get(`/v1/spend?from=${FROM}`));
  const metrics = await Promise.all(servicesOf(side).map(({ url }) => get("/metrics", url)));
  const accepted = parseAccepted(metrics.join("\n"));
  const { runs: opened, successful_runs: finished, events } = totals;
  return { accepted, aggregated: { opened, finished, batches: events / RUN_EVENTS } };
}

function pending(start: Progress, now: Progress): Counts {
  return subtractCounts(
    subtractCounts(now.accepted, start.accepted),
    subtractCounts(now.aggregated, start.aggregated),
  );
}

/** Pause between two reads of the counts, which take time of the server. */
const POLL_MS = 50;
const DRAIN_LIMIT_MS = 600_000;

/**
 * Waits until all calls accepted since `start` are aggregated, and until the server is idle.
 *
 * @param failures calls without a success; each may be stored nevertheless
 * @returns the time when the backlog was empty, as of `performance.now()`
 * @throws when a call was lost or counted twice
 */
export async function untilDrained(side: Side, start: Progress, failures = 0): Promise<number> {
  const endMs = performance.now() + DRAIN_LIMIT_MS;
  const isPending = (left: Counts) => Object.values(left).some((count) => count > 0);
  while (isPending(pending(start, await readProgress(side))) && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const drainedMs = performance.now();
  for (const { pid } of servicesOf(side)) await untilIdle(pid);
  const left = pending(start, await readProgress(side));
  if (Object.values(left).some((count) => count > 0 || count < -failures)) {
    throw new Error(`"${side.kind}" did not aggregate what it accepted: ${JSON.stringify(left)}`);
  }
  return drainedMs;
}
