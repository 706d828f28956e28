/**
 * Reading a run back: its parts, its ledger, and one page of its events.
 *
 * @module
 */
import type { Team } from "../../domain/credentials.ts";
import type { BatchEntry, EventLedger } from "../../domain/run/ledger.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { EventPage } from "../../domain/run/event_page.ts";
import type { EventPosition, RunPage, RunStore } from "../../domain/ports.ts";
import { payloadState } from "../../domain/retention/retention.ts";
import type { Processing } from "../../domain/pipeline/stages.ts";
import { readBatches } from "./batches.ts";
import { readPages } from "./events.ts";
import { headKeys, headOf, isStored } from "./heads.ts";
import { readScores } from "./scores.ts";
import { keys } from "../keys.ts";
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
 * Batches are read one by one in the order in which they begin, leaving out those that end before the
 * position, until no unread batch can change the page.
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
    .filter((entry) => after === null || (entry.tsMax - after.ts || entry.batch - after.batch) >= 0)
    .sort((a, b) => a.tsMin - b.tsMin || a.batch - b.batch);
  const page = new EventPage(after, limit);
  const numbers = ahead.map(({ batch }) => batch);
  let at = 0;
  for await (const { events } of readBatches(store, team.id, id, ledger, numbers)) {
    const batch = numbers[at] ?? 0;
    page.add(
      events.map((event, index) => ({ ...event, position: { ts: event.ts, batch, index } })),
    );
    const next = ahead[++at];
    if (next !== undefined && page.isSettledBefore({ ts: next.tsMin, batch: next.batch })) break;
  }
  return page.result();
}
