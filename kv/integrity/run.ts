/**
 * Verifies one run: recomputes derived data from its parts and compares.
 *
 * Only the opening, the close and the batches of events are trusted. The ledger's totals, the
 * summary and the index are derived from them and must agree.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { addEvents, type EventTotals } from "../../domain/runs/event_totals.ts";
import { EMPTY_LEDGER } from "../../domain/runs/ledger.ts";
import { isRest, type ModelUsage } from "../../domain/runs/model_usage.ts";
import type { CheckResult } from "../../domain/runs/check_result.ts";
import { judgedOf, withJudged } from "../../domain/runs/judged.ts";
import { arrivalsOf, type RunParts } from "../../domain/runs/run.ts";
import { isDead, type RunFailure } from "../../domain/runs/stages.ts";
import { type RunSummary, summarize } from "../../domain/runs/summary.ts";
import { expiryEntryOf } from "../../domain/retention/retention.ts";
import { monthOf } from "../../domain/core/time.ts";
import { verifyFailures } from "./checks.ts";
import { verifyDeleted } from "./deleted.ts";
import { type ExpectedEntry, verifyEntries } from "./entries.ts";
import { hasIdleDeadline, verifyIdleClose } from "./idle.ts";
import { verifyLedger } from "./ledger.ts";
import { type Mismatch, mismatch, NONE } from "./mismatch.ts";
import { hasWork } from "./work.ts";
import { numbersFrom, readBatches, withFacts } from "../runs/batches.ts";
import {
  isStored,
  type LedgerAt,
  type ReadHead,
  readHead,
  type RunAt,
  type SummarizedHead,
} from "../runs/heads.ts";
import { keys } from "../base/keys.ts";
import { readRemovedTotals } from "../retention/old_batches.ts";
import { indexEntries } from "../run_list/run_index.ts";
import { getEntry, listRows } from "../store.ts";

/** Result of verifying a run. */
export interface VerifiedRun {
  /** The summary that roll-ups, agents and the index must include; null for none. */
  readonly summary: RunSummary | null;
  /** Results of its checks. */
  readonly checks: readonly CheckResult[];
  /** The run's share of the usage counters, by month. */
  readonly usage: ReadonlyMap<string, number>;
  /** True if the feed of changes must have a row of the run. */
  readonly isInFeed: boolean;
  /** True if the due index must have a row of the run. */
  readonly hasDeadline: boolean;
  /** True if it has work that must be due. */
  readonly hasWork: boolean;
  /** Number of stored events. */
  readonly events: number;
  /** Derived data that differs from the parts. */
  readonly mismatches: readonly Mismatch[];
}

/** Result for a run without data. */
const NOTHING: VerifiedRun = {
  summary: null,
  checks: [],
  usage: new Map(),
  isInFeed: false,
  hasDeadline: false,
  hasWork: false,
  events: 0,
  mismatches: [],
};

/** Verifies a run. An unreadable part is a mismatch, not an error. */
export async function verifyRun(run: RunAt): Promise<VerifiedRun> {
  try {
    return await verifyReadable(await readHead(run));
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    const found = error instanceof Error ? error.message : String(error);
    const unreadable = { what: `parts of ${run.id}`, expected: "readable", found };
    return { ...NOTHING, mismatches: [unreadable] };
  }
}

async function verifyReadable(run: ReadHead): Promise<VerifiedRun> {
  const { id, head, summary, ledger, failure, tombstone, checks } = run;
  if (tombstone !== null) return { ...NOTHING, mismatches: await verifyDeleted(run, tombstone) };
  const events = await sumEvents(run);
  const totals = withLinesOf(events.totals, ledger.totals);
  const mismatches = [
    ...events.mismatches,
    ...mismatch(`event totals of ${id}`, { ...totals }, { ...ledger.totals }),
    ...await verifyLedger(run, events.usage),
    ...await compareScores(run),
    ...await verifyIdleClose(run),
    ...await verifyFailures(run, summary, checks),
  ];
  const counts = {
    checks,
    usage: countCalls(head.parts, events.usage),
    isInFeed: summary?.changes !== undefined,
    hasDeadline: hasIdleDeadline(run),
    hasWork: hasWork(run),
    events: totals.events,
  };
  // A run whose projection is pending is one mismatch; roll-ups still hold its previous summary.
  const pendingCost = pendingCostOf(id, failure);
  if (pendingCost !== null) {
    return { ...counts, summary, mismatches: [...mismatches, pendingCost] };
  }
  const summarized = isStored(head) ? summarize({ ...head, totals }, null) : null;
  const expected = summarized && withJudged(placedAs(summarized, summary), judgedOf(checks));
  mismatches.push(
    ...compareSummaries(id, expected, summary),
    ...await misplacedEntries(run, expected),
  );
  return { ...counts, summary: expected, mismatches };
}

/**
 * Takes the list position from the stored summary: without an opening, it depends on parts that
 * were removed since.
 */
function placedAs(expected: RunSummary, found: RunSummary | null): RunSummary {
  if (found === null || expected.times !== null) return expected;
  return { ...expected, listed: { ...expected.listed, at: found.listed.at } };
}

