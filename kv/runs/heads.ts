/**
 * Reads runs from their rows: heads, which costs are computed from, summaries, and parts, for one run or
 * many, with few reads and few round trips.
 *
 * A deleted run leaves a tombstone at each key that a request of the run would insert. So a retry
 * conflicts, as it would for an existing run, and no other request has to check for tombstones.
 *
 * @module
 */
import type { CheckResult } from "../../domain/runs/check_result.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunDeletion } from "../../domain/retention/retention.ts";
import { EMPTY_LEDGER, type EventLedger } from "../../domain/runs/ledger.ts";
import type { ReportedPrice, RunParts } from "../../domain/runs/run.ts";
import type { RunHead } from "../../domain/runs/cost.ts";
import { type IdleClose, withIdleClose } from "../../domain/runs/idle.ts";
import type { RunFailure } from "../../domain/runs/stages.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { withTrace } from "../../domain/runs/trace_facts.ts";
import { listRowOf, type RunListRow } from "../../domain/runs/list.ts";
import { decodeParts } from "../base/codec.ts";
import { decodeResults } from "../base/codec_checks.ts";
import { decodeLedger, decodeSums } from "../base/codec_sums.ts";
import { keyParts, keys } from "../base/keys.ts";
import type { RecentHead } from "../recent_heads.ts";
import { pendingName, type Write } from "../writer/group.ts";
import { getAll, getMany, listRows, readBlob, type Store } from "../store.ts";
import { groupsOf } from "../base/reads.ts";
import type { EntryToAdd, EntryToRemove } from "../index/entries.ts";

/** Address of a team's data. */
export interface TeamRef {
  readonly store: Store;
  readonly team: TeamId;
}

/** Address of a run. */
export interface RunRef extends TeamRef {
  readonly id: RunId;
}

export interface RunWithLedger extends RunRef {
  /** Empty if there are no events. */
  readonly ledger: EventLedger;
}

/** Price of a heartbeat's tokens after a repricing. */
export interface StoredReprice {
  /** The price; null if the card no longer has one. */
  readonly price: ReportedPrice | null;
  /** Number of repricings. */
  readonly times: number;
  /** True if the run was closed at the repricing; a later close may report other tokens. */
  readonly closed: boolean;
}

/** Rows of a head, in the order in which {@link readHead} reads them. */
const HEAD_PARTS = ["opening", "closing", "idle", "ledger", "price", "summary"] as const;

type HeadPart = typeof HEAD_PARTS[number];

/** A run with its latest summary. */
export interface SummarizedHead extends RunWithLedger {
  /** Current state. */
  readonly head: RunHead;
  /** Summary of this state or an earlier one. */
  readonly summary: RunSummary | null;
  /** Idle close, also one that no longer counts; null for none. */
  readonly idle: IdleClose | null;
  /** Tombstone of a removed run. */
  readonly tombstone: RunDeletion | null;
  /** Returns the check that a row has not changed since it was read. */
  readonly check: (part: HeadPart) => Deno.AtomicCheck;
  /**
   * Latest version of the run's rows. They are one snapshot, so it includes every commit up to that
   * version.
   */
  readonly version: string;
  /** The head in memory that it is a copy of; null if the rows were read. */
  readonly recent: RecentHead | null;
}

/** Returns whether anything is stored for a run. */
export function isStored({ parts, batchCount, ages }: RunHead): boolean {
  return parts.opening !== null || parts.closing !== null || batchCount > 0 ||
    ages.scores !== undefined;
}

/** Returns whether texts of a run are in the events of its spans. */
export function hasSpanTexts({ ledger: { trace, batches, removed } }: RunWithLedger): boolean {
  return trace?.begin !== undefined && batches > removed;
}

/** Returns whether several instrumentations may have told one call of a run. */
export function mayHaveTwins({ trace }: EventLedger): boolean {
  return (trace?.scopes?.length ?? 0) > 1;
}

