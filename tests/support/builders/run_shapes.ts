/** Runs of every shape that reads show, by their distinguishing feature. */
import {
  accepted,
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  aScore,
  at,
  events,
  runId,
} from "./requests.ts";
import type { Harness } from "../harness/harness.ts";
import { ATLAS } from "./reprice.ts";

const TOKENS = { provider: "openai", model: "gpt-4o", input_tokens: 1_200, output_tokens: 340 };
const UNPRICED = { ...ATLAS, input_tokens: 1_000, output_tokens: 100 };

function aCall(n: number, data: Record<string, unknown>) {
  return anEvent(n, { type: "llm_call", data });
}

/** Stores a run of a shape; `n` is the number of its id. */
type Store = (h: Harness, n: number) => Promise<unknown>;

const RUN_SHAPES: Readonly<Record<string, Store>> = {
  "open": (h, n) => open(h, n),
  "with everything an opening has": (h, n) =>
    open(h, n, {
      customer_id: "acme",
      feature: "search",
      metadata: { env: "prod", retries: 2, beta: true },
      parent_run_id: runId(n - 1),
      goal: "find it",
      idle_timeout_seconds: 600,
      idle_timeout_status: "timeout",
    }),
  "priced by its tokens": async (h, n) => {
    await open(h, n);
    const cached = aCall(2, { ...TOKENS, cached_input_tokens: 2_000, reasoning_tokens: 3 });
    await append(h, n, aCall(1, TOKENS), cached, anEvent(3, { type: "tool_call", turn: 2 }));
    await finish(h, n, { output: { answer: 42 }, scores: { quality: 0.5, done: true } });
  },
  "unpriced": async (h, n) => {
    await open(h, n, { agent: "writer" });
    await append(h, n, aCall(1, UNPRICED), aCall(2, { ...UNPRICED, provider: null }));
    await finish(h, n, { status: "failed" });
  },
  "with a call of no model": async (h, n) => {
    await open(h, n);
    await append(h, n, aCall(1, { input_tokens: 5 }), aCall(2, {}), aCall(3, { cost_usd: 1 }));
    await finish(h, n);
  },
  "with a cost that a heartbeat states": (h, n) => beat(h, n, { cost_usd: 0.25 }),
  "with a stated cost and a model": (h, n) => beat(h, n, { cost_usd: 0.25, ...TOKENS }),
  "with a stated cost and calls": async (h, n) => {
    await beat(h, n, { cost_usd: 0.25 });
    await append(h, n, aCall(1, TOKENS), aCall(2, UNPRICED));
  },
  "a heartbeat priced by its tokens": (h, n) => beat(h, n, TOKENS),
  "a heartbeat without a price": (h, n) => beat(h, n, { ...UNPRICED, cached_input_tokens: 2_000 }),
  "a heartbeat with tokens of no model": (h, n) => beat(h, n, { input_tokens: 7 }),
  "a heartbeat that starts": (h, n) => beat(h, n, { status: "start" }),
  "a heartbeat that fails": async (h, n) => {
    await beat(h, n, { status: "start", started_at: at(-60_000) });
    await beat(h, n, { status: "fail", output: { error: "disk full" }, ...TOKENS });
  },
  "a heartbeat that times out": (h, n) => beat(h, n, { status: "timeout", duration_ms: 9 }),
  "a ping with a note": async (h, n) => {
    const query = `agent=nightly&id=${runId(n)}&exit_code=3&metadata=night%20shift`;
    await accepted(h.get(`/v1/ping?${query}`));
  },
  "without an opening": async (h, n) => {
    await append(h, n, aCall(1, TOKENS), ...events(2, 4));
    await finish(h, n);
  },
  "a finish alone": (h, n) => finish(h, n, { status: "cancelled", scores: { quality: 1 } }),
  "with late parts": async (h, n) => {
    await open(h, n);
    await finish(h, n);
    await h.worker.idle();
    await append(h, n, aCall(1, TOKENS), anEvent(2, { data: {} }));
  },
  "ended before it started": async (h, n) => {
    await open(h, n, { started_at: at(9_000) });
    await finish(h, n, { finished_at: at(-9_000) });
  },
  "with a clock that is off": (h, n) => open(h, n, { started_at: at(86_000_000) }),
  "with a trace": async (h, n) => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await accepted(h.post("/v1/runs", aRun(n), { headers: { traceparent } }));
  },
  "with scores that were added": async (h, n) => {
    await open(h, n);
    await accepted(h.post(`/v1/runs/${runId(n)}/scores`, aScore(1, { source: "review" })));
    await accepted(h.post(`/v1/runs/${runId(n)}/scores`, aScore(2, { value: true })));
  },
  "a score alone": (h, n) => accepted(h.post(`/v1/runs/${runId(n)}/scores`, aScore(3))),
  "with children": async (h, n) => {
    await open(h, n);
    for (let child = 0; child < 3; child++) {
      await beat(h, 1_000 * n + child, { cost_usd: 1 });
      await open(h, 1_000 * n + 100 + child, { parent_run_id: runId(n) });
    }
  },
};

async function open(h: Harness, n: number, fields: Record<string, unknown> = {}): Promise<void> {
  await accepted(h.post("/v1/runs", aRun(n, fields)));
}

async function append(h: Harness, n: number, ...sent: unknown[]): Promise<void> {
  await accepted(h.post(`/v1/runs/${runId(n)}/events`, { events: sent }));
}

async function finish(h: Harness, n: number, fields: Record<string, unknown> = {}): Promise<void> {
  await accepted(h.post(`/v1/runs/${runId(n)}/finish`, aFinish(fields)));
}

async function beat(h: Harness, n: number, fields: Record<string, unknown>): Promise<void> {
  await accepted(h.post("/v1/heartbeats", aHeartbeat(n, fields)));
}

/** Stores a run of each shape; returns the names by id. */
export async function storeShapes(h: Harness, first: number): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const [index, [name, store]] of Object.entries(RUN_SHAPES).entries()) {
    await store(h, first + index);
    names.set(runId(first + index), name);
  }
  await h.worker.idle();
  return names;
}
