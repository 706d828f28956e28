/**
 * Verifies one run: recomputes derived data from its parts and compares.
 *
 * Only the opening, the close and the batches of events are trusted. The ledger's totals, the
 * summary and the index are derived from them and must agree.
 *
 * @module
 */
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunDeletion } from "../../domain/retention/deletion.ts";
import { expiryEntryOf } from "../../domain/retention/retention.ts";
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
import { isStored, type ReadHead, readHead, type RunAt } from "../runs/heads.ts";
import { lastTsOf } from "../runs/idle_closes.ts";
import { insertedKeys, tombstoneOf, tombstoneRow } from "../runs/tombstone.ts";
import { getMany, listRows } from "../store.ts";
import { verifyFailures } from "./checks.ts";
import { Findings, NONE } from "./findings.ts";
import { verifyLedger } from "./ledger.ts";

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
export async function verifyRun(at: RunAt): Promise<VerifiedRun> {
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
    const found = `${state} after ${failure.tries} tries: ${failure.error}`;
    findings.note(`cost of ${id}`, "summarized", found);
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
function placedAs(expected: RunSummary, found: RunSummary | null): RunSummary {
  if (found === null || expected.times !== null) return expected;
  return { ...expected, listed: { ...expected.listed, at: found.listed.at } };
}

function compareSummaries(
  what: string,
  expected: RunSummary | null,
  found: RunSummary | null,
  findings: Findings,
): void {
  findings.presence(what, expected !== null, found !== null);
  if (expected === null || found === null) return;
  // Only the stored summary knows when the cost became final.
  const [wanted, stored] = [expected.seen.closing, found.finalAt !== undefined];
  findings.compare(
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
    const [found, ...others] = stored[i] ?? [];
    if (found === undefined) findings.note(what, "stored", NONE);
    else if (others.length > 0) findings.note(what, "stored", `stored ${1 + others.length} times`);
    else findings.compare(what, { value }, { value: found });
  }
}

/** Compares the idle close of a run with its opening and events. A later deadline is allowed. */
async function verifyIdleClose(run: ReadHead, findings: Findings): Promise<void> {
  const { id, ledger, head: { parts: { opening, closing } } } = run;
  if (closing?.closedBy !== "idle") return;
  const what = `idle close of ${id}`;
  const deadline = idleDeadlineOf(opening, ledger);
  if (deadline === null) return findings.presence(what, false, true);
  // An absence postpones a deadline, and what is removed cannot be compared.
  const closedAt = Math.max(deadline, closing.receivedAt);
  const lastTs = ledger.removed > 0 ? closing.finishedAt : await lastTsOf(run);
  const { status, at, receivedAt } = idleCloseOf(opening as Opening, ledger, lastTs, closedAt);
  const found = { status: closing.status, at: closing.finishedAt, receivedAt: closing.receivedAt };
  findings.compare(what, { status, at, receivedAt }, found);
}

/**
 * Verifies a deleted run: all its tombstones are stored, its expiry entry will free the id, and no
 * other row is left; chunks are verified for all runs. A purge mark allows event rows to remain. A run
 * that expired has only the mark.
 */
async function verifyDeleted(
  { store, team, id }: RunAt,
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