/** A head with what only reads of one run need. */
export interface ReadHead extends SummarizedHead {
  /** Incidents that the run belongs to, oldest first. */
  readonly incidents: readonly string[];
  /** Results of its checks, by slug. */
  readonly checks: readonly CheckResult[];
  /** Failure of the work on it; null for none. */
  readonly failure: RunFailure | null;
}

export async function readHead(run: RunRef): Promise<ReadHead> {
  const { store, team, id } = run;
  const parts = HEAD_PARTS.map((part) => keys[part](team, id));
  const [failed, ...entries] = await getMany(store, [
    keys.runFailure(team, id),
    ...parts,
    keys.runIncidents(team, id),
    keys.checkResults(team, id),
  ]);
  const rows = new Map(
    entries.filter((row) => row.versionstamp !== null)
      .map((row) => [keyParts.headRow(row.key).row, row]),
  );
  const incidents = (rows.get("incidents")?.value ?? []) as readonly string[];
  const checks = decodeResults(rows.get("checks")?.value ?? null);
  const failure = (failed?.value ?? null) as RunFailure | null;
  return { ...await headOf(run, rows), incidents, checks, failure };
}

/** Reads distinct runs of a team. */
export async function readHeads(at: TeamRef, ids: readonly RunId[]): Promise<SummarizedHead[]> {
  const byRun = await readHeadRows(at.store, at.team, ids);
  return await Promise.all(ids.map((id) => headOf({ ...at, id }, byRun.get(id) ?? new Map())));
}

/** Reads runs as lists show them, from their current state; omits runs that are not stored. */
export async function readListRows(at: TeamRef, ids: readonly RunId[]): Promise<RunListRow[]> {
  const heads = await readHeads(at, ids);
  return heads.filter(({ head }) => isStored(head))
    .map(({ id, head, summary }) => listRowOf(id, head, summary));
}

