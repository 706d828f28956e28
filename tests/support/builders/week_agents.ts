/** Simulates the work of three agents: what each does in a run, before it becomes requests. */
import type { Random } from "../../../tools/random.ts";
import type { Json } from "../../../tools/demo/sample_run.ts";

/** Ending of a run. */
export type Ending = "success" | "failed" | "timeout" | "cancelled";

/** An event without an id. */
export interface DemoEvent {
  readonly type: string;
  /** Unix milliseconds. */
  readonly ts: number;
  readonly turn?: number;
  readonly data: Json;
}

/** One run of an agent. */
export interface Work {
  readonly agent: string;
  /** Unix milliseconds. */
  readonly startMs: number;
  /** Unix milliseconds. */
  readonly endMs: number;
  /** Fields of the opening in addition to id, agent and start. */
  readonly opening: Json;
  readonly events: readonly DemoEvent[];
  /** Status and further fields of the finish in addition to the end. */
  readonly closing: Json;
}

/** An in-house model without a public price. */
export const UNPRICED_MODEL = { provider: "in-house", model: "atlas-70b-preview" };

/** Customers of the agents. */
export const CUSTOMERS = ["acme", "globex", "hooli", "initech", "umbrella"] as const;

/** Collects the events of a run, each after the previous one. */
class Timeline {
  readonly events: DemoEvent[] = [];
  /** Tokens that the next model call repeats. */
  contextTokens = 0;

  constructor(readonly random: Random, readonly startMs: number, public nowMs = startMs) {}

  wait(msMin: number, msMax: number): void {
    this.nowMs += this.random.int(msMin, msMax);
  }

  add(type: string, tookMs: number, data: Json, turn?: number): void {
    this.events.push({ type, ts: this.nowMs, ...(turn === undefined ? {} : { turn }), data });
    this.nowMs += tookMs;
  }

  log(message: string, level = "info"): void {
    this.add("log", 20, { level, message });
  }

  /** Adds a call of `provider/model`; its duration depends on its output. */
  llm(name: string, input_tokens: number, output_tokens: number, more: Json = {}): void {
    const [provider, model] = name.split("/");
    const latency_ms = 300 + output_tokens * this.random.int(8, 22);
    const data = { provider, model, input_tokens, output_tokens, latency_ms, ...more };
    this.add("llm_call", latency_ms, data);
  }

  tool(name: string, args: Json, result: Json): void {
    const latency_ms = this.random.int(40, 1_800);
    const data = { name, arguments: args, latency_ms, status: "ok", ...result };
    this.add("tool_call", latency_ms, data);
  }

  /** Returns the run up to now. */
  end(agent: string, opening: Json, closing: Json): Work {
    const { startMs, nowMs, events } = this;
    const customer_id = this.random.pick(CUSTOMERS);
    return { agent, startMs, endMs: nowMs, opening: { customer_id, ...opening }, events, closing };
  }

  /** Adds the last events of a run that does not succeed; returns the fields of its finish. */
  breakOff(status: Exclude<Ending, "success">, tool: string, cause: string): Json {
    const [waitMs, level, error] = {
      failed: [0, "error", `Giving up: ${cause}`],
      timeout: [295_000, "error", "No answer from the model within five minutes"],
      cancelled: [5_000, "warning", "Cancelled by a user"],
    }[status] as [number, string, string];
    if (status === "failed") this.tool(tool, {}, { status: "error", error: cause });
    this.wait(waitMs, waitMs);
    this.log(error, level);
    return { status, output: { error }, scores: { completed: false } };
  }
}

