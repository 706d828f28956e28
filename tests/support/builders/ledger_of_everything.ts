/** A ledger with every kind of object, of two teams. */
import { accepted, aFinish, aHeartbeat, anEvent, aRun, at, events, runId } from "./requests.ts";
import type { Harness } from "../harness/harness.ts";
import { put } from "./rate_cards.ts";
import { noise } from "../harness/temp_store.ts";

export function aCall(n: number, model: string, fields: Record<string, unknown> = {}) {
  const data = { provider: "acme", model, input_tokens: 100 + n, output_tokens: n };
  return anEvent(n, { type: "llm_call", data: { ...data, ...fields } });
}

/** Runs and events that {@link fill} stores for the first team. */
export const FILLED = { runs: 10, events: 41 } as const;

/** Stores everything; returns the key of the second team. */
export async function fill(h: Harness): Promise<string> {
  await accepted(put(h, { model: "atlas", cached_input_usd_per_million: 0.25 }));
  await fillRuns(h);
  await fillHeartbeats(h);
  const { key } = await h.addTeam("business");
  // The same ids as those of the first team: they are different runs.
  await accepted(h.post("/v1/runs", aRun(1), { key }));
  await accepted(h.post(`/v1/runs/${runId(1)}/events`, { events: [aCall(1, "atlas")] }, { key }));
  await accepted(h.post("/v1/heartbeats", aHeartbeat(4, { cost_usd: 2 }), { key }));
  await h.worker.idle();
  return key;
}

async function fillRuns(h: Harness): Promise<void> {
  const path = (n: number) => `/v1/runs/${runId(n)}`;
  // Late events, duplicates within a batch and between batches, and a second finish.
  await accepted(h.post("/v1/runs", aRun(1, { customer_id: "acme", feature: "search" })));
  await accepted(h.post("/v1/runs", aRun(1, { customer_id: "acme", feature: "search" })));
  await accepted(h.post(`${path(1)}/events`, { events: [aCall(1, "atlas"), ...events(2, 3)] }));
  await accepted(h.post(`${path(1)}/events`, { events: [aCall(1, "atlas"), aCall(4, "new")] }));
  await accepted(h.post(`${path(1)}/finish`, aFinish({ output: { text: noise(200_000) } })));
  await accepted(h.post(`${path(1)}/finish`, aFinish({ status: "failed" })));
  await h.worker.idle();
  const failed = { type: "tool_call", data: { name: "open_file", error: "no such file" } };
  const late = [anEvent(5, failed), aCall(6, "atlas", { cached_input_tokens: 200 })];
  await accepted(h.post(`${path(1)}/events`, { events: [...late, late[0]] }));
  // More models than are listed individually, and no opening.
  const many = Array.from({ length: 25 }, (_, n) => aCall(100 + n, `model-${n}`));
  await accepted(h.post(`${path(2)}/events`, { events: many.slice(5) }));
  await accepted(h.post(`${path(2)}/events`, { events: many.slice(0, 5) }));
  await accepted(h.post(`${path(3)}/finish`, aFinish({ status: "cancelled" })));
  // In another month, by the client's and the server's clock.
  const noon = h.nowMs;
  h.nowMs = noon + 30 * 86_400_000;
  const nextMonth = { started_at: at(30 * 86_400_000) };
  await accepted(h.post("/v1/runs", aRun(10, { agent: "writer", ...nextMonth })));
  await accepted(h.post(`${path(10)}/events`, { events: events(200, 208) }));
  h.nowMs = noon;
}

async function fillHeartbeats(h: Harness): Promise<void> {
  const tokens = { model: "atlas", input_tokens: 9, output_tokens: 8, cached_input_tokens: 7 };
  const send = (n: number, fields: Record<string, unknown>) =>
    accepted(h.post("/v1/heartbeats", aHeartbeat(n, fields)));
  await send(4, tokens);
  await send(5, { status: "start", feature: "early", started_at: at(-86_400_000) });
  await send(5, { ...tokens, status: "fail", customer_id: "late", feature: "late" });
  await send(6, { cost_usd: 0.1, model: "atlas" });
  await accepted(h.post(`/v1/runs/${runId(6)}/events`, { events: [aCall(300, "atlas")] }));
  await send(7, { cost_usd: 3 });
  await send(8, { status: "start" });
  // A finish closes the run before the heartbeat opens it.
  await accepted(h.post(`/v1/runs/${runId(9)}/finish`, aFinish()));
  await send(9, { ...tokens, id: runId(9) });
}
