/**
 * Requests as the two official AgentPing SDKs send them, in TypeScript and for Laravel. Both
 * silently drop a call that is answered with 4xx, so none of these may be refused.
 */
import { assert, assertEquals } from "@std/assert";
import { at, eventId, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const TYPESCRIPT = {
  "Content-Type": "application/json",
  "User-Agent": "agentping-ts/0.1",
  "Accept-Language": "*",
  "Sec-Fetch-Mode": "cors",
};

const LARAVEL = { "Content-Type": "application/json", "User-Agent": "agentping-laravel/0.1.0" };

type Fields = Record<string, unknown>;

/** An SDK connected to a service: an undelivered call fails the test. */
class Sdk {
  readonly #h: Harness;
  readonly #headers: Record<string, string>;

  constructor(h: Harness, headers: Record<string, string>) {
    this.#h = h;
    this.#headers = headers;
  }

  async send(path: string, body: unknown): Promise<Answer> {
    const answer = await this.#h.post(path, body, { headers: this.#headers });
    assert([200, 202].includes(answer.status), `${path}: ${answer.status} ${answer.text}`);
    assertEquals(answer.headers.get("runledger-ignored"), null, "its fields are known");
    return answer;
  }

  open(n: number, fields: Fields = {}): Promise<Answer> {
    return this.send("/v1/runs", { id: runId(n), agent: "support", started_at: at(), ...fields });
  }

  events(n: number, events: readonly unknown[]): Promise<Answer> {
    return this.send(`/v1/runs/${runId(n)}/events`, { events });
  }

  finish(n: number, fields: Fields = {}): Promise<Answer> {
    const body = { status: "success", finished_at: at(33), ...fields };
    return this.send(`/v1/runs/${runId(n)}/finish`, body);
  }

  heartbeat(n: number, fields: Fields = {}): Promise<Answer> {
    const times = { started_at: at(), finished_at: at(0) };
    return this.send("/v1/heartbeats", { id: runId(n), agent: "nightly", ...times, ...fields });
  }

  async record(n: number) {
    return (await this.#h.get(`/v1/runs/${runId(n)}?events_limit=1000`)).json;
  }
}

function event(n: number, type: string, data: unknown, fields: Fields = {}) {
  return { external_id: eventId(n), type, ts: at(n), data, ...fields };
}

const CALL = {
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  input_tokens: 1_024,
  output_tokens: 312,
  latency_ms: 812,
};

Harness.test("SDK: the first example of the TypeScript SDK is stored and priced", async (h) => {
  const sdk = new Sdk(h, TYPESCRIPT);
  await sdk.open(1);
  await sdk.events(1, [event(1, "llm_call", CALL), event(2, "log", { message: "done" })]);
  await sdk.finish(1, { scores: { confidence: 0.93 } });
  const run = await sdk.record(1);
  assertEquals(run.status, "success");
  assertEquals([run.usage.input_tokens, run.usage.output_tokens], [1_024, 312]);
  // 1,024 × $3 and 312 × $15 per million.
  assertEquals(run.cost_usd, 0.007752);
  assertEquals(run.scores[0].value, 0.93);
});

Harness.test("SDK: a run that was closed because it was idle is opened again with 200, and finishes", async (h) => {
  for (const [n, headers] of [[1, TYPESCRIPT], [2, LARAVEL]] as const) {
    const sdk = new Sdk(h, headers);
    const options = { idle_timeout_seconds: 60, started_at: new Date(h.nowMs).toISOString() };
    await sdk.open(n, options);
    await h.worker.idle();
    // In two turns, because the clock takes a longer time without a turn for an absence.
    for (const ms of [40_000, 23_000]) {
      h.nowMs += ms;
      await h.work.idle();
    }
    const closed = await sdk.record(n);
    assertEquals([closed.status, closed.closed_by], ["timeout", "idle"]);
    assertEquals((await sdk.open(n, options)).status, 200);
    assertEquals((await sdk.events(n, [event(n, "log", { message: "late" })])).status, 202);
    assertEquals((await sdk.finish(n)).status, 202);
    const finished = await sdk.record(n);
    assertEquals([finished.status, finished.closed_by], ["success", "finish"]);
  }
});

Harness.test("SDK: a run with all options, six events in turns and a failure is complete", async (h) => {
  const sdk = new Sdk(h, TYPESCRIPT);
  await sdk.open(9);
  await sdk.open(1, {
    customer_id: "acme",
    feature: "triage",
    goal: "Answer the ticket",
    metadata: { env: "prod", attempt: 2, dry: false },
    idle_timeout_seconds: 900,
    idle_timeout_status: "success",
    parent_run_id: runId(9),
  });
  await sdk.events(1, [
    event(1, "llm_call", { ...CALL, cached_input_tokens: 200 }, { turn: 1 }),
    event(2, "tool_call", { tool: "search", status: "success", input: "x", output: "y" }, {
      turn: 1,
    }),
    event(3, "decision", { choice: "escalate" }, { turn: 2 }),
    event(4, "step", { kind: "handoff", from: "a", to: "b" }, { turn: 2 }),
    event(5, "log", { message: "late" }),
    event(6, "error", { error: "no answer", exception: "TimeoutError", latency_ms: 30_000 }),
  ]);
  await sdk.finish(1, {
    status: "failed",
    output: { reason: "no answer" },
    scores: { quality: 0.1, solved: false },
    metadata: { region: "eu" },
  });
  const run = await sdk.record(1);
  assertEquals([run.status, run.duration_ms, run.goal], ["failed", 33, "Answer the ticket"]);
  assertEquals([run.customer_id, run.feature], ["acme", "triage"]);
  assertEquals(run.events.map(({ turn }: Fields) => turn ?? null), [1, 1, 2, 2, null, null]);
  assertEquals(run.metadata, { env: "prod", attempt: 2, dry: false, region: "eu" });
  assertEquals([run.links.parent, run.usage.errors], [runId(9), 1]);
  assertEquals(run.output, { reason: "no answer" });
});

Harness.test("SDK: heartbeats of both SDKs keep their words, durations and costs", async (h) => {
  const sdk = new Sdk(h, TYPESCRIPT);
  await sdk.heartbeat(1);
  await sdk.heartbeat(2, {
    status: "ok",
    cost_usd: 0.084,
    finished_at: at(12_300),
    metadata: { job: "nightly" },
  });
  await sdk.heartbeat(3, { status: "failed", finished_at: at(50) });
  await sdk.heartbeat(4, { status: "timeout" });
  await sdk.heartbeat(5, { status: "ok", input_tokens: 10, output_tokens: 5, feature: "mail" });
  const laravel = new Sdk(h, LARAVEL);
  await laravel.heartbeat(6, { status: "failed", customer_id: "acme" });
  const displayed = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => sdk.record(n)));
  assertEquals(
    displayed.map(({ status, duration_ms, cost_usd }) => [status, duration_ms, cost_usd]),
    [
      ["success", 0, 0],
      ["success", 12_300, 0.084],
      ["failed", 50, 0],
      ["timeout", 0, 0],
      ["success", 0, 0],
      ["failed", 0, 0],
    ],
  );
});

