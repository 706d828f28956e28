/** Reads the cost of a run, and checks that its parts equal its total. */
import { assert, assertEquals } from "@std/assert";
import { anEvent, runId } from "../builders/requests.ts";
import type { Answer, Harness } from "../harness/harness.ts";
import { put } from "../builders/rate_cards.ts";

/** Path of the first run's cost. */
export const PATH = `/v1/runs/${runId(1)}/cost`;

/** An own price with a rate for each kind of token. */
export const ATLAS = {
  model: "atlas",
  input_usd_per_million: 2.5,
  output_usd_per_million: 10,
  cached_input_usd_per_million: 0.25,
  cache_write_usd_per_million: 3.125,
};

/** An own price that is higher for calls with more than 100 input tokens. */
export const TIERED = {
  ...ATLAS,
  model: "tiered",
  effective_from: "2026-01-01T00:00:00.000Z",
  tiers: [{ above_input_tokens: 100, ...ratesOf(5, 20) }],
};

function ratesOf(input: number, output: number) {
  return { input_usd_per_million: input, output_usd_per_million: output };
}

export function aCall(
  n: number,
  data: Record<string, unknown>,
  fields: Record<string, unknown> = {},
) {
  return anEvent(n, { type: "llm_call", data, ...fields });
}

/** Stores events of the first run. */
export async function sendEvents(h: Harness, ...events: unknown[]): Promise<void> {
  assertEquals((await h.post(`/v1/runs/${runId(1)}/events`, { events })).status, 202);
}

export async function putPrice(h: Harness, fields: Record<string, unknown>): Promise<string> {
  const answer = await put(h, fields);
  assert(answer.status < 300, answer.text);
  return answer.json.id;
}

export async function onlyCall(h: Harness) {
  const { json } = await h.get(PATH);
  assertEquals(json.calls.length, 1);
  return json.calls[0];
}

/** Converts dollars to integer picodollars. */
function picodollars(usd: number): bigint {
  return BigInt(Math.round(usd * 1e12));
}

function sumOf(items: readonly { readonly cost_usd: number }[]): bigint {
  return items.reduce((sum, { cost_usd }) => sum + picodollars(cost_usd), 0n);
}

/** Checks the totals across all pages; returns the calls of all pages. */
export async function assertAddsUp(h: Harness, limit = 50) {
  await h.worker.idle();
  const calls: { cost_usd: number; stated: boolean; lines: { cost_usd: number }[] }[] = [];
  let first: Answer["json"] = null;
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? "" : `&events_cursor=${cursor}`;
    const { json } = await h.get(`${PATH}?events_limit=${limit}${after}`);
    first ??= json;
    assertEquals(json.by_model, first.by_model);
    calls.push(...json.calls);
    cursor = json.events_cursor;
  } while (cursor !== null);
  for (const call of calls) {
    if (!call.stated) assertEquals(sumOf(call.lines), picodollars(call.cost_usd));
  }
  const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
  assertEquals([first.cost_usd, first.cost], [run.cost_usd, run.cost]);
  assertEquals(sumOf(calls), picodollars(run.cost_usd));
  assertEquals(sumOf(first.by_model), picodollars(run.cost_usd));
  for (const kind of ["input_tokens", "output_tokens", "cached_input_tokens"]) {
    const sum = first.by_model.reduce((sum: number, line: Answer["json"]) => sum + line[kind], 0);
    assertEquals(sum, run.usage[kind], kind);
  }
  return calls;
}
