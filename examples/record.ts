/** Records a run with a model call in Runledger: `deno run -NE record.ts`, or Node.js 22.18. */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const SERVICE = process.env.RUNLEDGER_URL ?? "http://127.0.0.1:8000";
const KEY = process.env.RUNLEDGER_KEY ?? "apk_eu_0123456789abcdef0123456789abcdef";
const newId = (kind: string) =>
  `${kind}_${KEY.split("_")[1]}_${crypto.randomUUID().replaceAll("-", "")}`;
const now = () => new Date().toISOString();

/** Repeats a call without an answer; by its ids, the service counts it once. */
async function post(path: string, body: object): Promise<void> {
  const call = { method: "POST", headers: { Authorization: `Bearer ${KEY}` } };
  for (let waitMs = 1_000;; waitMs *= 2) {
    const sent = { ...call, body: JSON.stringify(body), signal: AbortSignal.timeout(10_000) };
    const answer = await fetch(SERVICE + path, sent).catch(() => null);
    const text = await answer?.text();
    if (answer?.ok) return;
    const retry = [408, 429, 500, 502, 503].includes(answer?.status ?? 503);
    if (!retry || waitMs > 4_000) throw new Error(`${path}: ${text ?? "no answer"}`);
    await sleep(waitMs);
  }
}

/** Opens a run, passes a function that records its events, and closes it. */
async function run(agent: string, work: (record: typeof post) => Promise<object>): Promise<void> {
  const path = `/v1/runs/${newId("run")}`;
  const finish = (end: object) => post(`${path}/finish`, { ...end, finished_at: now() });
  await post("/v1/runs", { id: path.slice(9), agent, started_at: now() });
  const record = (type: string, data: object) =>
    post(`${path}/events`, { events: [{ id: newId("evt"), type, ts: now(), data }] });
  const output = await work(record).catch((error) => error as Error);
  await finish(output instanceof Error ? { status: "failed" } : { status: "success", output });
  if (output instanceof Error) throw output;
}

await run("summarizer", async (record) => {
  await record("llm_call", { model: "gpt-4o", input_tokens: 1_200, output_tokens: 340 });
  return { answer: 42 };
});
