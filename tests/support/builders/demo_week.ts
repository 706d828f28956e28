/** The requests of a week of four agents up to the tests' noon, the same each time. */
import { NOON } from "../harness/harness.ts";

const MINUTE_MS = 60_000, HOUR_MS = 60 * MINUTE_MS, DAY_MS = 24 * HOUR_MS;

/** Complete days before the last one. */
const DAYS_BEFORE = 7;

const EVENTS_PER_BATCH = 50;

type Json = Readonly<Record<string, unknown>>;

/** A run and its requests, in the order in which they are sent. */
export interface DemoRun {
  readonly id: string;
  readonly startMs: number;
  /** Unix milliseconds; null if the run has not ended by noon. */
  readonly endMs: number | null;
  readonly calls: readonly { readonly path: string; readonly body: Json }[];
}

/** Error of last night's failed run, as its tool reported it. */
export const CAUSE = "403 from the ledger of invoices: token expired at 02:11";

/** An in-house model without a public price. */
export const UNPRICED_MODEL = { provider: "in-house", model: "atlas-70b-preview" };

const CUSTOMERS = ["acme", "globex", "hooli", "initech", "umbrella"] as const;

/** Collects the events of a run, each after the previous one. */
class Timeline {
  readonly id: string;
  nowMs: number;
  readonly #events: { readonly ts: string }[] = [];
  readonly #opening: Json;

  /** @param n number that no other run has */
  constructor(n: number, readonly startMs: number, opening: Json) {
    this.id = `run_eu_${startMs.toString(16).padStart(12, "0")}${`${n}`.padStart(20, "0")}`;
    this.nowMs = startMs;
    this.#opening = { id: this.id, started_at: textOf(startMs), ...opening };
  }

