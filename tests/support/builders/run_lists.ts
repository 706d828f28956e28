/** Random runs as data: stored by calls, and listed in memory by the rules of the contract. */
import fc from "fast-check";
import type { Team } from "../../../domain/teams/team.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import type { RunPosition, RunsQuery } from "../../../domain/runs/list.ts";
import type { OneOf } from "../../../domain/runs/list_filter.ts";
import { type RunStatus, STATUS_OF_HEARTBEAT } from "../../../domain/runs/run.ts";
import { cardOf, rateRow } from "./cards.ts";
import { NOON } from "../harness/harness.ts";
import { aCall, run } from "./stored_runs.ts";
import type { RunListStore } from "../../../kv/run_list/run_list.ts";

/** An input token costs 3 picodollars, an output token 5, of the one priced model. */
export const LIST_CARD = cardOf(rateRow("known", 3, 5));

const HOUR_MS = 3_600_000;

interface SentRun {
  /** Orphans have no opening. */
  readonly kind: "run" | "heartbeat" | "orphan";
  /** Hours after noon; for an orphan, of its first part. */
  readonly hour: number;
  readonly agent: string;
  readonly customer: string | null;
  readonly feature: string | null;
  readonly end: "success" | "failed" | "timeout" | null;
  /** Models it calls; a heartbeat reports the first. */
  readonly calls: readonly { model: string; provider: string | null; tokens: number }[];
  /** True if the last call arrives after the close. */
  readonly isLate: boolean;
}

const names = (...all: (string | null)[]) => fc.constantFrom(...all);

export const anyRun: fc.Arbitrary<SentRun> = fc.record({
  kind: fc.constantFrom("run", "run", "heartbeat", "orphan"),
  hour: fc.nat(5),
  agent: fc.constantFrom("a", "b"),
  customer: names("c", "d", null),
  feature: names("f", null),
  end: fc.constantFrom("success", "success", "failed", "timeout", null),
  calls: fc.array(
    fc.record({
      model: fc.constantFrom("known", "new"),
      provider: names("p", null),
      tokens: fc.nat(5).map((digits) => 10 ** (2 * digits)),
    }),
    { maxLength: 2 },
  ),
  isLate: fc.boolean(),
});

/** Any query; ids are of runs with numbers of two hex digits. */
export const anyQuery: fc.Arbitrary<RunsQuery> = fc.record({
  agent: fc.constantFrom<OneOf<string>>("a", "b", "x", ["a", "x"], ["a", "b"]),
  customer: fc.constantFrom<OneOf<string | null>>("c", "d", null, ["c", "d"], ["c", null]),
  feature: names("f", null),
  status: fc.constantFrom<OneOf<RunStatus>>("success", "failed", "timeout", "running", [
    "failed",
    "timeout",
  ]),
  kind: fc.constantFrom("run", "heartbeat"),
  model: fc.constantFrom<OneOf<string>>("known", "new", "none", ["known", "none"]),
  not: fc.record({
    agent: fc.constant(["b"]),
    customer: fc.constantFrom(["c"], [null], ["c", "d"]),
    status: fc.constantFrom(["running"], ["success", "failed"]),
    model: fc.constant(["new"]),
  }, { requiredKeys: [] }),
  has: fc.constantFrom("unpriced", "late", "orphan", "failed_check", "judged"),
  minCost: fc.constantFrom(1n, 300n, 3_000_005n, 3_000_000_006n, 10n ** 15n),
  q: fc.constantFrom("0", "1", "a", run(7)),
  range: fc.tuple(fc.option(fc.nat(5)), fc.option(fc.nat(5))),
}, { requiredKeys: ["range"] }).chain(({ range: [from, hours], ...query }) =>
  fc.constantFrom({}, { provider: "p" }, { provider: null }).map((provider) => ({
    ...query,
    ...query.model === undefined ? {} : provider,
    from: from === null ? null : NOON + from * HOUR_MS,
    to: hours === null ? null : NOON + ((from ?? 0) + hours) * HOUR_MS + 1,
  }))
);

