/**
 * Plans the retention of one run: removes its expired data and schedules the next check. Payload is
 * events, output, goal, note, metadata values, and the texts of its check results.
 *
 * An expiry entry says only when to check. What expires follows from the current run, so a stale
 * entry is harmless.
 *
 * @module
 */
import { withoutTexts } from "../../domain/runs/check_result.ts";
import {
  cutoffOf,
  type DaysOfPlan,
  dueOf,
  EMPTY_SWEEP,
  expiryEntryOf,
  hasPayload,
  type SweepCounts,
  withoutPayload,
} from "../../domain/retention/retention.ts";
import {
  type Closing,
  isDerivedClose,
  type Opening,
  type RunParts,
} from "../../domain/runs/run.ts";
import { withoutMetadata, withTrace } from "../../domain/runs/trace_facts.ts";
import { keys } from "../base/keys.ts";
import { encodeOneCall, encodePart } from "../base/codec.ts";
import { readResults } from "../checks/results.ts";
import {
  isStored,
  type RunRef,
  type RunRows,
  type RunUpdate,
  type RunWithLedger,
  type SummarizedHead,
} from "../runs/heads.ts";
import { blobWrite, chunkKeys, getAll, getValue, listRows } from "../store.ts";
import type { Write } from "../writer/group.ts";
import { expireRun, moveExpiryEntry, type Removal, usageSums } from "./removal.ts";
import { decodeSums, encodeLedger, encodeSums } from "../base/codec_sums.ts";
import { addEvents, type EventTotals, NO_EVENTS } from "../../domain/runs/event_totals.ts";
import { addToMonth, type BatchEntry } from "../../domain/runs/ledger.ts";
import { monthOf } from "../../domain/core/time.ts";
import { BatchIndex, numbersFrom, readBatches, withFacts } from "../runs/batches.ts";
import type { EntryToRemove } from "../index/entries.ts";
import { jobsWithoutReasoning } from "../judges/judge_rows.ts";
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunId } from "../../domain/core/ids.ts";

/**
 * Removes the payload that arrived before an instant; the record stays and gets a new expiry entry.
 *
 * @param rowsMax rows of events after which the rest stays; `isAll` is false if any stays
 */
export async function removePayload(
  run: SummarizedHead,
  beforeMs: number,
  rowsMax: number,
): Promise<Removal & { readonly isAll: boolean }> {
  const { team, id, head, summary, check } = run;
  const old = await takeOldBatches(run, beforeMs, rowsMax);
  const stripped: Write["sets"] & unknown[] = [];
  const strip = <Part extends Opening | Closing>(
    part: Part | null,
    key: Deno.KvKey,
    encode: (without: Part) => string,
  ) => {
    if (part === null || !hasPayload(part) || part.receivedAt >= beforeMs) return part;
    // What a trace says is in the ledger.
    if (isDerived(part)) return part;
    const without = withoutPayload(part);
    // A part without its payload always fits one value.
    stripped.push(...blobWrite(team, id, key, encode(without)).sets);
    return without;
  };
  const { opening, closing } = head.parts;
  // An opening in the row of the close has no payload.
  const isOneRow = check("opening").versionstamp === null && opening?.isOfTrace !== true;
  const shared = isOneRow ? opening : null;
  const parts: RunParts = {
    opening: strip(opening, keys.opening(team, id), encodePart),
    closing: strip(
      closing,
      keys.closing(team, id),
      (close) => shared === null ? encodePart(close) : encodeOneCall(close, shared),
    ),
  };
  const chunks = await batchChunkKeys(run, stripped.map(({ key }) => key));
  const ledger = old?.ledger ?? run.ledger;
  const left = opening?.isOfTrace === true ? withTrace({ ...parts, opening: null }, ledger) : parts;
  const moved = moveExpiryEntry(run, expiryEntryOf(left, ledger));
  const judged = await jobsWithoutReasoning(run);
  return {
    change: {
      run,
      before: summary,
      after: summary,
      ...summary?.checks === undefined ? {} : { judged: withoutTexts(await readResults(run)) },
      rows: {
        // A concurrent commit may add a batch. An opening and a close never change.
        checks: [...old === null ? [] : [check("ledger")], ...judged.checks],
        sums: old?.sums ?? [],
        sets: [
          ...stripped,
          ...old === null
            ? []
            : [...old.sets, { key: keys.ledger(team, id), value: encodeLedger(ledger) }],
          ...moved.sets,
          ...judged.sets,
        ],
        deletes: [...old?.deletes ?? [], ...chunks],
        added: moved.added,
        removed: moved.removed,
      },
    },
    events: old?.events ?? 0,
    isAll: ledger.oldestAt === null || ledger.oldestAt >= beforeMs,
  };
}

