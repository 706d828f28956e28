/**
 * Budgets and pauses in the model: what runs have spent, and what the guard says of it (G2 to G7). All
 * sequences have the same ones. Takes nothing from the service.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { dayOf } from "./checks.ts";
import { step } from "./model.ts";
import type { Play } from "./running.ts";
import { asClosed, type Fields, type Request, type Run, type State } from "./shape.ts";
import { costOf } from "./values.ts";
import { send, type WireAnswer } from "./wire.ts";
import type { World } from "./world.ts";

interface Budget {
  readonly scope: Readonly<Partial<Record<Label | "each", string>>>;
  readonly period: "run" | "day" | "week" | "month";
  readonly limit_usd: number;
  readonly mode: "observe" | "soft" | "hard";
}

/** Labels that scopes name, and those of a question about them. */
type Label = "agent" | "customer_id" | "feature";
const ASKED = { agent: "agent", customer_id: "customer_ref", feature: "function" } as const;

const LABELS = Object.keys(ASKED) as Label[];

/** Budgets by slug; the default share of the limit warns. */
const BUDGETS: Readonly<Record<string, Budget>> = {
  "ant-week": { scope: { agent: "ant" }, period: "week", limit_usd: 0.25, mode: "soft" },
  "each-customer": { scope: { each: "customer" }, period: "month", limit_usd: 0.1, mode: "hard" },
  "each-run": { scope: {}, period: "run", limit_usd: 0.0001, mode: "hard" },
  "team-day": { scope: {}, period: "day", limit_usd: 3.1, mode: "hard" },
  "watched": { scope: {}, period: "month", limit_usd: 0.0001, mode: "observe" },
};

const PAUSED: Readonly<Partial<Record<Label, string>>> = { agent: "Bee" };

/** Maximum attempts of one call: more than there are faults in a sequence. */
const ATTEMPTS_MAX = 100;

const WARN_AT = 0.8, DAY_MS = 86_400_000, USD = 1e12;

type Subject = Readonly<Partial<Record<Label, string>>>;

/** Verdict of a budget about a subject. */
interface Judged {
  readonly name: string;
  readonly group: string | null;
  readonly spent: number;
  readonly state: "ok" | "warn" | "block";
}

export async function putBudgets(world: World): Promise<void> {
  const put = async (path: string, body: unknown) => {
    const { status, text } = await world.send("PUT", path, JSON.stringify(body));
    assertEquals(status, 202, text);
  };
  for (const [slug, body] of Object.entries(BUDGETS)) await put(`/v1/budgets/${slug}`, body);
  await put("/v1/pauses/paused", { ...PAUSED, reason: "down" });
}

/** Compares the verdict on the acknowledgement of a batch: a run's own budget is judged at once (G7). */
export function checkBatch(
  { state }: Play,
  world: World,
  { call, id = "" }: Request,
  { status, guard }: WireAnswer,
): void {
  const run = state.runs[id];
  if (call !== "events" || status >= 400 || run === undefined) return;
  const isUsedUp = costOf(run) >= limitOf("each-run");
  // Of several instances, one may not have read the budgets yet. The labels of a heartbeat, and what
  // it says of its cost, are read after the first batch.
  const mayLack = world.isShared || run.opening?.kind === "heartbeat";
  if (isUsedUp && !(guard === null && mayLack)) assertMatch(guard ?? "", /^block;/, id);
  // A run without labels is in the scope of the team's budgets too.
  const isTeamBlocked = verdictOf(state, {}, world.nowMs).budgets
    .some((budget) => budget.state === "block");
  if (!isUsedUp && !isTeamBlocked && run.opening === undefined) {
    assert(!guard?.startsWith("block;"), `${id}: ${guard}`);
  }
}

/** Compares what the guard says of all subjects with the model, once nothing waits. */
export async function checkGuard(play: Play, world: World): Promise<void> {
  const { state, history, isFaulty } = play;
  const { nowMs } = world;
  // Another instance may have counted the spend within the second since the last comparison.
  world.nowMs = play.guardCheckedMs = Math.max(nowMs, play.guardCheckedMs) + 1_001;
  const subjects = new Map(
    [{}, { agent: "ant" }, PAUSED, ...Object.values(state.runs).map(subjectOf)]
      .map((subject) => [JSON.stringify(subject), subject]),
  );
  for (const subject of subjects.values()) await checkSubject(state, world, subject);
  for (const agent of Object.keys(state.monitors.of)) {
    const { text } = await world.send("GET", `/v1/agents/${encodeURIComponent(agent)}/monitor`);
    const { pauses, budgets } = verdictOf(state, { agent }, world.nowMs);
    const isBlocked = pauses.length > 0 || budgets.some(({ state }) => state === "block");
    assertEquals(JSON.parse(text).blocked_by !== null, isBlocked, text);
  }
  for (const [id, run] of Object.entries(state.runs)) {
    const opening = history.findLast(({ call, fields }) => call === "open" && fields.id === id);
    if (opening === undefined || world.isShared) continue;
    const [next, { status }] = step(state, opening, world.nowMs);
    if (status !== 200 || next !== state) continue;
    // The first acknowledgement of a process starts the read of the run's labels.
    await acknowledge(world, opening, isFaulty);
    await world.service.guard.idle();
    const answer = await acknowledge(world, opening, isFaulty);
    const { pauses, budgets } = verdictOf(state, subjectOf(run), world.nowMs);
    const own = stateOf(costOf(run), "each-run");
    const states = [...pauses.map(() => "block"), ...budgets.map(({ state }) => state), own];
    const wanted = ["block", "warn"].find((each) => states.includes(each)) ?? "allow";
    const guard = answer?.guard?.split(";")[0];
    // Where others may write too, a repeated opening may not know what the run has spent.
    const mayLack = wanted !== "block" && world.store.limits.mayRepeat;
    if (guard !== undefined || !mayLack) assertEquals(guard, wanted, `acknowledgement of ${id}`);
  }
  world.nowMs = nowMs;
}