export async function send(runs: RunStore, team: Team, n: number, sent: SentRun): Promise<void> {
  const id = run(n);
  const at = NOON + sent.hour * HOUR_MS;
  const labels = {
    ...sent.customer === null ? {} : { customerId: sent.customer },
    ...sent.feature === null ? {} : { feature: sent.feature },
  };
  if (sent.kind === "heartbeat") {
    const [call] = sent.calls;
    const reported = call === undefined ? {} : {
      model: call.model,
      inputTokens: call.tokens,
      ...call.provider === null ? {} : { provider: call.provider },
    };
    const status = beatOf(sent.end);
    const beat = { id, agent: sent.agent, status, startedAt: at, reported, ...labels };
    await runs.heartbeat(team, beat, NOON);
    return;
  }
  const calls = callsOf(sent).map(({ model, provider, tokens }, i) => ({
    ...aCall(n * 10 + i, model, provider),
    facts: {
      error: false,
      call: { ...aCall(1, model, provider).facts.call!, inputTokens: tokens },
    },
  }));
  const isOrphan = sent.kind === "orphan";
  if (!isOrphan) await runs.open(team, { id, agent: sent.agent, startedAt: at, ...labels }, NOON);
  const lateCalls = isLate(sent) ? calls.slice(-1) : [];
  const early = calls.slice(0, calls.length - lateCalls.length);
  if (early.length > 0 || isOrphan) {
    const events = early.length > 0
      ? early
      : [{ ...aCall(n * 10), type: "log", facts: { error: false } }];
    await runs.append(team, id, events, isOrphan ? at : NOON);
  }
  if (sent.end === null) return;
  await runs.finish(team, id, { status: sent.end, finishedAt: at + 1 }, at + 1);
  if (lateCalls.length > 0) await runs.append(team, id, lateCalls, at + 2);
}

/** Returns the runs that a query lists, newest first, computed in memory. */
export function listOf(all: ReadonlyMap<number, SentRun>, query: RunsQuery): string[] {
  return [...all]
    .filter(([n, sent]) => matches(n, sent, query))
    .sort(([n, a], [m, b]) => b.hour - a.hour || m - n)
    .map(([n]) => run(n));
}

function matches(n: number, sent: SentRun, query: RunsQuery): boolean {
  const at = NOON + sent.hour * HOUR_MS;
  const isOrphan = sent.kind === "orphan";
  const calls = callsOf(sent);
  const cost = calls.reduce(
    (sum, { model, tokens }) =>
      model === "known" ? sum + 3 * tokens + (sent.kind === "heartbeat" ? 0 : 5) : sum,
    0,
  );
  const traits = {
    unpriced: calls.some(({ model }) => model === "new"),
    late: isLate(sent),
    orphan: isOrphan,
    failed_check: false,
    judged: false,
  };
  const is = <T>(wanted: OneOf<T> | undefined, value: T) =>
    wanted === undefined || [wanted].flat().includes(value);
  const isNot = <T>(unwanted: readonly T[] = [], value: T) => !unwanted.includes(value);
  const { not = {} } = query;
  // An orphan has no fields of an opening; only `has=orphan` or its complete id finds it.
  return (isOrphan ? query.has === "orphan" || query.q === run(n) : true) &&
    is(query.agent, isOrphan ? null : sent.agent) &&
    is(query.customer, isOrphan ? null : sent.customer) &&
    is(query.feature, isOrphan ? null : sent.feature) &&
    is(query.status, sent.end ?? "running") &&
    is(query.kind, isOrphan ? "run" : sent.kind) &&
    (query.has === undefined || traits[query.has]) &&
    (query.model === undefined ||
      calls.some(({ model, provider }) =>
        is(query.model, model) && is(query.provider, provider)
      )) &&
    isNot(not.agent, isOrphan ? null : sent.agent) &&
    isNot(not.customer, isOrphan ? null : sent.customer) &&
    isNot(not.status, sent.end ?? "running") &&
    calls.every(({ model }) => isNot(not.model, model)) &&
    BigInt(cost) >= (query.minCost ?? 0n) && run(n).includes(query.q ?? "") &&
    at >= (query.from ?? 0) && at < (query.to ?? Infinity);
}

/**
 * Returns the calls that count: at most one of a heartbeat, and at least one event of an orphan.
 */
function callsOf({ kind, calls }: SentRun) {
  return kind === "heartbeat" ? calls.slice(0, 1) : calls;
}

function isLate({ kind, end, calls, isLate }: SentRun): boolean {
  return isLate && kind !== "heartbeat" && end !== null && calls.length > 0;
}

function beatOf(end: SentRun["end"]) {
  const statuses = ["ok", "fail", "timeout", "start"] as const;
  return statuses.find((word) => STATUS_OF_HEARTBEAT[word] === (end ?? "running")) ?? "ok";
}

/** Reads the ids of a list page by page; fails if the pages never end. */
export async function readList(
  page: RunListStore["page"],
  team: Team,
  query: RunsQuery,
  limit: number,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<string[]> {
  const ids: string[] = [];
  let after: RunPosition | null = null;
  for (let pages = 0; pages < 1_000; pages++) {
    const { rows, next, searchedTo } = await page(team, query, after, limit);
    ids.push(...rows.map(({ id }) => id));
    if (rows.length > limit) throw new Error(`${rows.length} runs on a page of ${limit}`);
    if ((rows.length < limit && next !== null) !== (searchedTo !== null)) {
      throw new Error("A short page lacks the position up to which it searched");
    }
    if (next === null) return ids;
    after = next;
    await between();
  }
  throw new Error("The pages never end");
}
