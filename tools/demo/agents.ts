/** Simulates the work of the demo's agents: what each does in a run, before it becomes requests. */
import type { ClientJson } from "../client.ts";
import { type DemoEvent, DemoTimeline, type Model } from "./timeline.ts";
import type { Random } from "../random.ts";

/** Ending of a demo run. */
export type Ending = "success" | "failed" | "timeout" | "cancelled";

/** One run of an agent. */
export interface Work {
  readonly agent: string;
  /** Unix milliseconds. */
  readonly startMs: number;
  /** Unix milliseconds. */
  readonly endMs: number;
  readonly ending: Ending;
  /** Fields of the opening in addition to id, agent and start. */
  readonly opening: ClientJson;
  readonly events: readonly DemoEvent[];
  /** Fields of the finish in addition to status and end. */
  readonly closing: ClientJson;
}

const GPT_4O: Model = { provider: "openai", model: "gpt-4o" };
const GPT_4O_MINI: Model = { provider: "openai", model: "gpt-4o-mini" };
const O3: Model = { provider: "openai", model: "o3" };
const SONNET: Model = { provider: "anthropic", model: "claude-sonnet-4-20250514" };
const OPUS: Model = { provider: "anthropic", model: "claude-opus-4-20250514" };
const HAIKU: Model = { provider: "anthropic", model: "claude-3-5-haiku-20241022" };
const FLASH: Model = { provider: "google", model: "gemini-2.5-flash" };
const PRO: Model = { provider: "google", model: "gemini-2.5-pro" };
const MISTRAL: Model = { provider: "mistral", model: "mistral-large-2411" };

/** An in-house model without a public price. */
export const UNPRICED_MODEL: Model = { provider: "in-house", model: "atlas-70b-preview" };

/** Pause between two checks of a watch. */
const WATCH_PAUSE_MS = { min: 300_000, max: 720_000 } as const;

/** Customers of the agents. */
export const CUSTOMERS = ["acme", "globex", "hooli", "initech", "umbrella"] as const;

const REPOSITORIES = ["shop/checkout", "shop/catalogue", "platform/auth", "platform/jobs"] as const;
const COMPONENTS = ["Login", "CSV export", "Search", "Invoice e-mail", "Webhook retry"] as const;
const SYMPTOMS = ["times out", "shows stale data", "fails for large accounts", "loops"] as const;
const CAUSES = ["after the last release", "on Safari", "since Monday", "with SSO on"] as const;
const QUESTIONS = [
  "Which vector databases support hybrid search, and at what cost?",
  "How do our competitors price usage above the plan?",
  "What changed in EU rules for electronic invoices this year?",
  "Which open models are good enough to classify support mail?",
] as const;

/** Reads a new issue, finds duplicates, labels it and drafts an answer. */
export function triage(random: Random, startMs: number, ending: Ending): Work {
  const repository = random.pick(REPOSITORIES);
  const issue = random.int(1_000, 9_999);
  const title = `${random.pick(COMPONENTS)} ${random.pick(SYMPTOMS)} ${random.pick(CAUSES)}`;
  const time = new DemoTimeline(startMs, random);
  const prompt = random.int(900, 3_200);
  time.log(`Issue ${repository}#${issue} opened: ${title}`);
  time.llm(random.pick([GPT_4O_MINI, FLASH, HAIKU]), prompt, random.int(40, 160));
  time.tool("search_issues", { repository, query: title.toLowerCase() }, {
    status: "ok",
    hits: random.int(0, 8),
  });
  const result = ending === "success"
    ? answerIssue(time, prompt, { repository, issue })
    : breakOff(time, ending, "label_issue", "403 from the issue tracker: token expired");
  return {
    agent: "issue-triage",
    startMs,
    endMs: time.nowMs,
    ending,
    opening: {
      customer_id: random.pick(CUSTOMERS),
      feature: "issue-triage",
      metadata: { repository, issue, trigger: "webhook", dry_run: random.chance(0.1) },
    },
    events: time.events,
    closing: result,
  };
}

function answerIssue(time: DemoTimeline, prompt: number, where: ClientJson): ClientJson {
  const { random } = time;
  // The second call repeats the first prompt, which the provider then reads from its cache.
  const cached = Math.floor(prompt / 128) * 128;
  const input = prompt + random.int(300, 900);
  time.llm(random.pick([SONNET, GPT_4O]), input, random.int(120, 600), {
    cached_input_tokens: cached,
  });
  const label = random.pick(["bug", "question", "regression", "duplicate"]);
  time.tool("label_issue", { ...where, label }, { status: "ok" });
  time.custom("label_applied", { ...where, label });
  time.log(`Labelled ${where.repository}#${where.issue} as ${label}`);
  return {
    output: { label, answered: random.chance(0.7) },
    scores: { confidence: random.int(55, 99) / 100, label_accepted: random.chance(0.85) },
  };
}