/** Repeats a call that meets a fault: also one that was stored before may commit something. */
async function acknowledge(world: World, request: Request, isFaulty: boolean) {
  const attempts = isFaulty ? ATTEMPTS_MAX : 1;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const answer = await send(world, request);
    if (answer !== null) return answer;
  }
  return null;
}

async function checkSubject(state: State, world: World, subject: Subject): Promise<void> {
  const asked = Object.fromEntries(
    LABELS.flatMap((label) => subject[label] === undefined ? [] : [[ASKED[label], subject[label]]]),
  );
  const { status, text } = await world.send("POST", "/v1/guard/check", JSON.stringify(asked));
  assertEquals(status, 200, text);
  const { decision, rules, blocked_by, guard_check_id } = JSON.parse(text);
  const { pauses, budgets } = verdictOf(state, subject, world.nowMs);
  const actual = rules.map(({ name, group, spent_usd, state }: Fields) => ({
    name,
    group,
    spent: spent_usd,
    state,
  }));
  const wanted = [
    ...pauses.map((name) => ({ name, group: null, spent: null, state: "block" })),
    ...budgets.map((judged) => ({ ...judged, spent: judged.spent / USD })),
  ];
  const byName = (a: Fields, b: Fields) => `${a.name}` < `${b.name}` ? -1 : 1;
  assertEquals<unknown>(actual.toSorted(byName), wanted.sort(byName), JSON.stringify(asked));
  const blocking = wanted.filter(({ state }) => state === "block").length;
  const isBlocked = blocking > 0;
  assertEquals(
    [decision, blocked_by.length, guard_check_id !== null],
    [isBlocked ? "block" : "allow", blocking, isBlocked],
    text,
  );
}

function verdictOf(state: State, subject: Subject, nowMs: number) {
  const isPaused = Object.entries(PAUSED).every(([label, name]) =>
    subject[label as Label] === name
  );
  return { pauses: isPaused ? ["paused"] : [], budgets: judgedOf(state, subject, nowMs) };
}

/** Returns what the budgets of periods say of a subject. */
function judgedOf({ runs }: State, subject: Subject, nowMs: number): Judged[] {
  return Object.entries(BUDGETS).flatMap(([name, { scope, period }]): Judged[] => {
    const label = scope.each === "customer"
      ? "customer_id" as const
      : LABELS.find((label) => scope[label] !== undefined);
    const group = label === undefined ? undefined : subject[label];
    const isIn = label === undefined || group !== undefined && (scope[label] ?? group) === group;
    if (period === "run" || !isIn) return [];
    const spent = Object.values(runs).filter((run) => {
      const isOfGroup = label === undefined || subjectOf(run)[label] === group;
      return run.opening !== undefined && isOfGroup &&
        periodOf(period, dayOf(run)) === periodOf(period, new Date(nowMs).toISOString());
    }).reduce((sum, run) => sum + costOf(run), 0);
    const shown = scope.each === undefined ? null : group ?? null;
    return [{ name, group: shown, spent, state: stateOf(spent, name) }];
  });
}

function stateOf(spent: number, name: string): Judged["state"] {
  const { mode } = BUDGETS[name] as Budget;
  if (mode === "observe" || spent < WARN_AT * limitOf(name)) return "ok";
  return spent >= limitOf(name) && mode === "hard" ? "block" : "warn";
}

function limitOf(name: string): number {
  return Math.round((BUDGETS[name]?.limit_usd ?? 0) * USD);
}

/** Names the UTC period that a day is in; weeks begin on Monday. */
function periodOf(period: "day" | "week" | "month", at: string): string {
  const day = at.slice(0, "2026-11-21".length);
  // The first day of unix time was a Thursday.
  if (period === "week") return `${Math.floor((Date.parse(day) / DAY_MS + 3) / 7)}`;
  return period === "day" ? day : day.slice(0, "2026-11".length);
}

/** Returns the labels of a run; those of its close win. */
function subjectOf(stored: Run): Subject {
  const { opening, closing } = asClosed(stored);
  const labels = LABELS.map((label) => [label, closing?.[label] ?? opening?.[label] ?? undefined]);
  return Object.fromEntries(labels.filter(([, value]) => value !== undefined));
}
