/** The demo's third agent: a nightly report for each customer, sent as heartbeats only. */
import { type Region, uuid7Hex } from "../../domain/core/ids.ts";
import { formatInstant } from "../../domain/core/time.ts";
import type { ClientJson } from "../client.ts";
import { CUSTOMERS, UNPRICED_MODEL } from "./agents.ts";
import type { DemoRun } from "./run.ts";
import type { Random } from "../random.ts";

/** Customer and night of a report. */
export interface Night {
  readonly random: Random;
  /** Midnight before the report, unix milliseconds. */
  readonly dayMs: number;
  readonly region: Region;
  readonly customer: typeof CUSTOMERS[number];
}

const AGENT = "nightly-report";
const SUNDAY = 0, FRIDAY = 5, SATURDAY = 6;

/** Simulates one report. Each customer's job uses heartbeats in a different way. */
export function nightly(night: Night): DemoRun {
  const { random, dayMs, region, customer } = night;
  const startMs = dayMs + random.int(7_200_000, 8_400_000);
  const durationMs = random.int(20_000, 240_000);
  const id = `run_${region}_${uuid7Hex(startMs, random.bytes(10))}`;
  const endMs = startMs + durationMs;
  const opened = {
    id,
    agent: AGENT,
    started_at: formatInstant(startMs),
    customer_id: customer,
    feature: "nightly-report",
    metadata: { host: `worker-${random.int(1, 3)}`, rows: random.int(1_000, 90_000) },
  };
  const closed = { finished_at: formatInstant(endMs), ...usageOf(night, durationMs) };
  const run = { id, agent: AGENT, startMs, endMs };
  const weekday = new Date(dayMs).getUTCDay();
  if (customer === "umbrella" && weekday === SATURDAY) {
    const calls = heartbeats({ ...opened, status: "start" });
    return { ...run, endMs: null, story: "never came back", calls };
  }
  if (customer === "acme") {
    // The closing call names only the run and its end; the server has the rest from the start.
    const close = { id, agent: AGENT, status: "ok", ...closed };
    const calls = heartbeats({ ...opened, status: "start" }, close);
    return { ...run, story: "started, then closed", calls };
  }
  const status = statusOf(customer, weekday);
  const output = status === "ok" ? {} : { output: { error: `The report ended with ${status}` } };
  return { ...run, story: null, calls: heartbeats({ ...opened, ...closed, status, ...output }) };
}

function heartbeats(...bodies: ClientJson[]): DemoRun["calls"] {
  return bodies.map((body) => ({ path: "/v1/heartbeats", body }));
}

function statusOf(customer: Night["customer"], weekday: number): "ok" | "fail" | "timeout" {
  if (customer === "initech" && weekday === SUNDAY) return "fail";
  return customer === "hooli" && weekday === SATURDAY ? "timeout" : "ok";
}

/** Returns the usage that the job reports: tokens, cached tokens, a cost, or a duration. */
function usageOf({ random, dayMs, customer }: Night, durationMs: number): ClientJson {
  const input = random.int(4_000, 20_000);
  const tokens = { input_tokens: input, output_tokens: random.int(300, 1_200) };
  switch (customer) {
    case "acme":
      return { provider: "openai", model: "gpt-4o-mini", ...tokens };
    case "globex": {
      const cached_input_tokens = Math.floor(input / 256) * 128;
      const model = "claude-3-5-haiku-20241022";
      return { provider: "anthropic", model, ...tokens, cached_input_tokens };
    }
    case "hooli":
      return { cost_usd: random.int(100, 900) / 10_000 };
    case "initech":
      return { duration_ms: durationMs };
    case "umbrella":
      return new Date(dayMs).getUTCDay() === FRIDAY
        ? { ...UNPRICED_MODEL, ...tokens }
        : { provider: "google", model: "gemini-2.5-flash", ...tokens };
    default:
      return customer satisfies never;
  }
}
