/**
 * Reads a run: its parts, its ledger, and pages of its events.
 *
 * @module
 */
import type { EventLedger } from "../../domain/runs/ledger.ts";
import {
  EventPage,
  type EventPosition,
  type EventsPage,
  type NumberedBatch,
  type RunHandle,
} from "../../domain/runs/event_page.ts";
import { payloadState } from "../../domain/retention/retention.ts";
import { BatchIndex, readBatches, startOf } from "./batches.ts";
import { type JudgeJob, judgeResult } from "../../domain/judges/judge_job.ts";
import type { JudgeResult } from "../../domain/runs/record.ts";
import { keys } from "../base/keys.ts";
import { getAll } from "../store.ts";
import {
  hasSpanTexts,
  isStored,
  type ReadHead,
  readHead,
  type RunRef,
  type RunWithLedger,
} from "./heads.ts";
import { readScores } from "./scores.ts";
import { withTexts } from "./texts.ts";
import { GET_MANY_KEYS_MAX } from "../base/limits.ts";

/** Maximum events of a read at the end of a run: how many there are is an estimate. */
const LAST_EVENTS_MAX = 1_000;

/**
 * Finds a run; see `RunStore.find`.
 *
 * @param read gives each read of events its slot and its deadline
 */
export async function findRun(
  run: RunRef,
  read: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<RunHandle | null> {
  const stored = await readHead(run);
  const { ledger, summary, failure, incidents, checks } = stored;
  if (!isStored(stored.head)) return null;
  const { head } = hasSpanTexts(stored) ? await read(() => withTexts(stored)) : stored;
  let opened: Promise<BatchIndex> | null = null;
  const index = () => opened ??= BatchIndex.read(stored);
  const page = async (after: EventPosition | null, limit: number) =>
    await readEvents(stored, await index(), after, limit);
  return {
    ...head,
    ...{ summary, failure, incidents, checks },
    firstBatchAt: ledger.firstAt,
    addedScores: await readScores(stored),
    judges: await readJudged(stored),
    payload: payloadState(stored.head.parts, ledger),
    page: (after, limit) => read(() => page(after, limit)),
    last: (count) =>
      read(async () => {
        const start = await findNearEnd(ledger, await index(), count);
        const { events, next } = await page(start, LAST_EVENTS_MAX);
        const after = events.at(-count - 1)?.position ?? start;
        return { after, events: events.slice(-count), next };
      }),
  };
}

/** Reads the results of judges for a run. */
async function readJudged({ store, team, id, summary }: ReadHead): Promise<readonly JudgeResult[]> {
  const slugs = summary?.judges ?? [];
  if (slugs.length === 0) return [];
  const rows = await getAll(store, slugs.map((slug) => keys.judgeJob(team, id, slug)));
  return slugs.map((slug, i) => judgeResult(slug, (rows[i]?.value ?? null) as JudgeJob | null));
}

/**
 * Reads `limit` events after a position, ordered by `ts`, then arrival.
 *
 * Batches are read by their start until no further batch can change the page.
 */
async function readEvents(
  run: RunWithLedger,
  index: BatchIndex,
  after: EventPosition | null,
  limit: number,
): Promise<EventsPage> {
  const page = new EventPage(after, limit);
  const { totals, batches } = run.ledger;
  const perBatch = totals.events / Math.max(1, batches);
  const count = Math.min(GET_MANY_KEYS_MAX, Math.ceil((limit + 1) / Math.max(1, perBatch)));
  let group: NumberedBatch[] = [];
  for await (const batch of index.byStart(after)) {
    if (group.length === count) {
      await addBatches(run, group, page);
      group = [];
    }
    if (group.length === 0 && page.isFinalBefore(startOf(batch))) return page.result();
    group.push(batch);
  }
  await addBatches(run, group, page);
  return page.result();
}

/** Adds batches to a page in the order of their start, as long as they can change it. */
async function addBatches(
  run: RunWithLedger,
  group: readonly NumberedBatch[],
  page: EventPage,
): Promise<void> {
  let at = 0;
  const numbers = group.map(({ batch }) => batch);
  for await (const { events } of readBatches(run, numbers)) {
    const batch = numbers[at++] ?? 0;
    page.add(
      events.map((event, index) => ({ ...event, position: { ts: event.ts, batch, index } })),
    );
    const next = group[at];
    if (next === undefined || page.isFinalBefore(startOf(next))) return;
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
