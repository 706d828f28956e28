/** Runs with calls of a model, and results of repricing them, over a running service. */
import { assert, assertEquals } from "@std/assert";
import { aFinish, anEvent, aRun, at, runId } from "./requests.ts";
import type { Answer, Harness } from "../harness/harness.ts";
import { until } from "../harness/until.ts";

export const REPRICE = "/v1/rate-card/reprice";

/** A model of an unknown provider, without a default price. */
export const ATLAS = { provider: "in-house", model: "atlas-70b" };

/** A price of {@link ATLAS}: {@link aModelCall} costs 0.003. */
export const PRICE = { model: ATLAS.model, input_usd_per_million: 2, output_usd_per_million: 10 };

/** Creates a call of the model with 1,000 input and 100 output tokens. */
export function aModelCall(
  n: number,
  data: Record<string, unknown> = {},
  fields: Record<string, unknown> = {},
) {
  const tokens = { input_tokens: 1_000, output_tokens: 100 };
  return anEvent(n, { type: "llm_call", data: { ...ATLAS, ...tokens, ...data }, ...fields });
}

export async function sendEvents(h: Harness, n: number, ...events: unknown[]): Promise<void> {
  assertEquals((await h.post(`/v1/runs/${runId(n)}/events`, { events })).status, 202);
}

export async function aClosedRun(
  h: Harness,
  n: number,
  events: unknown[] = [aModelCall(1)],
  fields: Record<string, unknown> = {},
): Promise<void> {
  assertEquals((await h.post("/v1/runs", aRun(n, fields))).status, 202);
  await sendEvents(h, n, ...events);
  assertEquals((await h.post(`/v1/runs/${runId(n)}/finish`, aFinish())).status, 202);
}

/** Puts a price; returns the id of its row. */
export async function putPrice(h: Harness, fields: Record<string, unknown> = {}): Promise<string> {
  const answer = await h.request("PUT", "/v1/rate-card", { body: { ...PRICE, ...fields } });
  assert(answer.status < 300, answer.text);
  return answer.json.id;
}

/** Reprices calls of the model; returns the finished job. */
export async function reprice(h: Harness, fields: Record<string, unknown> = {}) {
  const { status, json } = await h.post(REPRICE, { model: ATLAS.model, ...fields });
  assertEquals(status, 202, JSON.stringify(json));
  if (json.state === "done") return json;
  // It may take longer than its request waits for it.
  return await until(async () => {
    const { json: job } = await h.get(`${REPRICE}/${json.id}`);
    return job.state === "done" && job;
  }, () => JSON.stringify(json));
}

/** Returns a job's counts of calls, runs and changed runs, and its costs before and after. */
export function resultOf(job: Answer["json"]): number[] {
  return [job.llm_calls, job.runs, job.runs_changed, job.old_cost_usd, job.new_cost_usd];
}

/** Returns a run after its aggregation. */
export async function runOf(h: Harness, n: number) {
  return (await h.getFinal(`/v1/runs/${runId(n)}?events_limit=1000`)).json;
}

/** Returns cost, revision and unpriced models of a run. */
export async function costOf(h: Harness, n: number): Promise<unknown[]> {
  const { cost_usd, cost } = await runOf(h, n);
  return [cost_usd, cost.revision, cost.unpriced_models];
}

/** Returns cost and unpriced calls of all runs. */
export async function spent(h: Harness, group = "day"): Promise<unknown[]> {
  const { json } = await h.getFinal(`/v1/spend?from=2026-11-01&to=2026-11-30&group_by=${group}`);
  const { totals, groups } = json;
  const sums = [totals.cost_usd, totals.unpriced.llm_calls];
  return group === "day" ? sums : groups.map((each: Answer["json"]) => [each.key, each.cost_usd]);
}

/** Returns an instant `days` before the tests' noon. */
export function daysAgo(days: number, ms = 0): string {
  return at(-days * 86_400_000 + ms);
}
