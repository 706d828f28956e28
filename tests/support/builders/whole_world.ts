/**
 * A small ledger with every kind of row that outlives its process: for exports, and for the shapes of
 * stored rows.
 */
import { assertEquals } from "@std/assert";
import { Harness, NOON } from "../harness/harness.ts";
import { OPERATOR_KEY } from "../harness/operator.ts";
import { aCall } from "./ledger_of_everything.ts";
import {
  accepted,
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  aScore,
  at,
  eventId,
  events,
  runId,
} from "./requests.ts";
import { noise } from "../harness/temp_store.ts";

const DAY_MS = 86_400_000;

/** Opens the service that {@link fillWorld} fills. */
export function openWorld(options: { readonly kv?: string } = {}): Promise<Harness> {
  // Time passes in steps, which are no absences.
  const fixed = { operatorKey: OPERATOR_KEY, clockGapMaxMs: Infinity, sealKey: new Uint8Array(32) };
  return Harness.open({ ...fixed, ...options });
}

/** A trace of a known product that is no work of a model: no run follows from it. */
const OTHER_SPAN = {
  resourceSpans: [{
    scopeSpans: [{
      scope: { name: "langsmith" },
      spans: [{
        ...{ traceId: "a".repeat(32), spanId: "b".repeat(16), name: "GET /" },
        ...{ startTimeUnixNano: `${NOON}000000`, endTimeUnixNano: `${NOON}000000` },
      }],
    }],
  }],
};

/** Fills a service; returns the key of a team whose old data is removed. */
export async function fillWorld(h: Harness): Promise<string> {
  const { key } = await h.addTeam("free");
  const put = (path: string, body: unknown) => accepted(h.request("PUT", path, { body }));
  const post = (path: string, body: unknown, by = h.key) =>
    accepted(h.post(path, body, { key: by }));
  h.nowMs = NOON - 8 * DAY_MS;
  await configure(h, put, post);
  // Records and payloads expire at different ages, and a run's later events are kept.
  h.nowMs = NOON - 40 * DAY_MS;
  await closedRun(post, key, 1, -40);
  h.nowMs = NOON - 10 * DAY_MS;
  await closedRun(post, key, 2, -10);
  h.nowMs = NOON - DAY_MS;
  await post(`/v1/runs/${runId(2)}/events`, { events: [aCall(250, "atlas")] }, key);
  await closedRun(post, key, 3, -1);
  h.nowMs = NOON;
  // The monitor is down before the next calls of its agent.
  await h.worker.idle();
  await h.work.idle();
  await runs(h, post);
  await alerts(h, post);
  for (const id of [runId(4), runId(21)]) {
    if (id === runId(4)) await closedRun(post, key, 4, 0);
    await accepted(h.request("DELETE", `/v1/runs/${id}`, { key: id === runId(4) ? key : h.key }));
  }
  await h.post("/v1/runs", { id: "wrong" });
  const headers = { "Content-Type": "application/json" };
  await accepted(h.post("/v1/traces", OTHER_SPAN, { headers }));
  await h.writeCounts();
  await put("/v1/rate-card", { ...ATLAS, input_usd_per_million: 7 });
  await post("/v1/rate-card/reprice", { model: "atlas" });
  await h.worker.idle();
  // On a busy machine the job waits for its next step by the clock of the test.
  h.nowMs += 1_000;
  await h.work.idle(["back"]);
  await h.sweep.sweepNow();
  await h.sweep.sweepNow();
  await h.worker.idle();
  await h.work.idle();
  return key;
}

const ATLAS = { model: "atlas", input_usd_per_million: 3, output_usd_per_million: 15 };

type Send = (path: string, body: unknown, key?: string) => Promise<unknown>;

async function configure(h: Harness, put: Send, post: Send): Promise<void> {
  await put("/v1/rate-card", { ...ATLAS, cached_input_usd_per_million: 0.25 });
  await put("/v1/checks/answers", { expression: 'output != ""', sample: 1 });
  await put("/v1/checks/cheap", { expression: "cost_usd < 0.000001", severity: "warn" });
  const url = "https://hooks.example.com/runledger";
  await put("/v1/channels/ops", { type: "webhook", url, default: true, enabled: false });
  await put("/v1/channels/pager", { type: "webhook", url, default: true });
  const rule = {
    kind: "run_failed",
    params: { statuses: ["failed"], consecutive: 2 },
    severity: "critical",
  };
  await put("/v1/rules/twice", rule);
  await post("/v1/keys", { kind: "api_key", name: "reader", scopes: ["read"] });
  await post("/v1/heartbeats", aHeartbeat(30, { agent: "nightly" }));
  await post("/v1/keys", { kind: "ping_token", name: "cron", agent: "nightly" });
  await put("/v1/agents/nightly/monitor", {
    schedule: { every_seconds: 3_600 },
    grace_seconds: 600,
  });
  await accepted(h.request("PATCH", "/v1/agents/nightly", { body: { notes: "runs at night" } }));
}

/** A run of another team's key with a model call, opened and closed at one instant. */
async function closedRun(post: Send, key: string, n: number, days: number): Promise<void> {
  const started = { started_at: at(days * DAY_MS), customer_id: "acme" };
  await post("/v1/runs", aRun(n, started), key);
  for (const batch of [1, 2]) {
    const calls = [aCall(100 * n + batch, "atlas"), anEvent(100 * n + 10 + batch)];
    await post(`/v1/runs/${runId(n)}/events`, { events: calls }, key);
  }
  await post(`/v1/runs/${runId(n)}/finish`, aFinish({ finished_at: at(days * DAY_MS + 5) }), key);
}

