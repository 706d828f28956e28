/**
 * Event batches in the store: one check on the run's ledger settles a batch.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { Team, TeamId } from "../../domain/credentials.ts";
import { StorageUnavailable } from "../../domain/errors.ts";
import {
  type AppendDecision,
  decideAppend,
  EMPTY_LEDGER,
  type EventLedger,
  type LedgerPage,
  unpackEventIds,
} from "../../domain/run/ledger.ts";
import { DELETED } from "../../domain/run/decide.ts";
import type { RunEvent } from "../../domain/run/event.ts";
import type { RunId } from "../../domain/run/ids.ts";
import type { AppendOutcome, RateCards, RunStore } from "../../domain/ports.ts";
import { monthOf } from "../../domain/time.ts";
import { encodeBatch } from "./codec.ts";
import { dirtyName } from "../writer/dirty_mark.ts";
import { keys } from "../keys.ts";
import { COMMIT_ATTEMPTS_MAX } from "../kv_limits.ts";
import { blobWrite, getMany, listRows, stage, type Store, unstage } from "../store.ts";
import { tombstoneOf } from "./tombstone.ts";

/** Event ids held in memory over all live ledgers; about 100 bytes each. */
const CACHED_IDS_MAX = 200_000;

/** A ledger as last read or written. A stale one is harmless: its version loses the check. */
interface LiveLedger {
  readonly version: string | null;
  readonly ledger: EventLedger;
  /**
   * The ids on its sealed pages. The next state of the ledger takes over this very set, longer by the
   * page it seals: a copy for each batch would make those of a growing run slower and slower. It is
   * changed only in its run's turn, and only by what is stored.
   */
  readonly sealed: Set<string>;
}

/** What a run is assumed to have before anything is read. */
function noEvents(): LiveLedger {
  return { version: null, ledger: EMPTY_LEDGER, sealed: new Set() };
}

/** The part of {@link RunStore} that stores events. */
export function createEvents(store: Store, cards: RateCards): Pick<RunStore, "append"> {
  const live = new LRUCache<string, LiveLedger>({
    maxSize: CACHED_IDS_MAX,
    sizeCalculation: ({ ledger }) => ledger.totals.events + 1,
  });
  async function append(
    name: string,
    team: Team,
    id: RunId,
    batch: readonly RunEvent[],
    receivedAt: number,
  ): Promise<AppendOutcome> {
    const loaded = cards.card(team);
    const card = loaded instanceof Promise ? await loaded : loaded;
    let current = live.get(name) ?? noEvents();
    for (let attempt = 1; attempt <= COMMIT_ATTEMPTS_MAX; attempt++) {
      const decision = decideAppend(current.ledger, current.sealed, batch, receivedAt, card);
      const { fresh, duplicates, ledger, sealedPage } = decision;
      if (fresh.length === 0 && await isUnchanged(store, team, id, current)) {
        return { kind: "stored", accepted: 0, duplicates };
      }
      const version = fresh.length === 0
        ? null
        : await commitBatch(store, team, id, current.version, decision, receivedAt);
      if (version !== null) {
        const { sealed } = current;
        if (sealedPage !== null) addIds(sealed, sealedPage);
        // An object of its own: the cache takes the size of one that it holds already as unchanged.
        live.set(name, { version, ledger, sealed });
        return { kind: "stored", accepted: fresh.length, duplicates };
      }
      const stored = await readLedger(store, team, id);
      if (stored === null) return DELETED;
      current = stored;
      live.set(name, current);
    }
    throw new StorageUnavailable("Cannot append events: other writers were always first");
  }

  return {
    append(team, id, batch, receivedAt) {
      const name = dirtyName(team.id, id);
      return store.runTurns.take(name, () => append(name, team, id, batch, receivedAt));
    },
  };
}

/** The ledger's pages in order, the open one last. */
export async function readPages(
  store: Store,
  team: TeamId,
  id: RunId,
  ledger: EventLedger,
): Promise<LedgerPage[]> {
  const sealed = ledger.sealed === 0 ? [] : await listRows(store, { prefix: keys.pages(team, id) });
  // A page sealed after the ledger was read belongs to a later state than the one being answered.
  const known = sealed.slice(0, ledger.sealed).map(({ value }) => value as LedgerPage);
  return [...known, ledger.tail];
}

/** Whether a ledger in memory is what is stored: a batch without a fresh event is no commit to tell. */
async function isUnchanged(
  store: Store,
  team: Team,
  id: RunId,
  { version }: LiveLedger,
): Promise<boolean> {
  const [entry] = await getMany(store, [keys.ledger(team.id, id)]);
  return entry?.versionstamp === version;
}

/** Reads the ledger as it is; null for that of a deleted run. */
async function readLedger(store: Store, team: Team, id: RunId): Promise<LiveLedger | null> {
  const [entry] = await getMany(store, [keys.ledger(team.id, id)]);
  if (entry === undefined || entry.versionstamp === null) return noEvents();
  if (tombstoneOf([entry.value]) !== null) return null;
  const ledger = entry.value as EventLedger;
  const pages = await readPages(store, team.id, id, ledger);
  const sealed = new Set<string>();
  for (const page of pages.slice(0, -1)) addIds(sealed, page);
  return { version: entry.versionstamp, ledger, sealed };
}

function addIds(ids: Set<string>, page: LedgerPage): void {
  for (const id of unpackEventIds(page.ids)) ids.add(id);
}

async function commitBatch(
  store: Store,
  team: Team,
  id: RunId,
  version: string | null,
  decision: AppendDecision,
  receivedAt: number,
): Promise<string | null> {
  const { fresh, prices, ledger, sealedPage } = decision;
  const batchKey = keys.batch(team.id, id, ledger.batches - 1);
  const blob = blobWrite(team.id, id, batchKey, encodeBatch(fresh, receivedAt, prices));
  if (blob.staged.length > 0) await stage(store, team.id, blob.staged);
  const page = sealedPage === null
    ? []
    : [{ key: keys.page(team.id, id, ledger.sealed - 1), value: sealedPage }];
  const ledgerKey = keys.ledger(team.id, id);
  const committed = await store.writer.commit({
    team: team.id,
    checks: [{ key: ledgerKey, versionstamp: version }],
    sums: [{ key: keys.usage(team.id, monthOf(receivedAt)), by: BigInt(fresh.length) }],
    sets: [...blob.sets, ...page, { key: ledgerKey, value: ledger }],
    dirty: [{ lane: "open", name: dirtyName(team.id, id) }],
  });
  if (committed === null) await unstage(store, team.id, blob.staged);
  return committed;
}
