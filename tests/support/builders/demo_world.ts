/**
 * A service with history: a week of three agents up to today's noon, a run that failed last night,
 * a very long one, scores, tokens, and another team that must not see any of this.
 */
import { type DemoRun, demoRuns } from "./week_runs.ts";
import { Harness, NOON } from "../harness/harness.ts";
import { openIncidentOf } from "./alerts.ts";
import { signedIn } from "../harness/dashboard.ts";
import { OPERATOR_KEY } from "../harness/operator.ts";
import { IN_FILES } from "../harness/test_kv.ts";

/** Addresses, keys and ids of the world. */
export interface DemoWorld extends AsyncDisposable {
  readonly h: Harness;
  /** Run ids by their distinguishing feature. */
  readonly runs: Readonly<Record<"failed" | "long" | "parent" | "unpriced" | "running", string>>;
  /** Id of an open incident. */
  readonly incident: string;
  /** An agent with a ping token. */
  readonly agent: string;
  /** Id of a key that is never used to sign in. */
  readonly keyId: string;
  /** Id of one of the team's own rate card rows. */
  readonly rateId: string;
  /** Id of a dry-run repricing job. */
  readonly jobId: string;
  /** Data that only the other team may see. */
  readonly otherTeam: { readonly key: string; readonly agent: string; readonly run: string };
}

/** Error of last night's failed run, as its tool reported it. */
export const CAUSE = "403 from the ledger of invoices: token expired at 02:11";

export const LONG_RUN_EVENTS = 300;

const OPTIONS = { operatorKey: OPERATOR_KEY, clockGapMaxMs: Infinity };