/** Adds the last events of a run that does not succeed. */
function breakOff(time: DemoTimeline, ending: Ending, tool: string, error: string): ClientJson {
  switch (ending) {
    case "failed":
      time.tool(tool, {}, { status: "error", error });
      time.log(`Giving up: ${error}`, "error");
      return { output: { error }, scores: { completed: false } };
    case "timeout":
      time.wait(290_000, 300_000);
      time.log("No answer from the model within five minutes", "error");
      return { output: { error: "timeout" } };
    case "cancelled":
      time.wait(1_000, 9_000);
      time.log("Cancelled by a user", "warning");
      return { output: { cancelled_by: "user" } };
    case "success":
      return {};
    default:
      return ending satisfies never;
  }
}

/** Task of a research run. */
export interface ResearchTask {
  readonly ending: Ending;
  /** Number of rounds of searching, reading and thinking. */
  readonly rounds: number;
  /** The parent run. */
  readonly parentId?: string | undefined;
  /** True if a model without a public price writes the notes. */
  readonly unknownModel?: boolean | undefined;
}

/** Searches, reads and thinks in rounds for minutes to hours, then writes a report. */
export function research(random: Random, startMs: number, task: ResearchTask): Work {
  const question = random.pick(QUESTIONS);
  const time = new DemoTimeline(startMs, random);
  time.log(task.parentId ? "Sub-question received" : "Question received");
  time.llm(O3, random.int(1_200, 2_400), random.int(500, 1_500), { reasoning_tokens: 384 });
  let context = random.int(3_000, 6_000);
  for (let round = 1; round <= task.rounds; round++) {
    context = researchRound(time, round, context, task.unknownModel ? UNPRICED_MODEL : null);
  }
  const words = random.int(400, 2_000);
  const result = task.ending === "success"
    ? report(time, context, words)
    : breakOff(time, task.ending, "read_page", "The page answers 503 again and again");
  return {
    agent: "research",
    startMs,
    endMs: time.nowMs,
    ending: task.ending,
    opening: {
      customer_id: random.pick(CUSTOMERS),
      feature: task.parentId ? "sub-question" : "deep-research",
      goal: question,
      metadata: { depth: task.parentId ? 2 : 1, rounds: task.rounds, language: "en" },
      idle_timeout_seconds: 3_600,
      idle_timeout_status: "timeout",
      ...(task.parentId === undefined ? {} : { parent_run_id: task.parentId }),
    },
    events: time.events,
    closing: result,
  };
}

/** Checks pages repeatedly until an instant; a small model reports what has changed. */
export function watch(random: Random, startMs: number, untilMs: number): Work {
  const time = new DemoTimeline(startMs, random);
  time.log("Watching prices of competitors");
  while (time.nowMs < untilMs - WATCH_PAUSE_MS.max) {
    const url = `https://example.com/prices/${random.int(1, 9)}`;
    time.tool("read_page", { url }, { status: "ok", bytes: random.int(4_000, 20_000) });
    time.llm(GPT_4O_MINI, random.int(2_000, 6_000), random.int(40, 200));
    time.wait(WATCH_PAUSE_MS.min, WATCH_PAUSE_MS.max);
  }
  time.wait(untilMs - time.nowMs, untilMs - time.nowMs);
  return {
    agent: "research",
    startMs,
    endMs: time.nowMs,
    ending: "success",
    opening: { customer_id: random.pick(CUSTOMERS), feature: "price-watch" },
    events: time.events,
    closing: { output: { changes: random.int(0, 3) } },
  };
}

/** Adds one round; returns the size of the context after it. */
function researchRound(
  time: DemoTimeline,
  round: number,
  context: number,
  notesModel: Model | null,
): number {
  const { random } = time;
  time.tool("web_search", { query: `question ${round}` }, {
    status: "ok",
    hits: random.int(3, 10),
  });
  time.wait(500, 4_000);
  const source = `https://example.com/source/${random.int(100, 999)}`;
  const missing = random.chance(0.05);
  time.tool(
    "read_page",
    { url: source },
    missing ? { status: "error", error: "404" } : {
      status: "ok",
      bytes: random.int(4_000, 90_000),
    },
  );
  // The previous call had everything but the new page.
  const grown = context + random.int(700, 2_200);
  time.llm(notesModel ?? random.pick([OPUS, PRO, SONNET, MISTRAL]), grown, random.int(150, 900), {
    cached_input_tokens: Math.floor(context / 128) * 128,
  });
  time.custom("finding", { source, kept: !missing }, round);
  time.wait(5_000, 180_000);
  return grown;
}

function report(time: DemoTimeline, context: number, words: number): ClientJson {
  const { random } = time;
  time.llm(OPUS, context + 600, Math.floor(words * 1.4), { cached_input_tokens: context });
  time.log(`Report of ${words} words written`);
  return {
    output: { title: "Report", words, sources: random.int(4, 18) },
    scores: { coverage: random.int(60, 100) / 100, cited: true },
    metadata: { reviewed: random.chance(0.5) },
  };
}