/** Returns whether no row holds a part, because it is derived from a trace. */
function isDerived(part: Opening | Closing): boolean {
  return "isOfTrace" in part || "closedBy" in part && isDerivedClose(part);
}

/**
 * Removes batches that arrived before an instant, oldest first. Returns null when there are none.
 * Their ids stay on the ledger's pages, so that a retry is recognized, and their totals in the ledger.
 *
 * @param rowsMax rows after which the rest stays for the next call
 */
export async function takeOldBatches(run: RunWithLedger, beforeMs: number, rowsMax: number) {
  const { team, id, ledger } = run;
  if (ledger.oldestAt === null || ledger.oldestAt >= beforeMs) return null;
  const { old, next } = await findOld(run, beforeMs, rowsMax);
  const { deletes, end } = await rowsOf(run, ledger.removed + old.length, rowsMax);
  const { totals, months } = end === ledger.batches
    ? { totals: ledger.totals, months: new Map(Object.entries(ledger.months)) }
    : await sumEvents(run, end);
  return {
    ledger: {
      ...ledger,
      ...ledger.trace === undefined ? {} : { trace: withoutMetadata(ledger.trace) },
      removed: end,
      oldestAt: (old[end - ledger.removed] ?? next)?.receivedAt ?? null,
      months: months.entries().reduce(
        (remaining, [month, by]) => addToMonth(remaining, month, -by),
        ledger.months,
      ),
    },
    sets: [{ key: keys.removedTotals(team, id), value: encodeSums(totals) }],
    deletes,
    sums: usageSums(team, months),
    events: months.values().reduce((sum, by) => sum + by, 0),
  };
}

/** Finds at most `batchesMax` batches that arrived before an instant, and the batch after them. */
async function findOld(run: RunWithLedger, beforeMs: number, batchesMax: number) {
  const old: BatchEntry[] = [];
  const index = await BatchIndex.read(run);
  for await (const entry of index.byArrival()) {
    if (entry.receivedAt >= beforeMs || old.length >= batchesMax) return { old, next: entry };
    old.push(entry);
  }
  return { old, next: null };
}

/** Batches whose chunks are read at a time. */
const BATCHES_PER_READ = 10;

/**
 * Returns the rows of the batches before `old`, within `rowsMax`, and the number of the next batch.
 */
async function rowsOf(run: RunWithLedger, old: number, rowsMax: number) {
  const { store, team, id, ledger } = run;
  const [anyChunk] = await listRows(store, { prefix: keys.chunks(team, id) }, { limit: 1 });
  const deletes: Deno.KvKey[] = [];
  let end = ledger.removed;
  while (end < old && deletes.length < rowsMax) {
    const numbers = numbersFrom(end, Math.min(end + BATCHES_PER_READ, old));
    const batches = numbers.map((batch) => keys.batch(team, id, batch));
    const prices = ledger.repricings === 0
      ? []
      : numbers.map((batch) => keys.prices(team, id, batch));
    deletes.push(...batches, ...prices);
    if (anyChunk !== undefined) {
      deletes.push(...await batchChunkKeys(run, [...batches, ...prices]));
    }
    end += numbers.length;
  }
  return { deletes, end };
}

/** Reads the keys of the chunks of values. */
export async function batchChunkKeys(
  { store, team, id }: RunRef,
  heads: readonly Deno.KvKey[],
): Promise<Deno.KvKey[]> {
  const entries = await getAll(store, heads);
  return entries.flatMap(({ value }) => chunkKeys(team, id, value));
}

