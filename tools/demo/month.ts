/**
 * Thirty days of a small company's agents, up to an instant: the requests that they send.
 *
 * The same seed, instant and region give the same requests.
 */
import { type Region, uuid7Hex } from "../../domain/core/ids.ts";
import { DAY_MS, formatInstant } from "../../domain/core/time.ts";
import { Random } from "../random.ts";
import {
  type ChatMessage,
  type Json,
  type SampleCall,
  type SampleContext,
  SampleRun,
} from "./sample_run.ts";
import { answerTicket, CREW } from "./support_crew.ts";

const MINUTE_MS = 60_000, HOUR_MS = 3_600_000;

/** Days before the instant. */
export const SAMPLE_DAYS = 30;

/** Paths of the receiver of messages: one takes them, one does not. */
export const RECEIVER_PATHS = { chat: "/chat", pager: "/pager" } as const;

/** A model without a public price. */
const UNPRICED_MODEL = "in-house/atlas-70b-preview";

const CUSTOMERS = ["acme", "globex", "hooli", "initech", "umbrella"] as const;

/** Monitors by agent. */
const MONITORS = {
  "nightly-backup": { schedule: { cron: "0 2 * * *", tz: "UTC" }, grace_seconds: 3_600 },
  "usage-report": { schedule: { cron: "0 3 * * *", tz: "UTC" }, grace_seconds: 7_200 },
  "price-watch": { schedule: { every_seconds: 21_600 }, grace_seconds: 3_600 },
  "crm-sync": { schedule: { every_seconds: 28_800 }, grace_seconds: 14_400 },
  [CREW.main]: { schedule: { every_seconds: 172_800 }, grace_seconds: 43_200 },
} as const;

/** Limits of what runs may cost. */
const BUDGETS: Readonly<Record<string, Json>> = {
  "one-run": { scope: {}, period: "run", limit_usd: 0.2, mode: "hard" },
  "research": {
    scope: { agent: "deep-research" },
    period: "day",
    limit_usd: 0.08,
    mode: "observe",
  },
  "all-agents": { scope: {}, period: "week", limit_usd: 2, mode: "soft" },
};

/** A good run. */
const CHECKS: Readonly<Record<string, Json>> = {
  "resolved": {
    expression: "scores.resolved == true",
    description: "Each ticket is resolved without a person",
    agents: [CREW.main],
  },
  "cheap-enough": {
    expression: "cost_usd < 0.02",
    description: "A run costs less than two cents",
    severity: "warn",
    agents: [CREW.main, "issue-triage"],
  },
  "no-retries": {
    expression: "usage.errors == 0",
    description: "No step needs a second try",
    severity: "info",
    agents: [CREW.research, CREW.payments],
  },
};

/**
 * Returns the requests, earliest first.
 *
 * @param receiver origin that the channels call
 */
export function sampleMonth(
  seed: number,
  nowMs: number,
  region: Region,
  receiver: string,
): readonly SampleCall[] {
  const calls: SampleCall[] = [];
  const context = {
    random: new Random(`samples ${seed}`),
    region,
    send: (call: SampleCall) => void calls.push(call),
  };
  const startMs = nowMs - SAMPLE_DAYS * DAY_MS;
  const firstDayMs = Math.ceil(startMs / DAY_MS) * DAY_MS;
  for (let dayMs = firstDayMs; dayMs < nowMs; dayMs += DAY_MS) {
    workOfNight(context, dayMs, nowMs);
    workOfDay(context, dayMs, nowMs);
  }
  workAroundTheClock(context, startMs, nowMs);
  // In the last half hour the payments ledger is down.
  for (const [minutesAgo, customer] of [[34, "globex"], [22, "acme"], [9, "initech"]] as const) {
    answerTicket(context, nowMs - minutesAgo * MINUTE_MS, { ending: "broken", customer });
  }
  research(context, nowMs - 6 * MINUTE_MS, { untilMs: nowMs, isOver: false });
  const put = (atMs: number, path: string, body: Json) =>
    context.send({ atMs, method: "PUT", path, body });
  const { chat, pager } = RECEIVER_PATHS;
  const [slack, webhook] = [
    { type: "slack", url: receiver + chat, default: true },
    { type: "webhook", url: receiver + pager, default: true },
  ];
  put(startMs, "/v1/channels/ops-chat", slack);
  put(nowMs - 2 * DAY_MS, "/v1/channels/old-pager", webhook);
  for (const [slug, check] of Object.entries(CHECKS)) put(startMs, `/v1/checks/${slug}`, check);
  for (const [slug, budget] of Object.entries(BUDGETS)) put(startMs, `/v1/budgets/${slug}`, budget);
  const costs = { kind: "run_cost", params: { usd: 0.15 }, group_by: "agent", severity: "info" };
  put(startMs, "/v1/rules/expensive-runs", costs);
  put(nowMs - HOUR_MS, "/v1/silences/crm-upgrade", {
    match: { agents: ["crm-sync"] },
    until: formatInstant(nowMs + 6 * HOUR_MS),
    comment: "The vendor upgrades the CRM",
  });
  for (const [agent, settings] of Object.entries(MONITORS)) {
    // A monitor needs an agent: it follows the first run.
    const runs = calls.filter(({ body }) => body.agent === agent).map(({ atMs }) => atMs);
    put(Math.min(...runs) + 1, `/v1/agents/${agent}/monitor`, settings);
  }
  return calls.filter(({ atMs }) => atMs >= startMs && atMs <= nowMs)
    .sort((a, b) => a.atMs - b.atMs);
}

