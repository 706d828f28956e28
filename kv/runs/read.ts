/**
 * Reads a run: its parts, its ledger, and one page of its events.
 *
 * @module
 */
import type { EventLedger } from "../../domain/runs/ledger.ts";
import {
  EventPage,
  type EventPosition,
  type NumberedBatch,
  type RunPage,
} from "../../domain/runs/event_page.ts";
import type { RunStore } from "../../domain/runs/store.ts";
import { payloadState } from "../../domain/retention/retention.ts";
import type { Processing } from "../../domain/runs/stages.ts";
import { readBatches } from "./batches.ts";
import { BatchIndex, startOf } from "./batch_index.ts";
import type { RunAt } from "./directory.ts";
import { headKeys, headOf, isStored } from "./heads.ts";
import { readScores } from "./scores.ts";
import { keys } from "../base/keys.ts";
import { GET_MANY_KEYS_MAX } from "../base/limits.ts";
import { getMany, type Store } from "../store.ts";

/** Creates the read operation of {@link RunStore}. */
export function createReader(store: Store): Pick<RunStore, "read"> {
  return {
    async read(team, id, after, limit, fromEnd): Promise<RunPage | null> {
      const keysToRead = [...headKeys(team.id, id), keys.processing(team.id, id)];
      const entries = await getMany(store, keysToRead);
      const { head, summary, ledger } = await headOf(store, team.id, id, entries);
      if (!isStored(head)) return null;
      const processing = entries[PROCESSING]?.value as Processing | null;
      const run = { store, team: team.id, id };
      const index = await BatchIndex.read(run, ledger);
      const page = await readEvents(run, ledger, index, after, limit);
      const nearEnd = fromEnd === undefined ? null : await findNearEnd(ledger, index, fromEnd);
      const addedScores = await readScores(store, team.id, id, ledger);
      const payload = payloadState(head.parts, ledger);
      const stored = { firstBatchAt: ledger.firstAt, payload, summary, processing, addedScores };
      return { ...head, ...stored, ...page, nearEnd };
    },
  };
}

/** Position of the stages in the entries. */
const PROCESSING = 5;

/**
 * Reads `limit` events after a position, ordered by `ts`, then arrival.
 *
 * Batches are read by their start until no further batch can change the page.
 */
async function readEvents(
  run: RunAt,
  ledger: EventLedger,
  index: BatchIndex,
  after: EventPosition | null,
  limit: number,
): Promise<Pick<RunPage, "events" | "next">> {
  if (limit === 0) return { events: [], next: null };
  const page = new EventPage(after, limit);
  const perBatch = ledger.totals.events / Math.max(1, ledger.batches);
  const count = Math.min(GET_MANY_KEYS_MAX, Math.ceil((limit + 1) / Math.max(1, perBatch)));
  let group: NumberedBatch[] = [];
  for await (const batch of index.byStart(after)) {
    if (group.length === count) {
      await addBatches(run, ledger, group, page);
      group = [];
    }
    if (group.length === 0 && page.isSettledBefore(startOf(batch))) return page.result();
    group.push(batch);
  }
  await addBatches(run, ledger, group, page);
  return page.result();
}

/** Adds batches to a page in the order of their start, as long as they can change it. */
async function addBatches(
  { store, team, id }: RunAt,
  ledger: EventLedger,
  group: readonly NumberedBatch[],
  page: EventPage,
): Promise<void> {
  let at = 0;
  const numbers = group.map(({ batch }) => batch);
  for await (const { events } of readBatches(store, team, id, ledger, numbers)) {
    const batch = numbers[at++] ?? 0;
    page.add(
      events.map((event, index) => ({ ...event, position: { ts: event.ts, batch, index } })),
    );
    const next = group[at];
    if (next === undefined || page.isSettledBefore(startOf(next))) return;
  }
}

/** Sort after every batch and every event of a batch, and still fit a cursor. */
const LAST_BATCH = 999_999_999, LAST_INDEX = 99;

/**
 * Finds a position that about `events` events follow; null if all events do. It is estimated from
 * the batch index without reading a batch.
 */
async function findNearEnd(
  ledger: EventLedger,
  index: BatchIndex,
  events: number,
): Promise<EventPosition | null> {
  const perBatch = Math.max(1, ledger.totals.events / Math.max(1, ledger.batches));
  let remaining = Math.ceil(events / perBatch);
  if (remaining >= ledger.batches - ledger.removed) return null;
  for await (const { tsMin: ts, batch } of index.byStartFalling()) {
    if (--remaining > 0) continue;
    if (batch > 0) return { ts, batch: batch - 1, index: LAST_INDEX };
    return ts < 1 ? null : { ts: ts - 1, batch: LAST_BATCH, index: LAST_INDEX };
  }
  return null;
}