async function runs(h: Harness, post: Send): Promise<void> {
  const path = (n: number) => `/v1/runs/${runId(n)}`;
  await post("/v1/runs", aRun(11, { customer_id: "acme", feature: "search", goal: "find it" }));
  // Numbers and spaces of payloads are kept as they are sent.
  const odd = `{"events":[{"id":"${eventId(60)}","type":"log","ts":"${at()}",` +
    '"data":{"n":12345678901234567890.10,\n "text":"a\\nb"}}]}';
  await post(`${path(11)}/events`, odd);
  await post(`${path(11)}/events`, { events: [aCall(61, "atlas"), ...events(62, 64)] });
  await post(`${path(11)}/events`, { events: [aCall(65, "unknown model")] });
  await post(`${path(11)}/finish`, aFinish({ output: { text: noise(3_000) } }));
  await post(`${path(11)}/scores`, aScore(1));
  await h.worker.idle();
  const failed = { name: "open_file", error: "no such file" };
  const late = [anEvent(66, { type: "tool_call", data: failed })];
  await post(`${path(11)}/events`, { events: late });
  // A part alone, a child, an open run, and one that will be idle.
  await post(`${path(12)}/events`, { events: [aCall(70, "atlas")] });
  const twoLines = `{"status":"success","finished_at":"${at(9)}","output":{"a": 1.50,\n"b":2}}`;
  await post("/v1/runs", aRun(22));
  await post(`${path(22)}/finish`, twoLines);
  await post("/v1/runs", aRun(13, { parent_run_id: runId(11) }));
  await post("/v1/runs", aRun(14, { idle_timeout_seconds: 3_600 }));
  await post(`${path(14)}/events`, { events: [anEvent(71)] });
  const tokens = { model: "atlas", input_tokens: 90, output_tokens: 8, cached_input_tokens: 7 };
  await post("/v1/heartbeats", aHeartbeat(15, { status: "start" }));
  await post("/v1/heartbeats", aHeartbeat(15, { ...tokens, status: "ok" }));
  await post("/v1/heartbeats", aHeartbeat(16, { cost_usd: 0.1, customer_id: "globex" }));
  await post("/v1/runs", aRun(21));
  await accepted(h.get("/v1/ping?agent=nightly&status=start&rid=backup"));
  await h.worker.idle();
}

async function alerts(h: Harness, post: Send): Promise<void> {
  // The last failure repeats what the others opened.
  for (const n of [17, 18, 19, 33]) {
    await post("/v1/heartbeats", aHeartbeat(n, { agent: "billing", status: "fail" }));
    await h.worker.idle();
    await h.work.idle();
  }
  // The incident of a rule resolves, with a message after that of its beginning.
  await post("/v1/heartbeats", aHeartbeat(20, { agent: "billing" }));
  for (const n of [31, 32]) {
    await post("/v1/heartbeats", aHeartbeat(n, { agent: "shipping", status: "fail" }));
    await h.worker.idle();
  }
  await h.work.idle();
}

/** Every answer that an export keeps, by path. */
export async function readWorld(h: Harness, other: string): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  const read = async (path: string, key = h.key) => {
    const { status, text } = await h.get(path, { key });
    assertEquals(status, 200, `${path}: ${text}`);
    // The text, because a number loses digits when it is parsed.
    answers[`${key === other ? "other " : ""}${path}`] = text;
    return JSON.parse(text);
  };
  const days = "from=2026-10-01&to=2026-11-30";
  for (const group of ["day", "agent", "customer", "feature", "model"]) {
    await read(`/v1/spend?group_by=${group}&${days}`);
    await read(`/v1/spend?group_by=${group}&${days}`, other);
  }
  for (const path of LISTS) await read(path);
  for (const path of ["/v1/usage", "/v1/agents", "/v1/runs?limit=100"]) await read(path, other);
  for (
    const [list, key] of [["/v1/runs?limit=100", h.key], ["/v1/runs?limit=100", other]] as const
  ) {
    for (const { id } of (await read(list, key)).runs) {
      await read(`/v1/runs/${id}?events_limit=100`, key);
      await read(`/v1/runs/${id}/cost`, key);
    }
  }
  for (const { id } of (await read("/v1/incidents")).incidents) await read(`/v1/incidents/${id}`);
  for (const { id } of (await read("/v1/deliveries")).deliveries) {
    await read(`/v1/deliveries/${id}`);
  }
  return answers;
}

const LISTS = [
  `/v1/spend/unpriced?from=2026-10-01&to=2026-11-30`,
  "/v1/usage",
  "/v1/agents",
  "/v1/agents/nightly",
  "/v1/monitors",
  "/v1/agents/nightly/flips",
  "/v1/checks",
  "/v1/checks/cheap/stats",
  "/v1/rules",
  "/v1/channels",
  "/v1/silences",
  "/v1/keys",
  "/v1/rate-card?limit=5",
  "/v1/rate-card/reprice",
  "/v1/refusals",
  "/v1/audit?limit=100",
];