/** Reads a new issue, finds duplicates, labels it and drafts an answer. */
export function triage(random: Random, startMs: number, ending: Ending): Work {
  const time = new Timeline(random, startMs);
  const where = {
    repository: random.pick(["shop/checkout", "shop/catalogue", "platform/auth", "platform/jobs"]),
    issue: random.int(1_000, 9_999),
  };
  const title = [
    random.pick(["Login", "CSV export", "Search", "Invoice e-mail", "Webhook retry"]),
    random.pick(["times out", "shows stale data", "fails for large accounts", "loops"]),
    random.pick(["after the last release", "on Safari", "since Monday", "with SSO on"]),
  ].join(" ");
  const prompt = random.int(900, 3_200);
  const small = ["openai/gpt-4o-mini", "google/gemini-2.5-flash"] as const;
  time.log(`Issue ${where.repository}#${where.issue} opened: ${title}`);
  time.llm(random.pick(small), prompt, random.int(40, 160));
  time.tool("search_issues", { query: title.toLowerCase() }, { hits: random.int(0, 8) });
  const closing = ending === "success"
    ? answerIssue(time, prompt, where)
    : time.breakOff(ending, "label_issue", "403 from the issue tracker: token expired");
  const metadata = { ...where, trigger: "webhook", dry_run: random.chance(0.1) };
  return time.end("issue-triage", { feature: "issue-triage", metadata }, closing);
}

function answerIssue(time: Timeline, prompt: number, where: Json): Json {
  const { random } = time;
  // The second call repeats the first prompt, which the provider then reads from its cache.
  const cached_input_tokens = Math.floor(prompt / 128) * 128;
  const model = random.pick(["anthropic/claude-sonnet-4-20250514", "openai/gpt-4o"]);
  time.llm(model, prompt + random.int(300, 900), random.int(120, 600), { cached_input_tokens });
  const label = random.pick(["bug", "question", "regression", "duplicate"]);
  time.tool("label_issue", { ...where, label }, {});
  time.add("label_applied", 5, { ...where, label });
  time.log(`Labelled ${where.repository}#${where.issue} as ${label}`);
  return {
    status: "success",
    output: { label, answered: random.chance(0.7) },
    scores: { confidence: random.int(55, 99) / 100, label_accepted: random.chance(0.85) },
  };
}

/** Task of a research run. */
export interface ResearchTask {
  readonly ending: Ending;
  /** Number of rounds of searching, reading and thinking. */
  readonly rounds: number;
  /** Id of the parent run. */
  readonly parent?: string;
  /** True if a model without a public price writes the notes. */
  readonly isUnpriced?: boolean;
}

/** Searches, reads and thinks in rounds for minutes to hours, then writes a report. */
export function research(random: Random, startMs: number, task: ResearchTask): Work {
  const { ending, rounds, parent, isUnpriced = false } = task;
  const time = new Timeline(random, startMs);
  time.log(parent ? "Sub-question received" : "Question received");
  const thought = { reasoning_tokens: 384 };
  time.llm("openai/o3", random.int(1_200, 2_400), random.int(500, 1_500), thought);
  time.contextTokens = random.int(3_000, 6_000);
  for (let round = 1; round <= rounds; round++) researchRound(time, round, isUnpriced);
  const closing = ending === "success"
    ? report(time)
    : time.breakOff(ending, "read_page", "The page answers 503 again and again");
  const goal = random.pick([
    "Which vector databases support hybrid search, and at what cost?",
    "How do our competitors price usage above the plan?",
    "What changed in EU rules for electronic invoices this year?",
    "Which open models are good enough to classify support mail?",
  ]);
  return time.end("research", {
    feature: parent ? "sub-question" : "deep-research",
    goal,
    metadata: { depth: parent ? 2 : 1, rounds, language: "en" },
    idle_timeout_seconds: 3_600,
    idle_timeout_status: "timeout",
    ...(parent === undefined ? {} : { parent_run_id: parent }),
  }, closing);
}