  add(type: string, tookMs: number, data: Json): void {
    const id = `evt_${this.id.slice("run_".length, -4)}${
      `${this.#events.length}`.padStart(4, "0")
    }`;
    this.#events.push({ id, type, ts: textOf(this.nowMs), data } as { readonly ts: string });
    this.nowMs += tookMs;
  }

  log(message: string, level = "info"): void {
    this.add("log", 20, { level, message });
  }

  /** Adds a call of `provider/model`; its duration depends on its output. */
  llm(name: string, input_tokens: number, output_tokens: number, more: Json = {}): void {
    const [provider, model] = name.split("/");
    const latency_ms = 300 + output_tokens * 12;
    const data = { provider, model, input_tokens, output_tokens, latency_ms, ...more };
    this.add("llm_call", latency_ms, data);
  }

  tool(name: string, args: Json, latency_ms: number, result: Json = {}): void {
    const data = { name, arguments: args, latency_ms, status: "ok", ...result };
    this.add("tool_call", latency_ms, data);
  }

  /** Adds the events of a failure, and ends the run. */
  fail(tool: string, args: Json, error: string, output: Json = {}): DemoRun {
    this.tool(tool, args, 1_250, { status: "error", error });
    this.log(`Giving up: ${error}`, "error");
    const scores = { completed: false };
    return this.end({ status: "failed", output: { error, ...output }, scores });
  }

  /** Returns the run as it is at noon: what comes later is not sent. */
  end(closing: Json): DemoRun {
    const { id, startMs, nowMs: endMs } = this;
    const events = this.#events.filter(({ ts }) => ts <= textOf(NOON));
    const calls = [{ path: "/v1/runs", body: this.#opening }];
    for (let at = 0; at < events.length; at += EVENTS_PER_BATCH) {
      const body = { events: events.slice(at, at + EVENTS_PER_BATCH) };
      calls.push({ path: `/v1/runs/${id}/events`, body });
    }
    if (endMs > NOON) return { id, startMs, endMs: null, calls };
    const body = { finished_at: textOf(endMs), ...closing };
    return { id, startMs, endMs, calls: [...calls, { path: `/v1/runs/${id}/finish`, body }] };
  }
}

function textOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns the seven days before the tests' day, and that day until noon. */
export function demoWeek() {
  const days = Array.from(
    { length: DAYS_BEFORE + 1 },
    (_, n) => NOON - 12 * HOUR_MS - (DAYS_BEFORE - n) * DAY_MS,
  );
  let n = 0;
  const runs: DemoRun[] = [];
  const add = (run: DemoRun): string => {
    if (run.startMs <= NOON) runs.push(run);
    return run.id;
  };
  let parent = "", unpriced = "";
  for (const [day, dayMs] of days.entries()) {
    // There is always a failed run of today, and a running one.
    add(triage(++n, dayMs + 1_000, true));
    for (let hour = 7; hour < 18; hour++) {
      add(triage(++n, dayMs + hour * HOUR_MS, n % 13 === 0));
    }
    for (let hour = 0; hour < 24; hour += 3) add(watch(++n, dayMs + hour * HOUR_MS));
    for (const customer of CUSTOMERS) {
      add(nightly(++n, dayMs + 2 * HOUR_MS + n * 1_000, customer, day === DAYS_BEFORE));
    }
    if (day === DAYS_BEFORE) break;
    const task = { rounds: 40, isUnpriced: false };
    const startMs = dayMs + 8 * HOUR_MS;
    parent = add(research(++n, startMs, task));
    for (const minutes of [1, 2]) {
      add(research(++n, startMs + minutes * MINUTE_MS, { ...task, rounds: 5, parent }));
    }
    if (day === DAYS_BEFORE - 1) {
      unpriced = add(research(++n, dayMs + 9 * HOUR_MS, { rounds: 24, isUnpriced: true }));
    }
  }
  const failed = add(invoices(++n, NOON - 10 * HOUR_MS + 10 * MINUTE_MS));
  const long = add(pages(++n, NOON - 3 * HOUR_MS));
  const opening = { agent: "issue-triage", customer_id: "globex" };
  const started = new Timeline(++n, NOON - 2 * MINUTE_MS, opening);
  started.nowMs = Infinity;
  const running = add(started.end({}));
  return {
    runs: runs.sort((a, b) => a.startMs - b.startMs),
    ids: { failed, long, running, parent, unpriced },
  };
}

/** Reads a new issue, finds duplicates, labels it and drafts an answer. */
function triage(n: number, startMs: number, fails: boolean): DemoRun {
  const where = { repository: n % 2 === 0 ? "shop/checkout" : "platform/auth", issue: 1_000 + n };
  const time = new Timeline(n, startMs, {
    ...{ agent: "issue-triage", customer_id: CUSTOMERS[n % 5], feature: "issue-triage" },
    metadata: { ...where, trigger: "webhook" },
  });
  const prompt = 900 + n * 7;
  time.log(`Issue ${where.repository}#${where.issue} opened: Login times out with SSO on`);
  time.llm(n % 2 === 0 ? "openai/gpt-4o-mini" : "google/gemini-2.5-flash", prompt, 90);
  time.tool("search_issues", { query: "login times out" }, 350, { hits: n % 8 });
  if (fails) {
    return time.fail("label_issue", where, "403 from the issue tracker: token expired");
  }
  const model = n % 3 === 0 ? "anthropic/claude-sonnet-4-20250514" : "openai/gpt-4o";
  // The second call repeats the first prompt, which the provider then reads from its cache.
  time.llm(model, prompt + 600, 300, { cached_input_tokens: Math.floor(prompt / 128) * 128 });
  time.tool("label_issue", { ...where, label: "bug" }, 420);
  time.add("label_applied", 5, { ...where, label: "bug" });
  const scores = { confidence: 0.55 + n % 40 / 100, label_accepted: n % 7 > 0 };
  return time.end({ status: "success", output: { label: "bug", answered: true }, scores });
}

/** Searches, reads and thinks in rounds, then writes a report. */
function research(
  n: number,
  startMs: number,
  task: { readonly rounds: number; readonly isUnpriced: boolean; readonly parent?: string },
): DemoRun {
  const { rounds, isUnpriced, parent } = task;
  const time = new Timeline(n, startMs, {
    ...{ agent: "research", customer_id: CUSTOMERS[n % 5] },
    goal: "Which vector databases support hybrid search, and at what cost?",
    ...parent === undefined ? { feature: "deep-research" } : { parent_run_id: parent },
    ...{ metadata: { rounds, language: "en" }, idle_timeout_seconds: 3_600 },
  });
  time.log("Question received");
  time.llm("openai/o3", 1_800, 900, { reasoning_tokens: 384 });
  const model = isUnpriced ? Object.values(UNPRICED_MODEL).join("/") : "google/gemini-2.5-pro";
  let tokens = 4_000;
  for (let round = 1; round <= rounds; round++) {
    time.tool("web_search", { query: `question ${round}` }, 600, { hits: 7 });
    time.tool("read_page", { url: `https://example.com/source/${round}` }, 900, { bytes: 40_000 });
    // The previous call had everything but the new page.
    time.llm(model, tokens + 1_400, 500, { cached_input_tokens: tokens });
    tokens += 1_400;
    time.nowMs += 90_000;
  }
  time.llm("anthropic/claude-opus-4-20250514", tokens + 600, 1_400, {
    cached_input_tokens: tokens,
  });
  const scores = { coverage: 0.8, cited: true };
  const output = { title: "Report", words: 1_200, sources: rounds };
  return time.end({ status: "success", output, scores });
}

/** Checks pages for three hours; the next run overlaps, so that one is always in progress. */
function watch(n: number, startMs: number): DemoRun {
  const opening = { agent: "research", customer_id: CUSTOMERS[n % 5], feature: "price-watch" };
  const time = new Timeline(n, startMs, opening);
  time.log("Watching prices of competitors");
  while (time.nowMs < startMs + 3 * HOUR_MS) {
    time.tool("read_page", { url: `https://example.com/prices/${n % 9}` }, 300, { bytes: 9_000 });
    time.llm("openai/gpt-4o-mini", 3_000 + n, 120);
    time.nowMs += 10 * MINUTE_MS;
  }
  return time.end({ status: "success", output: { changes: n % 4 } });
}

/** Reports of a customer's night. Each customer's job reports its usage in a different way. */
function nightly(n: number, startMs: number, customer: string, isToday: boolean): DemoRun {
  const duration_ms = 20_000 + n * 100;
  const tokens = { input_tokens: 4_000 + n * 10, output_tokens: 700 };
  const usage = {
    acme: { provider: "openai", model: "gpt-4o-mini", ...tokens },
    globex: { provider: "anthropic", model: "claude-3-5-haiku-20241022", ...tokens },
    hooli: { cost_usd: 0.01 + n / 10_000, ...isToday ? { status: "timeout" } : {} },
    initech: { duration_ms, ...isToday ? { status: "fail", output: { error: "No data" } } : {} },
    umbrella: { ...UNPRICED_MODEL, ...tokens },
  }[customer];
  const { id } = new Timeline(n, startMs, {});
  // The job of one customer never came back today.
  const isLost = isToday && customer === "umbrella";
  const end = isLost
    ? { status: "start" }
    : { ...usage, finished_at: textOf(startMs + duration_ms) };
  const body = {
    ...{ id, agent: "nightly-report", customer_id: customer, feature: "nightly-report" },
    ...{
      started_at: textOf(startMs),
      metadata: { host: `worker-${n % 3}`, rows: n * 100 },
      ...end,
    },
  };
  const endMs = isLost ? null : startMs + duration_ms;
  return { id, startMs, endMs, calls: [{ path: "/v1/heartbeats", body }] };
}

/** A run that its data source refuses. */
function invoices(n: number, startMs: number): DemoRun {
  const time = new Timeline(n, startMs, {
    ...{ agent: "invoice-sync", customer_id: "acme", feature: "bookkeeping" },
    goal: "Reconcile yesterday's invoices with the bank's statement",
    metadata: { host: "worker-2", attempt: 3 },
  });
  time.log("41 invoices to reconcile");
  time.llm("openai/gpt-4o", 1_800, 210);
  time.tool("fetch_invoices", { since: "2026-11-20" }, 700);
  time.llm("openai/gpt-4o", 1_800, 310);
  return time.fail("post_booking", { invoice: 7_114 }, CAUSE, { booked: 17, left: 24 });
}

/** A run with more events than one page shows. */
function pages(n: number, startMs: number): DemoRun {
  const time = new Timeline(n, startMs, { agent: "research", customer_id: "hooli" });
  for (let page = 0; page < 100; page++) {
    time.llm("openai/gpt-4o", 1_800, 210);
    time.tool("read_page", {}, 1_000 + page);
    time.log(`page ${page} read`);
    time.nowMs += 20_000;
  }
  const output = { report: "Four databases compared. ".repeat(80) };
  return time.end(
    { status: "success", output, scores: { grounded: true, coverage: 0.82 } },
  );
}
