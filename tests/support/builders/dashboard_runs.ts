/** Runs for the dashboard's run list, and its parser. */
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "./requests.ts";
import { hrefsOf } from "../harness/dashboard.ts";
import type { Harness } from "../harness/harness.ts";

/** Path of the page. */
export const RUNS = "/dashboard/runs";

const DAY_MS = 86_400_000;

/** Returns the runs of a page, in its order. */
export function listedOn(html: string): string[] {
  return hrefsOf(html).flatMap((href) => /^\/dashboard\/runs\/(run_\w+)$/.exec(href)?.[1] ?? []);
}

/** Stores a few runs that differ in every filter. */
export async function storeSome(h: Harness): Promise<void> {
  const call = { type: "llm_call", data: { provider: "acme", model: "atlas", input_tokens: 5 } };
  await h.post("/v1/runs", aRun(1, { customer_id: "c", started_at: at(-2 * DAY_MS) }));
  await h.post("/v1/runs", aRun(2, { feature: "f", started_at: at(-1) }));
  await h.post(`/v1/runs/${runId(2)}/events`, { events: [anEvent(1, call)] });
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish({ status: "cancelled" }));
  await h.post("/v1/heartbeats", aHeartbeat(3, { cost_usd: 2, status: "fail" }));
  await h.post(`/v1/runs/${runId(4)}/finish`, aFinish());
  await h.worker.idle();
}