/** Searches and reads a page; a model adds what it says to the notes. */
function researchRound(time: Timeline, round: number, isUnpriced: boolean): void {
  const { random } = time;
  const url = `https://example.com/source/${random.int(100, 999)}`;
  const isMissing = random.chance(0.05);
  const page = { bytes: random.int(4_000, 90_000) };
  time.tool("web_search", { query: `question ${round}` }, { hits: random.int(3, 10) });
  time.wait(500, 4_000);
  time.tool("read_page", { url }, isMissing ? { status: "error", error: "404" } : page);
  const model = random.pick([
    "anthropic/claude-opus-4-20250514",
    "google/gemini-2.5-pro",
    "anthropic/claude-sonnet-4-20250514",
    "mistral/mistral-large-2411",
  ]);
  const name = isUnpriced ? Object.values(UNPRICED_MODEL).join("/") : model;
  // The previous call had everything but the new page.
  const cached_input_tokens = Math.floor(time.contextTokens / 128) * 128;
  time.contextTokens += random.int(700, 2_200);
  time.llm(name, time.contextTokens, random.int(150, 900), { cached_input_tokens });
  time.add("finding", 5, { source: url, kept: !isMissing }, round);
  time.wait(5_000, 180_000);
}

function report(time: Timeline): Json {
  const { random, contextTokens } = time;
  const words = random.int(400, 2_000);
  const cached = { cached_input_tokens: contextTokens };
  time.llm("anthropic/claude-opus-4-20250514", contextTokens + 600, words + 200, cached);
  time.log(`Report of ${words} words written`);
  return {
    status: "success",
    output: { title: "Report", words, sources: random.int(4, 18) },
    scores: { coverage: random.int(60, 100) / 100, cited: true },
    metadata: { reviewed: random.chance(0.5) },
  };
}

/** Pause between two checks of a watch, at most. */
const WATCH_PAUSE_MS_MAX = 720_000;

/** Checks pages repeatedly until an instant; a small model reports what has changed. */
export function watch(random: Random, startMs: number, untilMs: number): Work {
  const time = new Timeline(random, startMs);
  time.log("Watching prices of competitors");
  while (time.nowMs < untilMs - WATCH_PAUSE_MS_MAX) {
    const url = `https://example.com/prices/${random.int(1, 9)}`;
    time.tool("read_page", { url }, { bytes: random.int(4_000, 20_000) });
    time.llm("openai/gpt-4o-mini", random.int(2_000, 6_000), random.int(40, 200));
    time.wait(300_000, WATCH_PAUSE_MS_MAX);
  }
  time.nowMs = untilMs;
  const closing = { status: "success", output: { changes: random.int(0, 3) } };
  return time.end("research", { feature: "price-watch" }, closing);
}

const SUNDAY = 0, FRIDAY = 5, SATURDAY = 6;

/** Reports of a customer's night. Each customer's job reports its usage in a different way. */
export function nightly(
  random: Random,
  dayMs: number,
  customer_id: typeof CUSTOMERS[number],
): Work {
  const weekday = new Date(dayMs).getUTCDay();
  const startMs = dayMs + random.int(7_200_000, 8_400_000);
  const duration_ms = random.int(20_000, 240_000);
  const input_tokens = random.int(4_000, 20_000);
  const tokens = { input_tokens, output_tokens: random.int(300, 1_200) };
  const cached_input_tokens = Math.floor(input_tokens / 256) * 128;
  const [haiku, flash] = ["claude-3-5-haiku-20241022", "gemini-2.5-flash"];
  const gemini = weekday === FRIDAY ? UNPRICED_MODEL : { provider: "google", model: flash };
  const usage = {
    acme: { provider: "openai", model: "gpt-4o-mini", ...tokens },
    globex: { provider: "anthropic", model: haiku, ...tokens, cached_input_tokens },
    hooli: { cost_usd: random.int(100, 900) / 10_000 },
    initech: { duration_ms },
    umbrella: { ...gemini, ...tokens },
  }[customer_id];
  const failures: Readonly<Record<string, string>> = {
    [`initech ${SUNDAY}`]: "fail",
    [`hooli ${SATURDAY}`]: "timeout",
  };
  const status = failures[`${customer_id} ${weekday}`] ?? "ok";
  const output = status === "ok" ? {} : { output: { error: `The report ended with ${status}` } };
  const metadata = { host: `worker-${random.int(1, 3)}`, rows: random.int(1_000, 90_000) };
  return {
    agent: "nightly-report",
    startMs,
    endMs: startMs + duration_ms,
    opening: { customer_id, feature: "nightly-report", metadata },
    events: [],
    closing: { status, ...usage, ...output },
  };
}
