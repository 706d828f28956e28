/**
 * A service with history: a week of three agents up to today's noon, a run that failed last night,
 * a very long one, scores, tokens, and another team that must not see any of this.
 */
import { type DemoRun, demoWeek } from "./demo_week.ts";
import { Harness, NOON } from "../harness/harness.ts";
import { openIncidentOf } from "./alerts.ts";
import { accepted, runId, scoreId } from "./requests.ts";
import { signedIn } from "../harness/dashboard.ts";
import { OPERATOR_KEY } from "../harness/operator.ts";
import { IN_FILES } from "../harness/test_kv.ts";

/** Addresses, keys and ids of the world. */
export interface DemoWorld extends AsyncDisposable {
  readonly h: Harness;
  /** Run ids by their distinguishing feature. */
  readonly runs: Readonly<Record<"failed" | "long" | "parent" | "unpriced" | "running", string>>;
  readonly incident: string;
  /** An agent with a ping token. */
  readonly agent: string;
  readonly keyId: string;
  readonly rateId: string;
  readonly jobId: string;
  /** Data that only the other team may see. */
  readonly otherTeam: { readonly key: string; readonly agent: string; readonly run: string };
}

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
  const { runs, ids } = demoWeek();
  await checks(h);
  await replay(h, runs);
  await monitors(h);
  h.nowMs = NOON;
  await h.post(`/v1/runs/${ids.failed}/scores`, {
    id: scoreId(1),
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
    runs: ids,
    agent,
    keyId: created.json.id,
    incident,
    ...prices,
    otherTeam,
  };
}

/** Sets checks before the runs: one that some runs fail, one that is a warning, one that is off. */
function checks(h: Harness): Promise<void> {
  return putAll(h, {
    "checks/no-errors": { expression: "usage.errors == 0", description: "No step of a run fails" },
    "checks/quick": { expression: "duration_ms < 60000", severity: "warn", agents: ["research*"] },
    "checks/answers": { expression: 'output.report != ""', severity: "info", sample: 0.5 },
    "checks/cheap": { expression: "cost_usd < 0.50", enabled: false },
  });
}

/** Sets budgets that are within their limits, used up and observed, pauses, and a judge. */
function budgetsAndJudges(h: Harness): Promise<void> {
  const until = new Date(NOON + 3 * 3_600_000).toISOString();
  const judge = { connection: "openai", model: "gpt-4o", rubric: "Score {{output}} for {{goal}}." };
  const month = { period: "month", limit_usd: 200 };
  return putAll(h, {
    "budgets/team-month": { ...month, scope: {}, mode: "hard" },
    "budgets/each-agent": { ...month, scope: { each: "agent" }, limit_usd: 1, mode: "soft" },
    "budgets/acme": { ...month, scope: { customer_id: "acme" }, limit_usd: 4 },
    "budgets/research": { ...month, scope: { agent: "research" }, limit_usd: 40, mode: "hard" },
    "budgets/one-run": { scope: {}, period: "run", limit_usd: 2, enabled: false },
    "pauses/provider": { agent: "issue-triage", reason: "The provider is down", until },
    "pauses/globex": { customer_id: "globex", reason: "Unpaid since October" },
    "judges/helpful": { ...judge, result: { type: "score", min: 1, max: 5 }, sample: 0.1 },
  });
}

async function putAll(h: Harness, bodies: Readonly<Record<string, object>>): Promise<void> {
  for (const [path, body] of Object.entries(bodies)) {
    await accepted(h.request("PUT", `/v1/${path}`, { body }));
  }
}

/** Sends each run's first call when it started, and the others when it ended, or now. */
async function replay(h: Harness, runs: readonly DemoRun[]): Promise<void> {
  for (const run of runs) {
    for (const [i, { path, body }] of run.calls.entries()) {
      h.nowMs = i === 0 ? run.startMs : run.endMs ?? NOON;
      await accepted(h.post(path, body));
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
  await putAll(h, {
    "channels/ops": { ...channel, default: true, headers: { "X-Team": "billing" } },
    "silences/upgrade": { match: { agents: ["research"] }, until, comment: "new version" },
  });
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
  const [agent, run] = ["rivals-secret-agent", runId(4_000)];
  await h.post("/v1/heartbeats", { id: run, agent, customer_id: "rivals-customer" }, { key });
  return { key, agent, run };
}
