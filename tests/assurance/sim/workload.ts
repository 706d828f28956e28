/** Fixed mixed workload with every kind of commit that the service makes for a team. */
import { NOON } from "../../support/harness/harness.ts";
import { RUN_IDS } from "./requests.ts";
import { type Fields, instant, type Request } from "./shape.ts";

/** Calls that are sent in parallel, or another action. */
export type Step =
  | readonly Request[]
  | "aggregate"
  | "double rates"
  | "rates"
  | "dry run"
  | "reprice";

const runId = (n: number) => RUN_IDS[0]?.replace(/.$/, `${n}`) ?? "";

function open(n: number, fields: Fields = {}): Request {
  const started_at = instant(NOON - n);
  return { call: "open", fields: { id: runId(n), agent: "ant", started_at, ...fields } };
}

function events(n: number, ...items: readonly Fields[]): Request {
  return { call: "events", id: runId(n), fields: { events: items } };
}

function event(n: number, type: string, data: Fields): Fields {
  return { id: `evt_eu_${`${n}`.padStart(32, "0")}`, type, ts: instant(NOON + n), data };
}

const llm = (n: number, model = "atlas") =>
  event(n, "llm_call", { model, input_tokens: 100 * n, output_tokens: n, cached_input_tokens: n });
const log = (n: number) => event(n, "log", { message: `line ${n}` });

function finish(n: number, fields: Fields = {}): Request {
  const all = { status: "success", finished_at: instant(NOON + 5_000), ...fields };
  return { call: "finish", id: runId(n), fields: all };
}

function heartbeat(n: number, fields: Fields = {}): Request {
  return { call: "heartbeat", fields: { id: runId(n), agent: "bee", ...fields } };
}

/** Event ids repeat within a batch, between batches and between runs. */
export const WORKLOAD: readonly Step[] = [
  "double rates",
  [open(1, { customer_id: "acme", metadata: [["env", "prod"], ["2", 2]] })],
  [open(1)],
  [events(1, llm(1), log(2), llm(1))],
  [events(1, llm(1), llm(3, "nobody-knows-it"))],
  // A run whose three calls do not wait for each other, while other calls run.
  [open(2), events(2, llm(1), log(2)), finish(2, { scores: { good: true } }), open(6)],
  [finish(3, { status: "failed", output: { answer: 42 } })],
  [events(3, llm(4))],
  [heartbeat(4, { status: "start", model: "atlas", input_tokens: 7 })],
  "aggregate",
  [events(3, log(5), log(5)), open(3)],
  "rates",
  "dry run",
  "aggregate",
  "reprice",
  "aggregate",
  [heartbeat(4, { output_tokens: 9, feature: "search" })],
  [heartbeat(4)],
  [open(4)],
  [{ call: "ping", fields: { id: runId(5), agent: "Bee", exit_code: "1", cost_usd: 0.1 } }],
  [events(2, llm(6)), finish(1, { metadata: [["env", "test"]] }), heartbeat(7, { agent: "cat" })],
  "aggregate",
  [finish(1, { status: "failed" })],
  [events(5, llm(7), log(8)), heartbeat(6, { agent: "ant", status: "timeout" })],
];