Harness.test("SDK: a conversation opens its run in each process, and continues after its end", async (h) => {
  const sdk = new Sdk(h, TYPESCRIPT);
  for (const turn of [1, 2, 3]) {
    const opened = await sdk.open(1);
    assertEquals(opened.status, turn === 1 ? 202 : 200);
    assertEquals(opened.headers.get("Idempotent-Replayed"), turn === 1 ? null : "true");
    await sdk.events(1, [event(turn, "llm_call", CALL, { turn })]);
  }
  await sdk.finish(1);
  assertEquals((await sdk.open(1)).status, 200);
  await sdk.events(1, [event(4, "llm_call", CALL, { turn: 4 })]);
  assertEquals((await sdk.finish(1, { status: "failed" })).status, 200);
  const run = await sdk.record(1);
  assertEquals([run.status, run.usage.llm_calls, run.cost_usd], ["success", 4, 0.031008]);
});

Harness.test("SDK: Laravel's status word and the old name of an event's id are understood", async (h) => {
  const sdk = new Sdk(h, LARAVEL);
  await sdk.open(1);
  await sdk.events(1, [{ id: eventId(1), type: "log", ts: at(1), data: { message: "x" } }]);
  await sdk.finish(1, { status: "error" });
  const run = await sdk.record(1);
  assertEquals([run.status, run.events.length], ["failed", 1]);
});

/** Odd and long values that the types of the SDKs allow, by call. */
const ODD = {
  openings: [
    { goal: "g".repeat(20_000) },
    { customer_id: 12_345, feature: 7 },
    { parent_run_id: "the-parent" },
    { idle_timeout_seconds: 30 },
    { idle_timeout_seconds: 90.5 },
    { idle_timeout_seconds: 100_000 },
  ],
  events: [
    ["checkpoint", []],
    ["llm_call", { ...CALL, latency_ms: 812.4375 }],
    ["log", { message: { a: 1 } }],
    ["log", { message: 5 }],
    ["log", { message: "x" }, { turn: 0 }],
    ["llm_call", { ...CALL, input_tokens: "10" }],
    ["llm_call", { ...CALL, input_tokens: 10.5 }],
    ["llm_call", { ...CALL, input_tokens: -1 }],
    ["llm_call", { ...CALL, model: {} }],
    ["llm_call", { ...CALL, latency_ms: -3 }],
    ["score", { name: "quality", value: 1 }],
  ],
  finishes: [
    { output: [] },
    { output: ["a", "b"] },
    { scores: [] },
    { scores: { quality: null } },
    { output: "o".repeat(600_000) },
  ],
} as const;

Harness.test("SDK: no odd value that its types allow costs a run its opening, its events or its end", async (h) => {
  const sdk = new Sdk(h, TYPESCRIPT);
  for (const [n, fields] of ODD.openings.entries()) await sdk.open(n, fields);
  // The SDK bounds a batch by the number of its events alone.
  const data = { message: "m".repeat(30_000) };
  const batches = [
    ODD.events.map(([type, data, more], n) => event(n, type, data, more)),
    Array.from({ length: 40 }, (_, n) => event(n, "log", data)),
  ];
  for (const [n, batch] of batches.entries()) {
    assertEquals((await sdk.events(n, batch)).json.accepted, batch.length);
  }
  for (const [n, fields] of ODD.finishes.entries()) await sdk.finish(n, fields);
  await h.worker.idle();
  const records = await Promise.all(ODD.finishes.map((_, n) => sdk.record(n)));
  assertEquals(records.map(({ status }) => status), ODD.finishes.map(() => "success"));
  assertEquals(records.map(({ agent }) => agent), ODD.finishes.map(() => "support"));
  for (const body of [{}, [], { agent: "support", environment: "prod" }]) {
    assertEquals((await sdk.send("/v1/guard/check", body)).json.decision, "allow");
  }
});