/**
 * Totals the events of the batches before `end`, including removed ones, at the prices stored with
 * them; counts those that are not removed by month of arrival.
 *
 * @param onMissing called with the number of each batch that is not stored
 */
export async function sumEvents(
  run: RunWithLedger,
  end: number,
  onMissing: (batch: number) => void = () => {},
) {
  const months = new Map<string, number>();
  let totals = await readRemovedTotals(run);
  let batch = run.ledger.removed;
  for await (const { events, prices } of readBatches(run, numbersFrom(batch, end))) {
    const [first] = events;
    // A stored batch always has an event.
    if (first === undefined) onMissing(batch);
    else {
      totals = addEvents(totals, events.map(withFacts), prices);
      const month = monthOf(first.receivedAt);
      months.set(month, (months.get(month) ?? 0) + events.length);
    }
    batch++;
  }
  return { totals, months };
}

/** Reads the totals of a run's removed batches. */
export async function readRemovedTotals(
  { store, team, id, ledger }: RunWithLedger,
): Promise<EventTotals> {
  if (ledger.removed === 0) return NO_EVENTS;
  const stored = await getValue<Uint8Array>(store, keys.removedTotals(team, id));
  return stored === null ? NO_EVENTS : decodeSums<EventTotals>(stored);
}

/** Retention, time and row limit of a check. */
export interface ExpiryContext {
  readonly plan: DaysOfPlan;
  readonly nowMs: number;
  /** Payload rows of one run to remove; the next check removes the rest. */
  readonly rowsMax: number;
}

/**
 * Plans which data of a run expires now.
 *
 * @param listed expiry entries under which the run was found; they are removed
 */
export async function planExpiry(
  run: SummarizedHead,
  context: ExpiryContext,
  listed: readonly EntryToRemove[],
): Promise<{ readonly change: RunUpdate; readonly counts: SweepCounts }> {
  const { change: { rows, ...change }, counts } = await changeOf(run, context);
  const removed = [...rows.removed ?? [], ...listed];
  return { change: { ...change, rows: { ...rows, removed } }, counts };
}

async function changeOf(
  run: SummarizedHead,
  { plan, nowMs, rowsMax }: ExpiryContext,
): ReturnType<typeof planExpiry> {
  const { head, ledger, summary } = run;
  const unchanged = (entries: Partial<RunRows>) => {
    const rows = { sets: [], deletes: [], ...entries };
    return { change: { run, before: summary, after: summary, rows }, counts: EMPTY_SWEEP };
  };
  if (!isStored(head)) return unchanged({});
  const entry = expiryEntryOf(head.parts, ledger);
  switch (dueOf(head.parts, ledger, plan, nowMs)) {
    case null:
      return unchanged(moveExpiryEntry(run, entry));
    case "record": {
      const { change, events } = await expireRun(run, nowMs);
      const counter = entry.retentionClass === "orphan" ? "orphans" : "records";
      return { change, counts: { ...EMPTY_SWEEP, events, [counter]: 1 } };
    }
    case "payload": {
      const beforeMs = cutoffOf(plan, entry.retentionClass, nowMs);
      const { change, events, isAll } = await removePayload(run, beforeMs, rowsMax);
      // A run with very many events takes several checks: it is counted at the last one.
      return { change, counts: { ...EMPTY_SWEEP, payloads: isAll ? 1 : 0, events } };
    }
  }
}

/**
 * Processes runs together. If that fails, processes each alone, so that only faulty runs are
 * skipped.
 *
 * @returns the number of skipped runs
 * @throws {StorageUnavailable} when the store failed: then no run is at fault
 * @throws {Overloaded} when the queue is full: then no run is at fault
 */
export async function leaveFaulty<Value>(
  runs: ReadonlyMap<RunId, Value>,
  work: (group: ReadonlyMap<RunId, Value>) => Promise<void>,
): Promise<number> {
  try {
    await work(runs);
    return 0;
  } catch (error) {
    if (error instanceof StorageUnavailable || error instanceof Overloaded) throw error;
    if (runs.size === 1) return 1;
    let failed = 0;
    for (const entry of runs) failed += await leaveFaulty(new Map([entry]), work);
    return failed;
  }
}
