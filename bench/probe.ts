/** Measures the time from a finish to the final cost, while a service is under load. */
import { newId } from "./fill.ts";
import { RUN_EVENTS } from "./load.ts";
import { keyOf } from "./service.ts";

/** Pause between two reads of a probe. */
const POLL_MS = 5;

/** Sends a complete run and measures the time from its finish until its cost is final. */
export async function lagOf(url: string): Promise<number> {
  const nowMs = Date.now();
  const now = new Date(nowMs);
  const id = newId("run", nowMs);
  const headers = { Authorization: `Bearer ${keyOf(1)}` };
  const send = async (path: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { headers, ...init });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const data = { provider: "openai", model: "gpt-4o", input_tokens: 1_200, output_tokens: 340 };
  const events = Array.from(
    { length: RUN_EVENTS },
    () => ({ id: newId("evt", nowMs), type: "llm_call", ts: now, data }),
  );
  await send("/v1/runs", { id, agent: "probe", started_at: now });
  await send(`/v1/runs/${id}/events`, { events });
  await send(`/v1/runs/${id}/finish`, { status: "success", finished_at: now });
  const finishedMs = performance.now();
  while ((await send(`/v1/runs/${id}`)).cost.state !== "final") {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return performance.now() - finishedMs;
}
