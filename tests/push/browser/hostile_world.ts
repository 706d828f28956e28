/** A service in which every text was written by an attacker. */
import type { DemoWorld } from "../../support/builders/demo_world.ts";
import type { Answer, Harness } from "../../support/harness/harness.ts";
import { openIncidentOf } from "../../support/builders/alerts.ts";
import { aTeam, openWithOperator, operate } from "../../support/harness/operator.ts";
import { eventId, runId, scoreId } from "../../support/builders/requests.ts";

/** The service, and for each text the run that contains it. */
export interface HostileWorld extends DemoWorld {
  readonly texts: ReadonlyMap<string, string>;
}

/** Opens a service and stores each text in every field that accepts text. */
export async function openHostileWorld(texts: readonly string[]): Promise<HostileWorld> {
  const h = await openWithOperator();
  const runs = new Map<string, string>();
  for (const [n, text] of texts.slice(0, CHECKED).entries()) await check(h, n, text);
  for (const [n, text] of texts.entries()) runs.set(text, await spread(h, n + 1, text));
  await h.worker.idle();
  const [id, keys] = [runId(1), (await h.get("/v1/keys")).json.keys];
  const [text = ""] = texts;
  await guard(h, text);
  const body = { model: `${text} with a price`, dry_run: true };
  const job = (await h.post("/v1/rate-card/reprice", body)).json;
  const { id: rateId } = (await accepted(h, "PUT", "/v1/rate-card", aRate(text))).json;
  return {
    h,
    texts: runs,
    runs: { failed: id, long: id, parent: id, unpriced: id, running: id },
    agent: text,
    incident: await incident(h, text),
    keyId: keys[1].id,
    rateId,
    jobId: job.id,
    otherTeam: { key: "", agent: "", run: "" },
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  };
}

/** Texts that are in checks: a run fails all of them. */
const CHECKED = 40;

/** Creates a check that the run with the text fails; the first one has a page of its own. */
async function check(h: Harness, n: number, text: string): Promise<void> {
  const quoted = JSON.stringify(text);
  await accepted(h, "PUT", `/v1/checks/${n === 0 ? "no-errors" : `hostile-${n}`}`, {
    expression: `goal != ${quoted} && feature != ${quoted}`,
    description: text,
    features: [text],
  });
}

/** Sets a budget, pauses and a judge with the text. */
async function guard(h: Harness, text: string): Promise<void> {
  const budget = { scope: { feature: text }, period: "month", limit_usd: 1 };
  await accepted(h, "PUT", "/v1/budgets/each-agent", budget);
  await accepted(h, "PUT", "/v1/pauses/hostile", { agent: text, reason: text });
  await accepted(h, "PUT", "/v1/judges/helpful", {
    ...{ connection: "openai", model: "gpt-4o", result: { type: "boolean" } },
    ...{ rubric: `${text} {{output}}`, description: text, features: [text] },
  });
}

/** Opens an incident of an agent with this name; returns its id. */
async function incident(h: Harness, text: string): Promise<string> {
  const body = { kind: "run_failed", match: { agents: [text] }, group_by: "agent" };
  await accepted(h, "PUT", "/v1/rules/hostile", body);
  await accepted(h, "PUT", "/v1/channels/ops", {
    type: "webhook",
    url: "https://hooks.example.com/runledger",
    headers: { "X-Team": "<b>billing</b>" },
    enabled: false,
  });
  const ends = new Date(h.nowMs + 3_600_000).toISOString();
  const silence = { match: { agents: [text] }, until: ends, comment: text };
  await accepted(h, "PUT", "/v1/silences/hostile", silence);
  const output = { error: text };
  // Later than its other runs: outcomes of one instant are in the order of their ids.
  h.nowMs += 1_000;
  await accepted(h, "POST", "/v1/heartbeats", { agent: text, status: "fail", output });
  await h.worker.idle();
  return await openIncidentOf(h, text);
}

/** Stores one text in every field; returns the id of the run with it. */
async function spread(h: Harness, n: number, text: string): Promise<string> {
  const id = runId(n);
  await accepted(h, "POST", "/v1/runs", aHostileRun(id, text, h.nowMs));
  await accepted(h, "POST", `/v1/runs/${id}/events`, { events: hostileEvents(n, text, h.nowMs) });
  await accepted(h, "POST", `/v1/runs/${id}/finish`, {
    status: "failed",
    finished_at: new Date(h.nowMs).toISOString(),
    output: { [text]: text, inside: [{ [text]: text }] },
    scores: { [text]: 0.5 },
    metadata: { late: text },
  });
  await accepted(h, "POST", `/v1/runs/${id}/scores`, {
    id: scoreId(n),
    name: text,
    value: true,
    source: text,
    comment: text,
  });
  const note = new URLSearchParams({ agent: text, metadata: text, model: text, provider: text });
  await accepted(h, "GET", `/v1/ping?${note}&input_tokens=5`);
  await accepted(h, "PATCH", `/v1/agents/${encodeURIComponent(text)}`, { name: text, notes: text });
  // Its run ended before the monitor exists, so the monitor is up.
  await h.worker.idle();
  await accepted(h, "PUT", `/v1/agents/${encodeURIComponent(text)}/monitor`, {
    schedule: { every_seconds: 3_600 },
  });
  await accepted(h, "POST", "/v1/keys", { kind: "api_key", name: text, scopes: ["read"] });
  await accepted(h, "POST", "/v1/keys", { kind: "ping_token", name: text, agent: text });
  await accepted(h, "PUT", "/v1/rate-card", aRate(text));
  await aTeam(h, { name: text });
  await operate(h, "PATCH", `/v1/teams/${h.team.id}`, { name: text });
  return id;
}

function aRate(text: string): Record<string, unknown> {
  return {
    provider: text,
    model: `${text} with a price`,
    input_usd_per_million: 1,
    output_usd_per_million: 2,
    note: text,
  };
}

function aHostileRun(id: string, text: string, nowMs: number): Record<string, unknown> {
  return {
    id,
    agent: text,
    started_at: new Date(nowMs - 60_000).toISOString(),
    goal: text,
    customer_id: text,
    feature: text,
    metadata: { [text]: text, note: text },
  };
}

function hostileEvents(n: number, text: string, nowMs: number): Record<string, unknown>[] {
  const usage = { input_tokens: 100, output_tokens: 10, latency_ms: 900 };
  const kinds: readonly (readonly [string, Record<string, unknown>])[] = [
    [text, { [text]: text }],
    ["llm_call", { provider: text, model: text, error: text, status: text, ...usage }],
    ["llm_call", { provider: text, model: `${text} with a price`, prompt: text, ...usage }],
    ["tool_call", { name: text, arguments: { [text]: text }, status: "error", error: text }],
    ["log", { level: text, message: text }],
    ["error", { message: text, stack: text }],
  ];
  return kinds.map(([type, data], i) => ({
    id: eventId(n * 10 + i),
    type,
    ts: new Date(nowMs - 50_000 + i * 1_000).toISOString(),
    data,
  }));
}

async function accepted(
  h: Harness,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const answer = await h.request(method, path, body === undefined ? {} : { body });
  if (answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer;
}