/** A world that was filled before, and its files. */
interface Copied {
  readonly world: Omit<DemoWorld, "h" | keyof AsyncDisposable>;
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

let copied: Copied | null = null;

/** Opens a filled service at noon. It takes seconds to fill, so later ones copy the first one. */
export async function openDemoWorld(): Promise<DemoWorld> {
  if (copied !== null) {
    const h = await Harness.open({ ...OPTIONS, files: copied.files });
    return { h, ...copied.world, [Symbol.asyncDispose]: () => h[Symbol.asyncDispose]() };
  }
  const h = await Harness.open(OPTIONS);
  const world = await fill(h);
  if (IN_FILES) copied = { world, files: await h.filesAtRest() };
  return { h, ...world, [Symbol.asyncDispose]: () => h[Symbol.asyncDispose]() };
}

/** Sends everything; the clock is at noon afterwards. */
async function fill(h: Harness): Promise<Copied["world"]> {
  const past = demoRuns(1, NOON, "eu");
  await checks(h);
  await replay(h, past);
  const failed = await lastNight(h);
  const long = await longRun(h);
  const running = await runningNow(h);
  await monitors(h);
  h.nowMs = NOON;
  await h.post(`/v1/runs/${failed}/scores`, {
    id: idOf("scr", 1),
    name: "reviewed",
    value: false,
    source: "people",
  });
  await rejected(h);
  const agent = "nightly-report";
  await h.post("/v1/keys", { kind: "ping_token", name: "backup host", agent });
  const created = await h.post("/v1/keys", { kind: "api_key", name: "Grafana", scopes: ["read"] });
  const otherTeam = await anotherTeam(h);
  await h.worker.idle();
  await budgetsAndJudges(h);
  const prices = await newPrices(h);
  const incident = await alerts(h);
  return {
    runs: {
      failed,
      long,
      running,
      parent: oneOf(past, "with children"),
      unpriced: oneOf(past, "unknown model"),
    },
    agent,
    keyId: created.json.id,
    incident,
    ...prices,
    otherTeam,
  };
}

function oneOf(runs: readonly DemoRun[], scenario: DemoRun["scenario"]): string {
  const demoRun = runs.findLast((run) => run.scenario === scenario);
  if (demoRun === undefined) throw new Error(`the week has no run "${scenario}"`);
  return demoRun.id;
}

/** Sets checks before the runs: one that some runs fail, one that is a warning, one that is off. */
async function checks(h: Harness): Promise<void> {
  for (
    const [slug, body] of [
      ["no-errors", { expression: "usage.errors == 0", description: "No step of a run fails" }],
      ["quick", { expression: "duration_ms < 60000", severity: "warn", agents: ["research*"] }],
      ["answers", { expression: 'output.report != ""', severity: "info", sample: 0.5 }],
      ["cheap", { expression: "cost_usd < 0.50", enabled: false }],
    ] as const
  ) {
    const { status, text } = await h.request("PUT", `/v1/checks/${slug}`, { body });
    if (status !== 202) throw new Error(`${slug}: ${status} ${text}`);
  }
}

/** Sets budgets that are within their limits, used up and observed, pauses, and a judge. */
async function budgetsAndJudges(h: Harness): Promise<void> {
  const until = new Date(NOON + 3 * 3_600_000).toISOString();
  const judge = { connection: "openai", model: "gpt-4o", rubric: "Score {{output}} for {{goal}}." };
  const month = { period: "month", limit_usd: 200 };
  for (
    const [path, body] of [
      ["budgets/team-month", { ...month, scope: {}, mode: "hard" }],
      ["budgets/each-agent", { ...month, scope: { each: "agent" }, limit_usd: 1, mode: "soft" }],
      ["budgets/acme", { ...month, scope: { customer_id: "acme" }, limit_usd: 4 }],
      ["budgets/research", { ...month, scope: { agent: "research" }, limit_usd: 40, mode: "hard" }],
      ["budgets/one-run", { scope: {}, period: "run", limit_usd: 2, enabled: false }],
      ["pauses/provider", { agent: "issue-triage", reason: "The provider is down", until }],
      ["pauses/globex", { customer_id: "globex", reason: "Unpaid since October" }],
      ["judges/helpful", { ...judge, result: { type: "score", min: 1, max: 5 }, sample: 0.1 }],
    ] as const
  ) {
    const { status, text } = await h.request("PUT", `/v1/${path}`, { body });
    if (status !== 202) throw new Error(`${path}: ${status} ${text}`);
  }
}

/** Sends each run's first call when it started, and the others when it ended, or now. */
async function replay(h: Harness, runs: readonly DemoRun[]): Promise<void> {
  for (const run of runs) {
    for (const [i, { path, body }] of run.calls.entries()) {
      h.nowMs = i === 0 ? run.startMs : run.endMs ?? NOON;
      await send(h, path, body);
    }
  }
}

/** Sends calls that are refused however often clients retry them. */
async function rejected(h: Harness): Promise<void> {
  const headers = { "User-Agent": "agentping-python/1.2.0" };
  for (let n = 0; n < 3; n++) {
    await h.post("/v1/runs", { id: `run-${n}`, agent: "researcher" }, { headers });
    await h.post("/v1/heartbeats", { agent: "nightly-report", cost_usd: "a lot" }, { headers });
  }
}

async function send(h: Harness, path: string, body: unknown): Promise<void> {
  const { status, text } = await h.post(path, body);
  if (status > 299) throw new Error(`${path}: ${status} ${text}`);
}

function idOf(prefix: "run" | "evt" | "scr", n: number): string {
  return `${prefix}_eu_019aa000${n.toString(16).padStart(24, "0")}`;
}

const llm = (latencyMs: number) => ({
  provider: "openai",
  model: "gpt-4o",
  input_tokens: 1_800,
  output_tokens: 210,
  latency_ms: latencyMs,
});

const tool = (name: string, latencyMs: number, more: Record<string, unknown> = {}) => ({
  name,
  latency_ms: latencyMs,
  status: "ok",
  ...more,
});

/** Stores a run at ten past two that its data source refuses. */
async function lastNight(h: Harness): Promise<string> {
  const startMs = NOON - 10 * 3_600_000 + 600_000;
  const error = { status: "error", error: CAUSE };
  const events: (readonly [string, number, Record<string, unknown>])[] = [
    ["log", 100, { level: "info", message: "41 invoices to reconcile" }],
    ["llm_call", 900, llm(2_400)],
    ["tool_call", 3_600, tool("fetch_invoices", 700, { arguments: { since: "2026-11-20" } })],
    ["llm_call", 4_800, llm(3_900)],
    ["tool_call", 9_100, tool("post_booking", 1_250, { arguments: { invoice: 7_114 }, ...error })],
    ["log", 10_600, { level: "error", message: `Giving up: ${CAUSE}` }],
  ];
  return await completeRun(
    h,
    1_000,
    startMs,
    {
      agent: "invoice-sync",
      customer_id: "acme",
      feature: "bookkeeping",
      goal: "Reconcile yesterday's invoices with the bank's statement",
      metadata: { host: "worker-2", attempt: 3 },
    },
    events,
    {
      status: "failed",
      finished_at: new Date(startMs + 11_000).toISOString(),
      output: { error: CAUSE, booked: 17, left: 24 },
      scores: { completed: false },
    },
  );
}

/** Stores a run with more events than one page shows. */
async function longRun(h: Harness): Promise<string> {
  const startMs = NOON - 3 * 3_600_000;
  const events = Array.from({ length: LONG_RUN_EVENTS }, (_, i) => {
    const afterMs = i * 9_000;
    if (i % 3 === 0) return ["llm_call", afterMs, llm(4_000 + i)] as const;
    if (i % 3 === 1) return ["tool_call", afterMs, tool("read_page", 1_000 + i)] as const;
    return ["log", afterMs, { level: "info", message: `page ${i} read` }] as const;
  });
  return await completeRun(h, 2_000, startMs, { agent: "research", customer_id: "hooli" }, events, {
    status: "success",
    finished_at: new Date(startMs + LONG_RUN_EVENTS * 9_000).toISOString(),
    output: { report: "Four databases compared. ".repeat(80) },
    scores: { grounded: true, coverage: 0.82 },
  });
}

async function runningNow(h: Harness): Promise<string> {
  const id = idOf("run", 3_000);
  h.nowMs = NOON - 120_000;
  const started_at = new Date(h.nowMs).toISOString();
  await send(h, "/v1/runs", { id, agent: "issue-triage", started_at, customer_id: "globex" });
  return id;
}

async function completeRun(
  h: Harness,
  n: number,
  startMs: number,
  opening: Record<string, unknown>,
  events: readonly (readonly [string, number, Record<string, unknown>])[],
  finish: Record<string, unknown> & { readonly finished_at: string },
): Promise<string> {
  const id = idOf("run", n);
  h.nowMs = startMs;
  await send(h, "/v1/runs", { id, started_at: new Date(startMs).toISOString(), ...opening });
  h.nowMs = Date.parse(finish.finished_at);
  const items = events.map(([type, afterMs, data], i) => ({
    id: idOf("evt", n + i),
    type,
    ts: new Date(startMs + afterMs).toISOString(),
    data,
  }));
  for (let at = 0; at < items.length; at += 50) {
    await send(h, `/v1/runs/${id}/events`, { events: items.slice(at, at + 50) });
  }
  await send(h, `/v1/runs/${id}/finish`, finish);
  return id;
}

/** Monitors the agents, so that one is down, one late, one up and one paused at noon. */
async function monitors(h: Harness): Promise<void> {
  await h.worker.idle();
  const reader = await signedIn(h);
  const submit = async (agent: string, action: string, fields: Record<string, string>) => {
    const path = `/dashboard/agents/${agent}/monitor${action}`;
    const { status, text } = await reader.send(path, fields);
    if (status !== 303) throw new Error(`${path}: ${status} ${text}`);
  };
  const put = async (agent: string, hoursAgo: number, fields: Record<string, string>) => {
    h.nowMs = NOON - hoursAgo * 3_600_000;
    await submit(agent, "", { enabled: "true", ...fields });
  };
  await put("invoice-sync", 3, { every_seconds: "1h", grace_seconds: "30m" });
  await put("nightly-report", 1.5, { every_seconds: "1h", grace_seconds: "1h" });
  await put("research", 1, { every_seconds: "3h", max_runtime_seconds: "1d" });
  await put("issue-triage", 1, { kind: "cron", cron: "0 8 * * 1-5", tz: "Europe/Berlin" });
  await submit("issue-triage", "/pause", { length: "resume" });
  h.nowMs = NOON;
  await h.work.idle();
}

/** Creates a channel that sends nothing, and a silence; returns the id of an open incident. */
async function alerts(h: Harness): Promise<string> {
  const channel = { type: "webhook", url: "https://hooks.example.com/runledger", enabled: false };
  const until = new Date(NOON + 3_600_000).toISOString();
  for (
    const [path, body] of [
      ["/v1/channels/ops", { ...channel, default: true, headers: { "X-Team": "billing" } }],
      ["/v1/silences/upgrade", { match: { agents: ["research"] }, until, comment: "new version" }],
    ] as const
  ) {
    const { status, text } = await h.request("PUT", path, { body });
    if (status !== 202) throw new Error(`${path}: ${status} ${text}`);
  }
  return await openIncidentOf(h, "invoice-sync");
}

/** Sets the team's own price for a model in use, and starts a dry run of its effect. */
async function newPrices(h: Harness): Promise<{ rateId: string; jobId: string }> {
  const model = "gpt-4o-mini";
  const price = { input_usd_per_million: 0.12, output_usd_per_million: 0.5, note: "our contract" };
  const { json: row } = await h.request("PUT", "/v1/rate-card", {
    body: { provider: "openai", model, ...price },
  });
  const { json: job } = await h.post("/v1/rate-card/reprice", { model, dry_run: true });
  return { rateId: row.id, jobId: job.id };
}

async function anotherTeam(h: Harness): Promise<DemoWorld["otherTeam"]> {
  const { key } = await h.addTeam("team");
  const [agent, run] = ["rivals-secret-agent", idOf("run", 4_000)];
  await h.post("/v1/heartbeats", { id: run, agent, customer_id: "rivals-customer" }, { key });
  return { key, agent, run };
}