/** Reads the summaries of some runs; omits deleted runs. */
export async function readSummaries(
  { store, team }: TeamRef,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunSummary>> {
  const entries = await getAll(store, ids.map((id) => keys.summary(team, id)));
  return decodeSummaries(entries.map(({ key, value }) => [keyParts.headRow(key).run, value]));
}

/** Returns the summaries among the rows of some runs. */
export function summariesIn(
  rows: ReadonlyMap<RunId, HeadRows>,
): ReadonlyMap<RunId, RunSummary> {
  return decodeSummaries(Array.from(rows, ([id, row]) => [id, row.get("summary")?.value]));
}

function decodeSummaries(
  stored: readonly (readonly [RunId, unknown])[],
): ReadonlyMap<RunId, RunSummary> {
  const summaries = new Map<RunId, RunSummary>();
  for (const [id, value] of stored) {
    if (value instanceof Uint8Array) summaries.set(id, decodeSums(value));
  }
  return summaries;
}

async function headOf(run: RunRef, rows: HeadRows): Promise<SummarizedHead> {
  const valueOf = (part: HeadPart) => rows.get(part)?.value ?? null;
  const sent = await readParts(run, valueOf("opening"), valueOf("closing"));
  const ledger = ledgerOf(valueOf("ledger"));
  const idle = valueOf("idle") as IdleClose | null;
  const derived = ledger.trace === undefined ? sent : withTrace(sent, ledger);
  const parts = idle === null ? derived : withIdleClose(derived, idle, ledger);
  const repriced = valueOf("price") as StoredReprice | null;
  const summary = valueOf("summary") as Uint8Array | null;
  return {
    ...run,
    head: runHead(parts, ledger, repriced),
    ledger,
    idle,
    tombstone: tombstoneOf([...rows.values()].map(({ value }) => value)),
    check: (part) => ({
      key: keys[part](run.team, run.id),
      versionstamp: rows.get(part)?.versionstamp ?? null,
    }),
    // Versions sort as text.
    version: [...rows.values()].map(({ versionstamp }) => versionstamp).sort().at(-1) ?? "",
    summary: summary === null ? null : decodeSums<RunSummary>(summary),
    recent: null,
  };
}

/**
 * Returns heads from memory, and reads the others.
 *
 * @param oldestMark name of the oldest row of marks that is not consumed
 */
export async function recallHeads(
  at: TeamRef,
  ids: readonly RunId[],
  oldestMark: string,
): Promise<SummarizedHead[]> {
  const { store, team } = at;
  const names = ids.map((id) => pendingName(team, id));
  await store.heads.untilEnded(names);
  const recalled = ids.map((id, i) => {
    const recent = store.heads.recall(names[i] as string, oldestMark);
    return recent === null ? null : recalledHead({ ...at, id }, recent);
  });
  const missing = ids.filter((_, i) => recalled[i] === null);
  if (missing.length === 0) return recalled as SummarizedHead[];
  const read = (await readHeads(at, missing)).values();
  return recalled.map((head) => head ?? read.next().value as SummarizedHead);
}

function recalledHead(run: RunRef, recent: RecentHead): SummarizedHead {
  const { opening, closing, ledger, summary, summaryVersion, version } = recent;
  const sent = { opening, closing };
  const parts = ledger.trace === undefined ? sent : withTrace(sent, ledger);
  return {
    ...run,
    head: runHead(parts, ledger, null),
    ledger,
    // The handler that closes a run drops its head.
    idle: null,
    tombstone: null,
    summary,
    check: (part) => ({
      key: keys[part](run.team, run.id),
      versionstamp: part === "summary" ? summaryVersion : null,
    }),
    version,
    recent,
  };
}

function runHead(parts: RunParts, ledger: EventLedger, repriced: StoredReprice | null): RunHead {
  // A heartbeat may have closed the run since, with its own tokens and price.
  const isOutdated = repriced?.closed === false && parts.closing?.reported !== undefined;
  return {
    parts,
    totals: ledger.totals,
    batchCount: ledger.batches,
    ages: ledger,
    repricings: ledger.repricings + (repriced?.times ?? 0),
    repriced: repriced === null || isOutdated ? undefined : repriced.price,
  };
}

/** Decodes a run's opening and close from their stored values. */
export async function readParts(
  { store, team, id }: RunRef,
  opening: unknown,
  closing: unknown,
): Promise<RunParts> {
  const [opened, closed] = await Promise.all([
    readBlob(store, team, id, opening),
    readBlob(store, team, id, closing),
  ]);
  return decodeParts(opened, closed);
}

/** Rows per run and read: more than a run's maximum of 8; and maximum runs of one read. */
const ROWS_PER_RUN = 10, RUNS_PER_READ = 50;

/** Maximum concurrent reads. */
const READS_AT_ONCE = 100;

/**
 * Characters that ids of runs with adjacent rows share: those of UUIDv7 of the same minute do. It is
 * only a guess, which costs a read where it is wrong.
 */
const SHARED_CHARS = 15;

type Row = Deno.KvEntry<unknown>;

/** Rows of one run, by part. */
export type HeadRows = ReadonlyMap<string, Row>;

/**
 * Reads the rows of a team's distinct runs. All rows of one run are from one snapshot.
 *
 * Runs that change together usually started together, so their rows are adjacent: one range read
 * returns many runs, at a tenth of the cost of a read for each. Runs that are far apart are read
 * concurrently, each alone: one after the other, they would each take a round trip to the store.
 */
export async function readHeadRows(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, HeadRows>> {
  const byRun = new Map(ids.map((id) => [id, new Map<string, Row>()]));
  const alone: RunId[] = [];
  for (const ranges of groupsOf(neighborsOf(ids.toSorted()), READS_AT_ONCE)) {
    const left = ranges.map((range) => readNeighbors(store, team, range, byRun));
    alone.push(...(await Promise.all(left)).flat());
  }
  for (const group of groupsOf(alone, READS_AT_ONCE)) {
    await Promise.all(group.map((id) => readNeighbors(store, team, [id], byRun)));
  }
  return byRun;
}

/** Splits sorted ids where two of them begin differently, and after those of one read. */
function neighborsOf(sortedIds: readonly RunId[]): (readonly RunId[])[] {
  const startOf = (id: RunId) => id.slice(0, SHARED_CHARS);
  const neighbors = Map.groupBy(sortedIds, startOf).values().toArray();
  return neighbors.flatMap((ids) => groupsOf(ids, RUNS_PER_READ));
}

/**
 * Reads the rows of runs from the first to the last, unless they are among many rows of other runs.
 *
 * @returns runs that were not read
 */
async function readNeighbors(
  store: Store,
  team: TeamId,
  sortedIds: readonly RunId[],
  byRun: ReadonlyMap<RunId, Map<string, Row>>,
): Promise<readonly RunId[]> {
  const limit = ROWS_PER_RUN * sortedIds.length;
  const [first, last] = [sortedIds[0] as RunId, sortedIds.at(-1) as RunId];
  const start = keys.run(team, first);
  // Other teams may have runs with the same id.
  const range = first === last
    ? { start, end: [...start, true] }
    : keys.runRange(team, first, last);
  const rows = await listRows(store, range, { limit });
  const lastRow = rows.length < limit ? undefined : rows.at(-1);
  const lastRun = lastRow && keyParts.headRow(lastRow.key).run;
  // The last run of a read that reached its limit may be incomplete.
  const isRead = (id: RunId) => lastRun === undefined || id < lastRun;
  for (const row of rows) {
    const parts = keyParts.headRow(row.key);
    if (parts.team === team && isRead(parts.run)) byRun.get(parts.run)?.set(parts.row, row);
  }
  return sortedIds.filter((id) => !isRead(id));
}

/** Returns the keys that requests of a run insert. */
export function insertedKeys(team: TeamId, run: RunId): Deno.KvKey[] {
  return [keys.opening(team, run), keys.closing(team, run), keys.ledger(team, run)];
}

/** Returns the tombstone among the values of a run; null if there is none. */
export function tombstoneOf(values: readonly unknown[]): RunDeletion | null {
  const tombstone = values.find((value) => value instanceof Object && "deletedAt" in value);
  return (tombstone ?? null) as RunDeletion | null;
}

/** Returns the ledger at a run's key; an empty one if there is none, or a tombstone. */
export function ledgerOf(value: unknown): EventLedger {
  return value instanceof Uint8Array ? decodeLedger(value) : EMPTY_LEDGER;
}

/** Returns the expiry row of a deleted run. */
export function tombstoneRow(team: TeamId, { run, deletedAt }: RunDeletion): Deno.KvKey {
  return keys.entry(keys.expiryOrder(team, "tombstone"), deletedAt, run);
}

/** A run's change within a commit. */
export interface RunUpdate {
  readonly run: SummarizedHead;
  /** Summary counted so far; null if none. */
  readonly before: RunSummary | null;
  /** Summary counted from now on; null if none. */
  readonly after: RunSummary | null;
  /**
   * Summary that stays counted after the run is removed, so that totals can be recomputed. A run
   * that expires stays in the roll-ups; a deleted run is subtracted.
   */
  readonly remains?: RunSummary | null;
  /** Receipt of a deleted run, published in the feed. */
  readonly deletion?: RunDeletion | null;
  /**
   * Results of checks that replace those of the run, by slug; null to remove them, absent to keep
   * them. The results of a run without a summary are removed.
   */
  readonly judged?: readonly CheckResult[] | null;
  /** Rows of the run without its summary. */
  readonly rows: RunRows;
}

export interface RunRows {
  /** Read versions of rows that requests may write concurrently. */
  readonly checks?: Write["checks"];
  /** Amounts to add to counters. */
  readonly sums?: Write["sums"];
  readonly sets: NonNullable<Write["sets"]>;
  readonly deletes: readonly Deno.KvKey[];
  /** Entries of orders other than the index and the feed, which follow from the summaries. */
  readonly added?: readonly EntryToAdd[];
  /** Such entries to remove. */
  readonly removed?: readonly EntryToRemove[];
}
