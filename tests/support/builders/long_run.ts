/**
 * Runs with very many events, written in few commits: equal to the result of appending the batches.
 */
import type { Team } from "../../../domain/teams/team.ts";
import { createRateCard } from "../../../domain/pricing/rate_card.ts";
import { NO_PRICES } from "../../../domain/pricing/price.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { EventId, RunId } from "../../../domain/core/ids.ts";
import {
  decideAppend,
  EMPTY_LEDGER,
  EventIdSet,
  type EventLedger,
  type LedgerPage,
  packEventIds,
  type PageEntry,
  pageEntryOf,
} from "../../../domain/runs/ledger.ts";
import { HASH_NUMBERS } from "../../../domain/runs/event_ids.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { keys } from "../../../kv/base/keys.ts";
import { encodeBatch } from "../../../kv/base/codec.ts";
import { blobWrite, type Store } from "../../../kv/store.ts";
import { type KvSet, pendingName } from "../../../kv/writer/group.ts";
import { encodeLedger } from "../../../kv/base/codec_sums.ts";

/** Batches of a run, each with its arrival in unix milliseconds. */
export type Batches = readonly { readonly events: readonly RunEvent[]; readonly at: number }[];

const CARD = createRateCard([]);
const NUMBERS = new Uint32Array(HASH_NUMBERS).map((_, i) => Math.imul(i + 1, 0x9e3779b1));

/** Maximum rows and approximate bytes of one commit. */
const COMMIT = { rows: 300, bytes: 400_000 };

/** Stores batches of a run that has none yet. */
export async function fillRun(
  store: Store,
  team: Team,
  id: RunId,
  batches: Batches,
): Promise<EventLedger> {
  const sets: KvSet[] = [];
  const directory: PageEntry[] = [];
  const eventIds = new EventIdSet(NUMBERS);
  const months = new Map<string, bigint>();
  let ledger = EMPTY_LEDGER;
  for (const { events, at } of batches) {
    const decision = decideAppend(ledger, eventIds, events, at, CARD);
    const { batches: [batch], rowIds, sealedPage } = decision;
    ledger = decision.ledger;
    const text = encodeBatch(batch?.events ?? [], at, batch?.prices ?? NO_PRICES);
    sets.push(...blobWrite(team.id, id, keys.batch(team.id, id, ledger.batches - 1), text).sets);
    for (const rowId of rowIds) {
      sets.push({ key: keys.eventId(team.id, id, packEventIds([rowId])), value: true });
    }
    eventIds.addPage(packEventIds(rowIds));
    months.set(monthOf(at), (months.get(monthOf(at)) ?? 0n) + BigInt(decision.fresh.length));
    if (sealedPage !== null) seal(sealedPage);
  }
  function seal(page: LedgerPage): void {
    eventIds.addPage(page.ids);
    sets.push({ key: keys.page(team.id, id, ledger.sealed - 1), value: page });
    directory.push(pageEntryOf(page, ledger.batches));
  }
  for (let row = 0; row * 64 < directory.length; row++) {
    const value = directory.slice(row * 64, row * 64 + 64)
      .map(({ firstBatch, tsMin, tsMax }) => [firstBatch, tsMin, tsMax]);
    sets.push({ key: keys.directoryRow(team.id, id, row), value });
  }
  await commitAll(store, team, sets);
  await store.writer.commit({
    team: team.id,
    sums: Array.from(months, ([month, by]) => ({ key: keys.usage(team.id, month), by })),
    sets: [{ key: keys.ledger(team.id, id), value: encodeLedger(ledger) }],
    pending: [{ lane: "open", name: pendingName(team.id, id) }],
  });
  return ledger;
}

async function commitAll(store: Store, team: Team, sets: readonly KvSet[]): Promise<void> {
  let batch: KvSet[] = [];
  let bytes = 0;
  const commits: Promise<unknown>[] = [];
  for (const set of sets) {
    batch.push(set);
    bytes += bytesOf(set.value);
    if (batch.length < COMMIT.rows && bytes < COMMIT.bytes) continue;
    commits.push(store.writer.commit({ team: team.id, sets: batch }));
    [batch, bytes] = [[], 0];
  }
  commits.push(store.writer.commit({ team: team.id, sets: batch }));
  await Promise.all(commits);
}

function bytesOf(value: unknown): number {
  if (value instanceof Uint8Array) return value.length;
  return typeof value === "object" ? 20_000 : 100;
}

/** Creates a minimal event; its id follows from its number. */
export function aLine(n: number, ts: number): RunEvent {
  const id = `evt_eu_${n.toString(16).padStart(32, "0")}` as EventId;
  return { id, type: "log", ts, data: "{}" as RunEvent["data"], facts: { error: false } };
}

/** Creates batches of equal size, starting at one event, with one arrival. */
export function linesOf(
  from: number,
  batches: number,
  perBatch: number,
  at: number,
  tsOf: (n: number) => number = (n) => at + n,
): Batches {
  return Array.from({ length: batches }, (_, batch) => ({
    at,
    events: Array.from({ length: perBatch }, (_, i) => {
      const n = from + batch * perBatch + i;
      return aLine(n, tsOf(n));
    }),
  }));
}