function pendingCostOf(id: RunId, failure: RunFailure | null): Mismatch | null {
  if (failure?.work !== "cost") return null;
  const state = isDead(failure) ? "dead" : "retrying";
  const found = `${state} after ${failure.tries} tries: ${failure.error}`;
  return { what: `cost of ${id}`, expected: "summarized", found };
}

/** Totals the events of a run, batch by batch, at the prices stored with them. */
async function sumEvents(run: LedgerAt) {
  const { store, team, id, ledger } = run;
  let totals = await readRemovedTotals(run);
  const usage = new Map<string, number>();
  const mismatches: Mismatch[] = [];
  const numbers = numbersFrom(ledger.removed, ledger.batches);
  let at = ledger.removed;
  for await (const { events, prices } of readBatches(run, numbers)) {
    const batch = at++;
    // A stored batch always has an event.
    if (events.length === 0) {
      mismatches.push({ what: `batch ${batch} of ${id}`, expected: "stored", found: NONE });
      continue;
    }
    totals = addEvents(totals, events.map(withFacts), prices);
    const month = monthOf(events[0]?.receivedAt ?? 0);
    usage.set(month, (usage.get(month) ?? 0) + events.length);
  }
  const beyond = await getEntry(store, keys.batch(team, id, ledger.batches));
  if (beyond.versionstamp !== null) {
    const what = `batch ${ledger.batches} of ${id}`;
    mismatches.push({ what, expected: "counted by the ledger", found: "not counted" });
  }
  return { totals, usage, mismatches };
}

/** Adds the calls that stored the opening and the close. */
function countCalls(parts: RunParts, events: ReadonlyMap<string, number>) {
  const usage = new Map(events);
  for (const at of arrivalsOf(parts)) usage.set(monthOf(at), (usage.get(monthOf(at)) ?? 0) + 1);
  return usage;
}

/**
 * Takes the ledger's lines by model if their sum equals the sum of the lines from the events.
 *
 * Only for a run with more models than lines: which models have a line depends on when they were
 * repriced.
 */
function withLinesOf(totals: EventTotals, ledger: EventTotals): EventTotals {
  const folded = [...totals.models, ...ledger.models].some(isRest);
  const same = folded && sumOfLines(totals.models) === sumOfLines(ledger.models);
  return same ? { ...totals, models: ledger.models } : totals;
}

function sumOfLines(lines: readonly ModelUsage[]): string {
  const sums = [0n, 0n, 0n, 0n, 0n];
  for (const { calls, inputTokens, outputTokens, cachedInputTokens, cost } of lines) {
    const line = [BigInt(calls), inputTokens, outputTokens, cachedInputTokens, cost];
    line.forEach((value, i) => sums[i] = (sums[i] ?? 0n) + value);
  }
  return sums.join();
}

function compareSummaries(
  id: RunId,
  expected: RunSummary | null,
  found: RunSummary | null,
): Mismatch[] {
  const what = `summary of ${id}`;
  if (expected === null || found === null) {
    const stateOf = (summary: RunSummary | null) => summary === null ? NONE : "stored";
    return expected === found ? [] : [{ what, expected: stateOf(expected), found: stateOf(found) }];
  }
  // Only the stored summary knows when the cost became final.
  const [wanted, stored] = [expected.seen.closing, found.finalAt !== undefined];
  return mismatch(
    what,
    { ...flat(expected), hasFinalAt: wanted },
    { ...flat(found), hasFinalAt: stored },
  );
}

/** Flattens a summary, without its revision, which only the summary stores. */
function flat(summary: RunSummary): Record<string, unknown> {
  const { seen, contribution, times, listed, shown, parent, checks } = summary;
  const state = { ...seen, ...times, ...listed, ...shown, parent, checks };
  if (contribution === null) return { ...state, contribution };
  const { labels, ...sums } = contribution;
  return { ...state, ...sums, ...labels };
}

/**
 * Compares the ledger's count of scores with the stored rows. A run without a ledger has no scores.
 */
async function compareScores({ store, team, id, ledger }: LedgerAt): Promise<Mismatch[]> {
  if (ledger === EMPTY_LEDGER) return [];
  const rows = await listRows(store, { prefix: keys.scores(team, id) });
  return mismatch(`scores of ${id}`, { scores: rows.length }, {
    scores: ledger.scores?.count ?? 0,
  });
}

/** Finds missing or wrong entries of a run in the index, the expiry orders and the feed. */
function misplacedEntries(
  { store, team, id, head, ledger, summary }: SummarizedHead,
  expectedSummary: RunSummary | null,
): Promise<Mismatch[]> {
  const expected: ExpectedEntry[] = [...indexEntries(team, id, expectedSummary)];
  if (isStored(head)) {
    const { retentionClass, since } = expiryEntryOf(head.parts, ledger);
    const order = keys.expiryOrder(team, retentionClass);
    expected.push({ order, at: since, run: id, value: true });
  }
  if (summary?.changes !== undefined) {
    const order = keys.changes(team);
    expected.push({ order, at: summary.changes.latest, run: id, value: true });
  }
  return verifyEntries(store, id, expected, summary?.blocks ?? []);
}
