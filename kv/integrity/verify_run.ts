/**
 * Verifies one run: recomputes derived data from its parts and compares.
 *
 * Only the opening, the close and the batches of events are trusted. The ledger's totals, the
 * summary and the index are derived from them and must agree.
 *
 * @module
 */
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { expiryEntryOf, type RunDeletion } from "../../domain/retention/retention.ts";
import { idleCloseOf, idleDeadlineOf } from "../../domain/runs/idle.ts";
import { judgedOf, withJudged } from "../../domain/runs/check_result.ts";
import type { Opening } from "../../domain/runs/run.ts";
import { isDead } from "../../domain/runs/stages.ts";
import { type RunSummary, summarize } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import { messageOf } from "../refused.ts";
import { callsByMonth } from "../retention/removal.ts";
import { type Entry, findValues, type Order } from "../index/entries.ts";
import { indexEntries } from "../run_list/run_index.ts";
import {
  insertedKeys,
  isStored,
  type ReadHead,
  readHead,
  type RunRef,
  type RunWithLedger,
  tombstoneOf,
  tombstoneRow,
} from "../runs/heads.ts";
import { lastTsOf } from "../runs/idle_closes.ts";
import { eachRow, getAll, getEntry, getMany, listRows } from "../store.ts";
import { placeOf } from "../checks/day_counts.ts";
import { failureKeys } from "../checks/results.ts";
import { Findings, NONE } from "./findings.ts";
import type { EventTotals } from "../../domain/runs/event_totals.ts";
import {
  EMPTY_LEDGER,
  hasRowIds,
  type LedgerPage,
  PACKED_ID_BYTES,
  pageEntryOf,
} from "../../domain/runs/ledger.ts";
import { isRest, type ModelUsage } from "../../domain/runs/model_usage.ts";
import { readDirectory } from "../runs/batches.ts";
import { sumEvents } from "../retention/expiry.ts";

/** Result of verifying a run. */
export interface VerifiedRun {
  /** The run as it is stored; null if it is removed or cannot be read. */
  readonly run: ReadHead | null;
  /** The summary that roll-ups, agents and the index must include; null for none. */
  readonly summary: RunSummary | null;
  /** The run's share of the usage counters, by month. */
  readonly usage: ReadonlyMap<string, number>;
  /** Number of stored events. */
  readonly events: number;
  /** Derived data that differs from the parts. */
  readonly findings: Findings;
}

/** Verifies a run. An unreadable part is a mismatch, not an error. */
export async function verifyRun(at: RunRef): Promise<VerifiedRun> {
  const nothing = { run: null, summary: null, usage: new Map(), events: 0 };
  const findings = new Findings();
  try {
    const run = await readHead(at);
    if (run.tombstone === null) return { run, ...await verifyParts(run, findings), findings };
    await verifyDeleted(run, run.tombstone, findings);
    return { ...nothing, findings };
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    const unreadable = new Findings();
    unreadable.note(`parts of ${at.id}`, "readable", messageOf(error));
    return { ...nothing, findings: unreadable };
  }
}

async function verifyParts(run: ReadHead, findings: Findings) {
  const { id, head, summary, failure, checks } = run;
  const { totals, months } = await verifyLedger(run, findings);
  await verifyIdleClose(run, findings);
  await verifyFailures(run, findings);
  const counts = { usage: callsByMonth(head.parts, months), events: totals.events };
  // A run whose projection is pending is one mismatch; roll-ups still hold its previous summary.
  if (failure?.work === "cost") {
    const state = isDead(failure) ? "dead" : "retrying";
    const failed = `${state} after ${failure.tries} tries: ${failure.error}`;
    findings.note(`cost of ${id}`, "summarized", failed);
    return { ...counts, summary };
  }
  const summarized = isStored(head) ? summarize({ ...head, totals }, null) : null;
  const expected = summarized && withJudged(placedAs(summarized, summary), judgedOf(checks));
  compareSummaries(`summary of ${id}`, expected, summary, findings);
  await verifyPlaces(run, expected, findings);
  return { ...counts, summary: expected };
}

