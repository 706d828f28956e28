/** Every call of the API as a team may send it, with ids and names that all teams share. */
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  aScore,
  at,
  runId,
} from "../../support/builders/requests.ts";
import type { RequestOptions } from "../../support/harness/harness.ts";
import { CARD, MODEL, PRICE, UNKNOWN } from "../../support/builders/rate_cards.ts";
import { REPRICE } from "../../support/builders/reprice.ts";

/** A kind of call, and numbers that choose its details. */
export interface Step {
  readonly call: CallName;
  readonly run: number;
  readonly agent: number;
  readonly n: number;
  /** True if it names another team's object, where it names a generated one. */
  readonly foreign: boolean;
}

interface Call extends RequestOptions {
  readonly method: string;
  readonly path: string;
}

/** Kinds of objects that the service names. */
export type Kind = "key" | "rate" | "job";

/** Returns the name of an object of this team or of another one, or one that never existed. */
export type NameOf = (kind: Kind, step: Step) => string;

/** Names that never existed. */
export const NEVER: Readonly<Record<Kind, string>> = {
  key: `key_eu_${"0".repeat(32)}`,
  rate: UNKNOWN,
  job: "0".repeat(26),
};

const AGENTS = ["researcher", "nightly", "a/b"] as const;
const MODELS = ["gpt-4o", MODEL, "nobody-knows-it"] as const;
const GROUPINGS = ["day", "agent", "customer", "feature", "model", "status"] as const;

/** A judge that calls nobody: the model has a price only while the team has put one. */
const JUDGE = {
  connection: "openai",
  model: MODEL,
  rubric: "Is {{output}} good?",
  result: { type: "boolean" },
  enabled: false,
};

const agentOf = ({ agent }: Step) => AGENTS[agent] ?? `agent ${agent}`;
const modelOf = ({ n }: Step) => MODELS[n % MODELS.length] ?? "";
const monitorOf = (step: Step) => `/v1/agents/${encodeURIComponent(agentOf(step))}/monitor`;
const pathOf = ({ run }: Step) => `/v1/runs/${runId(run)}`;
const labels = ({ n }: Step) => ({ customer_id: `customer ${n % 2}`, feature: `feature ${n % 3}` });
const tokens = (step: Step) => ({
  model: modelOf(step),
  input_tokens: 100 * step.n,
  output_tokens: 7,
});

function post(path: string, body: unknown): Call {
  return { method: "POST", path, body };
}

function get(path: string): Call {
  return { method: "GET", path };
}

/** Two events of a small set: most batches repeat some events of another. */
function events(step: Step) {
  const type = step.n % 3 === 0 ? "log" : "llm_call";
  const data = type === "log" ? { message: `by ${agentOf(step)}` } : tokens(step);
  return { events: [step.n, step.n + 1].map((n) => anEvent(n, { type, data })) };
}

function beat(step: Step, fields: Record<string, unknown>) {
  return aHeartbeat(step.run, { agent: agentOf(step), ...labels(step), ...fields });
}