/** Adds what people cause in office hours: tickets, issues and questions. */
function workOfDay(context: SampleContext, dayMs: number, nowMs: number): void {
  const { random } = context;
  const weekday = new Date(dayMs).getUTCDay();
  const isWeekend = weekday === 0 || weekday === 6;
  const officeMs = () => dayMs + random.int(7 * HOUR_MS, 18 * HOUR_MS);
  // The last half hour has its own tickets.
  const isPast = (atMs: number) => atMs < nowMs - 45 * MINUTE_MS;
  for (let n = 0; n < (isWeekend ? 1 : 3); n++) {
    const [atMs, customer] = [officeMs(), random.pick(CUSTOMERS)];
    const ending = random.chance(0.04) ? "broken" : random.chance(0.6) ? "refunded" : "answered";
    if (isPast(atMs)) answerTicket(context, atMs, { ending, customer });
  }
  for (let n = 0; n < (isWeekend ? 2 : 5); n++) {
    const atMs = officeMs();
    if (isPast(atMs)) triageIssue(context, atMs);
  }
  const researchMs = officeMs();
  if (!isWeekend && isPast(researchMs)) {
    const untilMs = researchMs + random.int(2 * MINUTE_MS, 6 * MINUTE_MS);
    research(context, researchMs, { untilMs, isOver: true });
  }
  const notesMs = dayMs + 16 * HOUR_MS;
  if (weekday === 4 && isPast(notesMs)) writeReleaseNotes(context, notesMs);
}

/** Reads an issue, labels it and proposes an answer. */
function triageIssue(context: SampleContext, startMs: number): void {
  const { random } = context;
  const repository = random.pick(["shop/checkout", "shop/catalogue", "platform/auth"]);
  const issue = random.int(1_000, 9_999);
  const title = `${random.pick(["Login", "CSV export", "Search", "Webhook retry"])} ` +
    random.pick(["times out", "shows stale data", "fails for large accounts"]);
  const run = new SampleRun(context, startMs, {
    agent: "issue-triage",
    customer_id: random.pick(CUSTOMERS),
    feature: "triage",
    goal: `${repository}#${issue}: ${title}`,
    metadata: { repository, issue },
  });
  const question: ChatMessage = { role: "user", content: `# ${title}\n\nSince the last release.` };
  const label = random.pick(["bug", "question", "regression", "duplicate"]);
  const answer: ChatMessage = {
    role: "assistant",
    content: `Label: \`${label}\`\n\n- It is about **${repository}**\n- ${
      random.int(0, 5)
    } similar`,
  };
  const model = random.pick(["openai/gpt-4o-mini", "google/gemini-2.5-flash"]);
  run.llm({ model, more: random.int(900, 6_000), messages: [question], answer });
  const args = { repository, issue, label };
  const tool = { name: "label_issue", args, tookMs: random.int(90, 600) };
  // The tracker limits its callers: one retry helps, and rarely none does.
  const isLimited = random.chance(0.12), isLost = random.chance(0.03);
  if (isLimited || isLost) run.tool({ ...tool, error: "429 from the issue tracker" });
  if (isLost) {
    const error = "The issue tracker refuses calls: 429";
    return run.finish({ status: "failed", output: { error } });
  }
  if (isLimited) run.wait(2_000);
  run.tool({ ...tool, result: { labelled: true } });
  run.finish({
    status: "success",
    output: { label },
    scores: { confidence: random.int(60, 99) / 100 },
  });
}

/** Writes the notes of a release, by a model that has no price. */
function writeReleaseNotes(context: SampleContext, startMs: number): void {
  const goal = `Release notes of ${formatInstant(startMs).slice(0, 10)}`;
  const run = new SampleRun(context, startMs, {
    agent: "release-notes",
    feature: "marketing",
    goal,
  });
  const task: ChatMessage = { role: "user", content: "Write the notes of this week's changes." };
  const answer: ChatMessage = {
    role: "assistant",
    content: `## ${goal}\n\n- **Faster search** in large catalogues\n- Exports keep their filters`,
  };
  run.tool({ name: "read_commits", args: { days: 7 }, tookMs: 800, result: { commits: 41 } });
  run.llm({ model: UNPRICED_MODEL, more: 14_000, messages: [task], answer });
  run.finish({ status: "success", output: { answer: answer.content } });
}

