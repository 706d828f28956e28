/**
 * Reading a run back: its parts, its ledger, and one page of its events.
 *
 * @module
 */
import type { Team } from "../../domain/credentials.ts";
import type { BatchEntry, EventLedger } from "../../domain/run/ledger.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { EVENTS_PAGE_CHARS_MAX } from "../../domain/limits.ts";
import type { EventPosition, PlacedEvent, RunPage, RunStore } from "../../domain/ports.ts";
import { payloadState } from "../../domain/retention/retention.ts";
import type { Processing } from "../../domain/pipeline/stages.ts";
import { readBatches } from "./batches.ts";
import { readPages } from "./events.ts";
import { headKeys, headOf, isStored } from "./heads.ts";
import { readScores } from "./scores.ts";
import { keys } from "../keys.ts";
import { GET_MANY_KEYS_MAX } from "../kv_limits.ts";
import { getMany, type Store } from "../store.ts";

/** The part of {@link RunStore} that reads. */
export function createReader(store: Store): Pick<RunStore, "read"> {
  return {
    async read(team, id, after, limit): Promise<RunPage | null> {
      const wanted = [...headKeys(team.id, id), keys.processing(team.id, id)];
      const entries = await getMany(store, wanted);
      const { head, summary, ledger } = await headOf(store, team.id, id, entries);
      if (!isStored(head)) return null;
      const processing = entries[PROCESSING]?.value as Processing | null;
      const pages = await readPages(store, team.id, id, ledger);
      const batches = pages.flatMap((page) => page.batches);
      const page = await readEvents(store, team, id, ledger, batches, after, limit);
      const addedScores = await readScores(store, team.id, id, ledger);
      const payload = payloadState(head.parts, ledger);
      return { ...head, batches, payload, summary, processing, addedScores, ...page };
    },
  };
}

/** Where the stages stand among what is read. */
const PROCESSING = 5;

/**
 * Reads `limit` events behind a position, by `ts`, then arrival.
 *
 * Batches are read in the order of their earliest event, leaving out those that end before the
 * position, until no unread batch can hold an event of the page.
 */
async function readEvents(
  store: Store,
  team: Team,
  id: RunId,
  ledger: EventLedger,
  batches: readonly BatchEntry[],
  after: EventPosition | null,
  limit: number,
): Promise<Pick<RunPage, "events" | "next">> {
  const ahead = batches
    .map((entry, batch) => ({ ...entry, batch }))
    .slice(ledger.removed)
    .filter((entry) => after === null || entry.tsMax >= after.ts)
    .sort((a, b) => a.tsMin - b.tsMin || a.batch - b.batch);
  const found: PlacedEvent[] = [];
  for (let at = 0; at < ahead.length; at += GET_MANY_KEYS_MAX) {
    const from = ahead[at]?.tsMin ?? 0;
    // Whatever is still unread begins at `from` or later.
    const settled = found.filter(({ position }) => position.ts < from);
    if (settled.length > pageLength(settled, limit)) break;
    const numbers = ahead.slice(at, at + GET_MANY_KEYS_MAX).map(({ batch }) => batch);
    for (const placed of await readPlaced(store, team, id, ledger, numbers)) {
      if (after === null || comparePositions(placed.position, after) > 0) found.push(placed);
    }
  }
  found.sort((a, b) => comparePositions(a.position, b.position));
  const page = found.slice(0, pageLength(found, limit));
  const next = found.length > page.length ? page.at(-1)?.position ?? null : null;
  return { events: page, next };
}

/** How many of these events make a page: at most `limit`, at most so many bytes, at least one. */
function pageLength(events: readonly PlacedEvent[], limit: number): number {
  let length = 0;
  for (const [count, { data }] of events.entries()) {
    length += data.length;
    if (count === limit || (count > 0 && length > EVENTS_PAGE_CHARS_MAX)) return count;
  }
  return events.length;
}

async function readPlaced(
  store: Store,
  team: Team,
  id: RunId,
  ledger: EventLedger,
  numbers: readonly number[],
): Promise<PlacedEvent[]> {
  const batches = await readBatches(store, team.id, id, ledger, numbers);
  return batches.flatMap(({ events }, i) => {
    const batch = numbers[i] ?? 0;
    return events.map((event, index) => ({ ...event, position: { ts: event.ts, batch, index } }));
  });
}

function comparePositions(a: EventPosition, b: EventPosition): number {
  return a.ts - b.ts || a.batch - b.batch || a.index - b.index;
}