const CALLS = {
  open: (step) =>
    post("/v1/runs", aRun(step.run, { agent: agentOf(step), ...labels(step), metadata: { n: 1 } })),
  events: (step) => post(`${pathOf(step)}/events`, events(step)),
  finish: (step) => post(`${pathOf(step)}/finish`, aFinish({ output: { n: step.n } })),
  child: (step) =>
    post("/v1/runs", aRun(step.run + 8, { agent: agentOf(step), parent_run_id: runId(step.run) })),
  score: (step) => post(`${pathOf(step)}/scores`, aScore(step.n, { value: step.agent })),
  beat: (step) => post("/v1/heartbeats", beat(step, tokens(step))),
  costlyBeat: (step) => post("/v1/heartbeats", beat(step, { cost_usd: step.n / 8 })),
  start: (step) => post("/v1/heartbeats", beat(step, { status: "start", started_at: at() })),
  mintedBeat: (step) => post("/v1/heartbeats", { agent: agentOf(step), ...tokens(step) }),
  ping: (step) =>
    get(`/v1/ping?agent=${encodeURIComponent(agentOf(step))}&id=${runId(step.run)}&metadata=note`),
  mintedPing: (step) => get(`/v1/ping?agent=${encodeURIComponent(agentOf(step))}&exit_code=1`),
  run: (step) => get(`${pathOf(step)}?events_limit=${1 + step.n}`),
  // All of them: a cursor would contain a run id, which may be generated.
  runs: () => get("/v1/runs?limit=1000"),
  runsOfAgent: (step) =>
    get(`/v1/runs?agent=${encodeURIComponent(agentOf(step))}&status=success&q=run_eu`),
  cost: (step) => get(`${pathOf(step)}/cost`),
  newKey: ({ n }) =>
    post("/v1/keys", { kind: "api_key", name: `key ${n}`, scopes: ["read", "ingest"] }),
  newToken: (step) => post("/v1/keys", { kind: "ping_token", name: "t", agent: agentOf(step) }),
  keys: () => get("/v1/keys"),
  revoke: (step, nameOf) => ({ method: "DELETE", path: `/v1/keys/${nameOf("key", step)}` }),
  putRate: ({ n }) => {
    const from = n % 2 === 0 ? { effective_from: at(-1_000 * n) } : {};
    return { method: "PUT", path: CARD, body: { ...PRICE, output_usd_per_million: n, ...from } };
  },
  rates: () => get(`${CARD}?source=own`),
  defaultRates: (step) => get(`${CARD}?model=${modelOf(step)}&limit=3`),
  match: (step) => get(`${CARD}/match?model=${modelOf(step)}&at=${at()}`),
  deleteRate: (step, nameOf) => ({ method: "DELETE", path: `${CARD}/${nameOf("rate", step)}` }),
  reprice: (step) => post(REPRICE, { model: modelOf(step), dry_run: step.n % 2 === 0 }),
  jobs: () => get(REPRICE),
  job: (step, nameOf) => get(`${REPRICE}/${nameOf("job", step)}`),
  spend: ({ n }) => get(`/v1/spend?group_by=${GROUPINGS[n % GROUPINGS.length]}`),
  spendOfAgent: (step) =>
    get(`/v1/spend?group_by=model&agent=${encodeURIComponent(agentOf(step))}`),
  unpriced: () => get("/v1/spend/unpriced"),
  usage: () => get("/v1/usage"),
  agents: ({ n }) => get(`/v1/agents?limit=2&sort=${n % 2 === 0 ? "agent" : "last_seen"}`),
  allAgents: ({ n }) => get(`/v1/agents?archived=true&sort=${n % 2 === 0 ? "agent" : "last_seen"}`),
  changeAgent: (step) => ({
    method: "PATCH",
    path: `/v1/agents/${encodeURIComponent(agentOf(step))}`,
    body: { name: `n ${step.n}`, notes: "x", archived: step.n % 3 === 0 },
  }),
  agent: (step) => get(`/v1/agents/${encodeURIComponent(agentOf(step))}`),
  putMonitor: (step) => ({
    method: "PUT",
    path: monitorOf(step),
    body: { schedule: { every_seconds: 86_400 + step.n }, failure_threshold: 1 + step.n % 3 },
  }),
  monitor: (step) => get(monitorOf(step)),
  pauseMonitor: (step) => post(`${monitorOf(step)}/pause`, { sticky: step.n % 2 === 0 }),
  resumeMonitor: (step) => post(`${monitorOf(step)}/resume`, {}),
  deleteMonitor: (step) => ({ method: "DELETE", path: monitorOf(step) }),
  monitors: ({ n }) => get(`/v1/monitors?limit=${1 + n}`),
  putRule: ({ n }) => ({
    method: "PUT",
    path: `/v1/rules/rule-${n % 3}`,
    body: { kind: "run_cost", params: { usd: 1 + n }, group_by: "agent" },
  }),
  deleteRule: ({ n }) => ({ method: "DELETE", path: `/v1/rules/rule-${n % 3}` }),
  rules: ({ n }) => get(`/v1/rules?limit=${1 + n}`),
  putSilence: ({ n }) => ({
    method: "PUT",
    path: `/v1/silences/silence-${n % 3}`,
    body: { match: { rules: ["rule-1"] }, until: at(60_000 * (1 + n)) },
  }),
  deleteSilence: ({ n }) => ({ method: "DELETE", path: `/v1/silences/silence-${n % 3}` }),
  silences: ({ n }) => get(`/v1/silences?limit=${1 + n}`),
  putCheck: ({ n }) => ({
    method: "PUT",
    path: `/v1/checks/check-${n % 3}`,
    body: { expression: `usage.events < ${n}`, severity: "fail" },
  }),
  deleteCheck: ({ n }) => ({ method: "DELETE", path: `/v1/checks/check-${n % 3}` }),
  checks: ({ n }) => get(`/v1/checks?limit=${1 + n}`),
  checkStats: ({ n }) => get(`/v1/checks/check-${n % 3}/stats`),
  tryCheck: ({ n }) => post("/v1/checks/try", { check: { expression: `usage.events < ${n}` } }),
  putChannel: ({ n }) => ({
    method: "PUT",
    path: `/v1/channels/channel-${n % 3}`,
    body: { type: "email", to: [`ops${n}@example.org`], enabled: false },
  }),
  deleteChannel: ({ n }) => ({ method: "DELETE", path: `/v1/channels/channel-${n % 3}` }),
  channels: ({ n }) => get(`/v1/channels?limit=${1 + n}`),
  putBudget: ({ n }) => ({
    method: "PUT",
    path: `/v1/budgets/budget-${n % 3}`,
    body: { scope: { each: "agent" }, period: "day", limit_usd: n / 100 + 0.001, mode: "hard" },
  }),
  deleteBudget: ({ n }) => ({ method: "DELETE", path: `/v1/budgets/budget-${n % 3}` }),
  budgets: ({ n }) => get(`/v1/budgets?limit=${1 + n}`),
  putPause: (step) => ({
    method: "PUT",
    path: `/v1/pauses/pause-${step.n % 3}`,
    body: { agent: agentOf(step), reason: "x", until: at(60_000 * (1 + step.n)) },
  }),
  deletePause: ({ n }) => ({ method: "DELETE", path: `/v1/pauses/pause-${n % 3}` }),
  pauses: ({ n }) => get(`/v1/pauses?limit=${1 + n}`),
  guardCheck: (step) => get(`/v1/guard/check?agent=${encodeURIComponent(agentOf(step))}`),
  putJudge: (step) => ({
    method: "PUT",
    path: `/v1/judges/judge-${step.n % 3}`,
    body: { ...JUDGE, sample: step.n / 100 },
  }),
  deleteJudge: ({ n }) => ({ method: "DELETE", path: `/v1/judges/judge-${n % 3}` }),
  judges: ({ n }) => get(`/v1/judges?limit=${1 + n}`),
  tryJudge: (step) =>
    post("/v1/judges/try", { judge: JUDGE, run_ids: [runId(step.run)], estimate: true }),
  flips: (step) => get(`/v1/agents/${encodeURIComponent(agentOf(step))}/flips`),
  pingMonitor: (step) => get(`/v1/ping?agent=${encodeURIComponent(agentOf(step))}&every=1d`),
  bad: (step) => post("/v1/runs", aRun(step.run, { agent: "" })),
} satisfies Record<string, (step: Step, nameOf: NameOf) => Call>;

export type CallName = keyof typeof CALLS;

export const CALL_NAMES = Object.keys(CALLS) as CallName[];

export function callOf(step: Step, nameOf: NameOf): Call {
  const write: (step: Step, nameOf: NameOf) => Call = CALLS[step.call];
  return write(step, nameOf);
}