/** Reads pages in turns, with a context that grows; a run that is not over has no finish. */
function research(
  context: SampleContext,
  startMs: number,
  { untilMs, isOver }: { readonly untilMs: number; readonly isOver: boolean },
): void {
  const { random } = context;
  const goal = random.pick([
    "How do our competitors price usage above the plan?",
    "Which carriers deliver on Saturdays, and at what price?",
    "What changed in the EU rules for electronic invoices this year?",
  ]);
  const run = new SampleRun(context, startMs, {
    agent: "deep-research",
    customer_id: random.pick(CUSTOMERS),
    feature: "research",
    goal,
  });
  const messages: ChatMessage[] = [{ role: "user", content: goal }];
  for (let page = 1; run.nowMs < untilMs - MINUTE_MS; page++) {
    const [id, args] = [run.newCallId(), { url: `https://example.com/prices/${page}` }];
    const call = { id, type: "function", function: { name: "read_page", arguments: "{}" } };
    const content = `Page ${page} next: *${random.pick(["tiers", "overage", "commitments"])}*.`;
    const answer: ChatMessage = { role: "assistant", content, tool_calls: [call] };
    // The provider has everything but the last page in its cache.
    const tokens = { more: 2_000 * page, cached: 2_000 * (page - 1) };
    run.llm({ ...tokens, model: "google/gemini-2.5-pro", messages, answer });
    const result = { bytes: random.int(4_000, 90_000) };
    run.tool({ name: "read_page", args, tookMs: random.int(400, 2_500), result }, id);
    messages.push(answer, { role: "tool", tool_call_id: id, content: JSON.stringify(result) });
    run.wait(random.int(10_000, 25_000));
    run.flush();
  }
  const summary = "## Summary\n\n1. Most have **three tiers**\n2. Overage is billed by day";
  if (isOver) run.finish({ status: "success", output: { summary }, scores: { sources: 9 } });
}

/** Sends a complete run in one request. */
function beat({ random, region, send }: SampleContext, endMs: number, body: Json): void {
  const duration_ms = random.int(4_000, 90_000);
  const id = `run_${region}_${uuid7Hex(endMs - duration_ms, random.bytes(10))}`;
  const times = { finished_at: formatInstant(endMs), duration_ms };
  const sent = { id, status: "ok", ...times, ...body };
  send({ atMs: endMs, method: "POST", path: "/v1/heartbeats", body: sent });
}

/** Adds a night's jobs; one backup does not run, and one fails. */
function workOfNight(context: SampleContext, dayMs: number, nowMs: number): void {
  const { random } = context;
  const daysAgo = Math.floor((nowMs - dayMs) / DAY_MS);
  if (daysAgo !== 17) {
    const end = daysAgo === 6
      ? { status: "fail", output: { error: "No space left on /backup" } }
      : { output: { bytes: random.int(4e9, 5e9) } };
    const endMs = dayMs + 2 * HOUR_MS + random.int(MINUTE_MS, 9 * MINUTE_MS);
    beat(context, endMs, { agent: "nightly-backup", ...end });
  }
  for (const customer_id of CUSTOMERS) {
    const tokens = { input_tokens: random.int(4_000, 20_000), output_tokens: 600 };
    const model = { provider: "anthropic", model: "claude-3-5-haiku-20241022", ...tokens };
    const labels = { agent: "usage-report", customer_id, feature: "reports" };
    beat(context, dayMs + 3 * HOUR_MS + random.int(0, 5 * MINUTE_MS), { ...labels, ...model });
  }
}

/** Adds two jobs, counted back from now: the next run of one is late, that of the other missed. */
function workAroundTheClock(context: SampleContext, startMs: number, nowMs: number): void {
  const { random } = context;
  for (let endMs = nowMs - 8 * HOUR_MS; endMs > startMs; endMs -= 6 * HOUR_MS) {
    const cost_usd = random.int(100, 900) / 1e5;
    beat(context, endMs, { agent: "price-watch", feature: "pricing", cost_usd });
  }
  for (let endMs = nowMs - 9 * HOUR_MS; endMs > startMs; endMs -= 8 * HOUR_MS) {
    if (random.chance(0.04)) continue;
    beat(context, endMs, { agent: "crm-sync", status: random.chance(0.02) ? "timeout" : "ok" });
  }
}
