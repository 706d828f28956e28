/**
 * Exports a ledger as lines of text, without what an import derives (R21).
 *
 * @module
 */
import {
  EXPORT_FORMAT,
  KINDS_AFTER_RUNS,
  KINDS_BEFORE_RUNS,
  type RowKind,
} from "../../domain/core/export_format.ts";
import type { EventId, RunId, TeamId } from "../../domain/core/ids.ts";
import { VERSION } from "../../domain/core/version.ts";
import { keys } from "../base/keys.ts";
import { eachRow, getMany, listRows, namesBelow, readBlob, type Store } from "../store.ts";
import { rowLine, toJson, UNLISTED } from "./export_rows.ts";
import { rawOf } from "../../domain/core/raw_json.ts";
import type { PagedEvent } from "../../domain/runs/event_page.ts";
import {
  EventIdSet,
  hasRowIds,
  type LedgerPage,
  packEventIds,
  unpackEventIds,
} from "../../domain/runs/ledger.ts";
import { HASH_NUMBERS } from "../../domain/runs/event_ids.ts";
import { isCurrent } from "../../domain/runs/summary.ts";
import { BatchIndex } from "../runs/batches.ts";
import { numbersFrom, readBatches } from "../runs/batches.ts";
import { isStored, type ReadHead, readHead, type RunWithLedger } from "../runs/heads.ts";
import { readScores } from "../runs/scores.ts";
import { readRemovedTotals } from "../retention/expiry.ts";

/** A ledger could not be exported or imported; the message says what to do. */
export class TransferFailed extends Error {
  override readonly name = "TransferFailed";
}

/**
 * Yields the lines of a ledger. Nothing may change it meanwhile.
 *
 * @throws {TransferFailed} when it has changed; what was yielded is then useless
 */
export async function* exportLines(store: Store): AsyncGenerator<string> {
  const before = await receiptsOf(store);
  await refuseUnknown(store);
  let lines = 1;
  yield JSON.stringify({ kind: "export", export: EXPORT_FORMAT, version: VERSION });
  for await (const line of linesOf(store)) {
    lines++;
    yield line;
  }
  // Every commit on a shared store changes a receipt; a file is locked.
  if (await receiptsOf(store) !== before) {
    throw new TransferFailed(
      "The ledger changed while it was exported: stop its services, then export again",
    );
  }
  yield JSON.stringify({ kind: "end", lines });
}

async function* linesOf(store: Store): AsyncGenerator<string> {
  for (const kind of KINDS_BEFORE_RUNS) yield* rowLines(store, kind);
  for await (const key of namesBelow(store, keys.runs(), 2)) {
    yield* runLines(store, key[2] as TeamId, key[1] as RunId);
  }
  for (const kind of KINDS_AFTER_RUNS) yield* rowLines(store, kind);
}

async function* rowLines(store: Store, kind: RowKind): AsyncGenerator<string> {
  for await (const row of eachRow(store, { prefix: [kind] })) {
    const line = rowLine(kind, row);
    if (line !== null) yield line;
  }
  // A prefix does not select the key that equals it.
  const [own] = await listRows(store, { start: [kind], end: [kind, ""] }, { limit: 1 });
  const line = own?.key.length === 1 ? rowLine(kind, own) : null;
  if (line !== null) yield line;
}

/** Refuses rows that no line would have: they would be lost. */
async function refuseUnknown(store: Store): Promise<void> {
  const known = new Set<unknown>([...KINDS_BEFORE_RUNS, ...KINDS_AFTER_RUNS, ...UNLISTED]);
  for await (const [family] of namesBelow(store, [], 1)) {
    if (known.has(family)) continue;
    throw new TransferFailed(`The ledger has rows of an unknown kind, ${String(family)}`);
  }
}

async function receiptsOf(store: Store): Promise<string> {
  const receipts = await listRows(store, { prefix: keys.receipts() });
  return receipts.map(({ versionstamp }) => versionstamp).join();
}

/** Returns the lines of a run; none of one that expired. */
export async function* runLines(store: Store, team: TeamId, id: RunId): AsyncGenerator<string> {
  const run = await readHead({ store, team, id });
  const { tombstone, ledger } = run;
  if (tombstone !== null) {
    // Nobody deleted an expired run: its rows were about to go.
    if (tombstone.by === null) return;
    return yield JSON.stringify({ kind: "deleted_run", team, run: id, deletion: tombstone });
  }
  if (!isStored(run.head)) return;
  yield await headLine(run);
  if (ledger.removed > 0) yield* removedLines(run);
  for await (const { events } of readBatches(run, numbersFrom(ledger.removed, ledger.batches))) {
    yield eventsLine(run, events);
  }
  for (const score of await readScores(run)) {
    yield JSON.stringify({ kind: "score", team, run: id, score });
  }
}