/**
 * Takes the list position from the stored summary: without an opening, it depends on parts that
 * were removed since.
 */
function placedAs(expected: RunSummary, stored: RunSummary | null): RunSummary {
  if (stored === null || expected.times !== null) return expected;
  return { ...expected, listed: { ...expected.listed, at: stored.listed.at } };
}

function compareSummaries(
  what: string,
  expected: RunSummary | null,
  actual: RunSummary | null,
  findings: Findings,
): void {
  findings.presence(what, expected !== null, actual !== null);
  if (expected === null || actual === null) return;
  // Only the stored summary knows when the cost became final.
  const [wanted, stored] = [expected.seen.closing, actual.finalAt !== undefined];
  findings.compare(
    what,
    { ...flat(expected), hasFinalAt: wanted },
    { ...flat(actual), hasFinalAt: stored },
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
 * Finds entries of a run in the index, the expiry orders and the feed that are missing, different, or
 * stored more than once.
 */
async function verifyPlaces(run: ReadHead, expected: RunSummary | null, findings: Findings) {
  const { store, team, id, head, ledger, summary } = run;
  const entries: Entry[] = [...indexEntries(team, id, expected)];
  const add = (order: Order, at: number) => entries.push({ order, at, run: id, value: true });
  if (isStored(head)) {
    const { retentionClass, since } = expiryEntryOf(head.parts, ledger);
    add(keys.expiryOrder(team, retentionClass), since);
  }
  if (summary?.changes !== undefined) add(keys.changes(team), summary.changes.latest);
  const { blocks = [] } = summary ?? {};
  const stored = await findValues(store, entries.map((entry) => ({ ...entry, blocks })));
  for (const [i, { order, at, value }] of entries.entries()) {
    const what = `index ${[...order.slice(2), at].join(" ")} for ${id}`;
    const [first, ...others] = stored[i] ?? [];
    if (first === undefined) findings.note(what, "stored", NONE);
    else if (others.length > 0) findings.note(what, "stored", `stored ${1 + others.length} times`);
    else findings.compare(what, { value }, { value: first });
  }
}

/** Compares the idle close of a run with its opening and events. A later deadline is allowed. */
async function verifyIdleClose(run: ReadHead, findings: Findings): Promise<void> {
  const { id, ledger, head: { parts: { opening, closing } } } = run;
  if (closing?.closedBy !== "idle") return;
  const what = `idle close of ${id}`;
  const deadline = idleDeadlineOf(opening, ledger);
  if (deadline === null) return findings.presence(what, false, true);
  // The limit of agents left a trace without an opening.
  if (opening === null) return;
  // An absence postpones a deadline, and what is removed cannot be compared.
  const closedAt = Math.max(deadline, closing.receivedAt);
  const lastTs = ledger.removed > 0 ? closing.finishedAt : await lastTsOf(run);
  const { status, at, receivedAt } = idleCloseOf(opening as Opening, ledger, lastTs, closedAt);
  const stored = { status: closing.status, at: closing.finishedAt, receivedAt: closing.receivedAt };
  findings.compare(what, { status, at, receivedAt }, stored);
}

/**
 * Verifies a deleted run: all its tombstones are stored, its expiry entry will free the id, and no
 * other row is left; chunks are verified for all runs. A purge mark allows event rows to remain. A run
 * that expired has only the mark.
 */
async function verifyDeleted(
  { store, team, id }: RunRef,
  deleted: RunDeletion,
  findings: Findings,
): Promise<void> {
  const mark = keys.purge(team, id);
  const entryKey = deleted.by === null ? mark : tombstoneRow(team, deleted);
  const wanted = [mark, entryKey, ...insertedKeys(team, id)];
  const [purgeMark, row, ...tombstones] = await getMany(store, wanted);
  findings.presence(`index of deleted ${id}`, true, row!.versionstamp !== null);
  if (tombstones.some(({ value }) => tombstoneOf([value]) === null)) {
    findings.note(`tombstone of ${id}`, "complete", "not complete");
  }
  const head = await listRows(store, { prefix: keys.run(team, id) });
  const isLeft = head.some(({ value }) => tombstoneOf([value]) === null) ||
    purgeMark!.versionstamp === null &&
      (await listRows(store, { prefix: keys.events(team, id) }, { limit: 1 })).length > 0;
  findings.presence(`rows of deleted ${id}`, false, isLeft);
}

/** Verifies the ledger of a run; returns the totals of its events, and their number by month. */
export async function verifyLedger(run: RunWithLedger, findings: Findings) {
  const { store, team, id, ledger } = run;
  const { totals, months } = await sumEvents(run, ledger.batches, (batch) => {
    findings.presence(`batch ${batch} of ${id}`, true, false);
  });
  const beyond = await getEntry(store, keys.batch(team, id, ledger.batches));
  if (beyond.versionstamp !== null) {
    findings.note(`batch ${ledger.batches} of ${id}`, "counted by the ledger", "not counted");
  }
  const expected = withLinesOf(totals, ledger.totals);
  findings.compare(`event totals of ${id}`, { ...expected }, { ...ledger.totals });
  await verifyPages(run, months, findings);
  await verifyScores(run, findings);
  return { totals: expected, months };
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

/**
 * Compares a ledger with its pages and ids. Removed batches are still on the pages, and ids are
 * kept as long as the run.
 *
 * @param months events that are not removed, by month of arrival
 */
export async function verifyPages(
  run: RunWithLedger,
  months: ReadonlyMap<string, number>,
  findings: Findings,
): Promise<void> {
  const { store, team, id, ledger } = run;
  const { batches, firstAt, latestAt, oldestAt, sealed, totals } = ledger;
  const stored = { ids: totals.events, batches, firstAt, latestAt, oldestAt, pages: sealed };
  const expected: typeof stored = {
    ids: 0,
    batches: 0,
    firstAt: null,
    latestAt: null,
    oldestAt: null,
    pages: 0,
  };
  const add = ({ ids, batches }: LedgerPage) => {
    expected.ids += ids.length / PACKED_ID_BYTES;
    for (const { receivedAt } of batches) {
      expected.firstAt = Math.min(expected.firstAt ?? receivedAt, receivedAt);
      expected.latestAt = Math.max(expected.latestAt ?? receivedAt, receivedAt);
      if (expected.batches++ >= ledger.removed) expected.oldestAt ??= receivedAt;
    }
  };
  const directory = await readDirectory(run);
  // A page sealed after the ledger was read belongs to a later state.
  for await (const { value } of eachRow<LedgerPage>(store, keys.firstPages(team, id, sealed))) {
    add(value);
    const page = expected.pages++;
    const entry = pageEntryOf(value, expected.batches);
    findings.compare(`directory of page ${page} of ${id}`, { ...entry }, { ...directory[page] });
  }
  add(ledger.tail);
  if (hasRowIds(ledger)) {
    for await (const _ of eachRow(store, { prefix: keys.eventIds(team, id) })) expected.ids++;
  }
  findings.compare(
    `ledger of ${id}`,
    { ...expected, ...Object.fromEntries(months) },
    { ...stored, ...ledger.months },
  );
}

/** Compares the count of scores with the stored rows. A run without a ledger has no scores. */
async function verifyScores({ store, team, id, ledger }: RunWithLedger, findings: Findings) {
  if (ledger === EMPTY_LEDGER) return;
  let scores = 0;
  for await (const _ of eachRow(store, { prefix: keys.scores(team, id) })) scores++;
  findings.compare(`scores of ${id}`, { scores }, { scores: ledger.scores?.count ?? 0 });
}

/** Finds rows of failures that a run with results lacks. */
async function verifyFailures(
  { store, team, id, summary, checks: results }: ReadHead,
  findings: Findings,
): Promise<void> {
  if (results.length === 0) return;
  const place = placeOf(summary);
  if (place === null || summary?.seen.closing !== true) {
    return findings.presence(`results of checks of ${id}`, false, true);
  }
  const rows = await getAll(store, [...failureKeys(team, id, { place, results }).values()]);
  for (const { key, versionstamp } of rows) {
    findings.presence(`failure of ${String(key[2])} by ${id}`, true, versionstamp !== null);
  }
}