async function headLine(run: ReadHead): Promise<string> {
  const { store, team, id, head, ledger, summary, idle, incidents, checks } = run;
  const read = [keys.opening(team, id), keys.closing(team, id), keys.price(team, id)];
  const [opening, closing, price] = await getMany(store, read);
  const isFinal = summary?.finalAt !== undefined;
  // A started service processes what was not: alerts and checks have not seen it.
  const isPending = summary === null || !isFinal && head.parts.closing !== null &&
      !isCurrent(summary, head);
  const members = {
    kind: "run",
    team,
    run: id,
    idle,
    price: toJson(price?.value ?? null),
    repricings: ledger.repricings,
    revision: summary?.revision ?? 0,
    final_at: summary?.finalAt,
    is_counted: summary?.isCounted,
    listed_at: head.parts.opening === null ? summary?.listed.at : undefined,
    scores: ledger.scores,
    trace: ledger.trace,
    is_pending: isPending ? true : undefined,
    checks,
    incidents,
    awaits_checks: summary?.awaitsChecks,
    judges: summary?.judges,
  };
  const [opened, closed] = await Promise.all(
    [opening, closing].map((row) => readBlob(store, team, id, row?.value)),
  );
  // Payloads stay as sent.
  return `${JSON.stringify(members).slice(0, -1)},${rawMember("opening", opened ?? "null")},` +
    `${rawMember("closing", closed ?? "null")}}`;
}

function eventsLine({ team, id }: RunWithLedger, events: readonly PagedEvent[]): string {
  const members = { kind: "events", team, run: id, received_at: events[0]?.receivedAt };
  return `${JSON.stringify(members).slice(0, -1)},"events":[${events.map(eventJson).join()}]}`;
}

function eventJson({ id, type, ts, turn, unreadable, flags, data, twin, ...price }: PagedEvent) {
  const { cost, pricedBy } = twin ?? price;
  const priced = pricedBy === null ? {} : { cost: `${cost}`, priced_by: pricedBy };
  const fields = rawOf({ id, type, ts, turn, unreadable, flags, ...priced, twin: twin?.countedBy });
  return `${fields.slice(0, -1)},${rawMember("data", data)}}`;
}

/** Returns a member whose JSON stays as it was sent; as a text if it has several lines. */
function rawMember(name: string, json: string): string {
  return /[\r\n]/.test(json) ? `"${name}_text":${JSON.stringify(json)}` : `"${name}":${json}`;
}

/** Batches of one line, so that no line is long. */
const REMOVED_PER_LINE = 500;

/** Returns what is left of removed batches: their ids, so that a retry is recognized, and totals. */
async function* removedLines(run: RunWithLedger): AsyncGenerator<string> {
  const { team, id, ledger } = run;
  const totals = await readRemovedTotals(run);
  const index = await BatchIndex.read({ ...run, ledger: { ...ledger, removed: 0 } });
  const ids = removedIds(run);
  const line = { kind: "removed_events", team, run: id, totals: toJson(totals) };
  let batches: [number, number, number][] = [];
  let [named, number] = [0, 0];
  for await (const { receivedAt, tsMin, tsMax } of index.byArrival()) {
    batches.push([receivedAt, tsMin, tsMax]);
    const isLast = ++number === ledger.removed;
    if (!isLast && batches.length < REMOVED_PER_LINE) continue;
    // Which id was in which batch is not known: each gets its share.
    const end = Math.floor(number * totals.events / ledger.removed);
    yield JSON.stringify({ ...line, batches, ids: await take(ids, end - named) });
    if (isLast) return;
    [batches, named] = [[], end];
  }
}

async function take(ids: AsyncGenerator<EventId>, count: number): Promise<EventId[]> {
  const taken: EventId[] = [];
  while (taken.length < count) {
    const { value, done } = await ids.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

/** Yields the ids of a run's events that are removed. */
async function* removedIds(run: RunWithLedger): AsyncGenerator<EventId> {
  const { store, team, id, ledger } = run;
  const stored = new EventIdSet(crypto.getRandomValues(new Uint32Array(HASH_NUMBERS)));
  for await (const { events } of readBatches(run, numbersFrom(ledger.removed, ledger.batches))) {
    stored.addPage(packEventIds(events.map((event) => event.id)));
  }
  const removedOf = (ids: Uint8Array) => unpackEventIds(ids).filter((id) => !stored.has(id));
  const pages = keys.firstPages(team, id, ledger.sealed);
  for await (const { value } of eachRow<LedgerPage>(store, pages)) yield* removedOf(value.ids);
  yield* removedOf(ledger.tail.ids);
  if (!hasRowIds(ledger)) return;
  for await (const { key } of eachRow(store, { prefix: keys.eventIds(team, id) })) {
    yield* removedOf(key.at(-1) as Uint8Array);
  }
}
