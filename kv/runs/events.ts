/**
 * Stores event batches: one check on the run's ledger protects a batch.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import { HASH_NUMBERS, packEventIds } from "../../domain/runs/event_ids.ts";
import {
  type AppendDecision,
  BATCH_CHARS_MAX,
  decideAppend,
  EMPTY_LEDGER,
  EventIdSet,
  type EventLedger,
  hasRowIds,
  ID_PAGES_MAX,
  type KnownIds,
  type LedgerPage,
  pageEntryOf,
} from "../../domain/runs/ledger.ts";
import { DELETED } from "../../domain/runs/decide.ts";
import type { RunEvent } from "../../domain/runs/event.ts";
import type { EventId, RunId } from "../../domain/core/ids.ts";
import type { AppendOutcome, RunStore } from "../../domain/runs/run_store.ts";
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import { monthOf } from "../../domain/core/time.ts";
import { BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { KeyedMutex } from "../../runtime/fair_slots.ts";
import { BatchRows } from "./staging.ts";
import { addToRow, type DirectoryRow, readOpenRow } from "./batches.ts";
import { encodeLedger } from "../base/codec_sums.ts";
import { ledgerOf, type RunRef, tombstoneOf } from "./heads.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getAll, getEntry, listRows, type Store } from "../store.ts";
import { pendingName, type Write } from "../writer/group.ts";
import { addFacts, type TraceFacts } from "../../domain/runs/trace_facts.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";
import type { KnownAgents } from "../agents/known_agents.ts";
import { useTraceAgent } from "./commit_parts.ts";

/** A ledger as last read or written. A stale one is harmless: its commit conflicts. */
interface LiveLedger {
  readonly version: string | null;
  readonly ledger: EventLedger;
  /**
   * Ids on the sealed pages. The next state of the ledger reuses this set and adds the page it
   * seals: copying it per batch would slow down growing runs. It is changed only under the run's
   * lock, and only after a commit.
   */
  readonly sealed: EventIdSet;
  /** Directory row of the latest sealed pages. */
  readonly row: DirectoryRow;
}

/** Bytes of a ledger without ids, entries and models; of an entry; of a model without names. */
const LEDGER_BYTES = 1_500, ENTRY_BYTES = 80, MODEL_BYTES = 300;

/** Secret hash seeds of id sets: clients cannot provoke collisions. */
const hashNumbers = crypto.getRandomValues(new Uint32Array(HASH_NUMBERS));

/** Returns the assumed state of a run before any read. */
function noEvents(): LiveLedger {
  return { version: null, ledger: EMPTY_LEDGER, sealed: new EventIdSet(hashNumbers), row: [] };
}

/** A call that adds a batch to a run. */
interface Call {
  readonly team: Team;
  readonly run: RunRef;
  /** Pending name of the run. */
  readonly name: string;
  readonly batch: readonly RunEvent[];
  readonly receivedAt: number;
  /** Facts of the spans of the events; undefined for none. */
  readonly facts: TraceFacts | undefined;
  /** True if the caller sends further events of the run at once. */
  readonly hasMore: boolean;
  /** Rows of its batches, for all attempts of its commit. */
  readonly rows: BatchRows;
}

/** Creates the operation of {@link RunStore} that stores events. */
export function createAppend(store: Store, cards: RateCards, known: KnownAgents) {
  const live = createByteCache<string, LiveLedger>({
    memory: store.memory,
    share: "ledgers",
    bytesOf: (ledger, name) => name.length * BYTES_PER_CHAR + bytesOf(ledger),
  });
  const largeBatches = new KeyedMutex(store.deadlines);

  /** Returns how a batch changes a ledger. */
  async function decide(call: Call, current: LiveLedger): Promise<AppendDecision> {
    const { team, run, batch, receivedAt, facts } = call;
    const loaded = cards.card(team);
    const card = loaded instanceof Promise ? await loaded : loaded;
    const knownIds = hasRowIds(current.ledger)
      ? await withRows(run, current.sealed, batch)
      : current.sealed;
    const decision = decideAppend(current.ledger, knownIds, batch, receivedAt, card);
    if (facts === undefined || decision.fresh.length === 0) return decision;
    const { metadataKeysMax } = planOfTeam(team);
    const trace = addFacts(current.ledger.trace, facts, receivedAt, metadataKeysMax);
    return { ...decision, ledger: { ...decision.ledger, trace } };
  }

  async function appendBatch(call: Call): Promise<AppendOutcome> {
    const { name, run, rows } = call;
    let current = live.get(name) ?? noEvents();
    return await untilCommitted("append events", async () => {
      const { decision, used, onUsed } = await withAgent(call, await decide(call, current));
      const { fresh, duplicates, scores } = decision;
      const { cost } = decision.ledger.totals;
      if (fresh.length === 0 && await isUnchanged(run, current)) {
        return storedOf(0, duplicates, 0, cost);
      }
      const after = fresh.length === 0 ? null : await commitBatch(call, current, decision, used);
      if (after !== null) {
        onUsed();
        const isClosed = after.ledger.trace?.closedAt !== undefined && !call.hasMore;
        // A late span reads the ledger again, as a late event does.
        if (isClosed) live.delete(name);
        else live.set(name, after);
        return storedOf(fresh.length, duplicates, scores.dropped, cost);
      }
      const stored = await readLedger(run);
      if (stored === null) return DELETED;
      // The ledger is the assumed one, so the conflict was about staged chunks that were removed.
      if (stored.version === current.version) await rows.remove();
      current = stored;
      live.set(name, current);
      return LOST;
    });
  }

  /** Activates the agent of a run whose trace names it now. */
  async function withAgent({ team, run, receivedAt }: Call, decision: AppendDecision) {
    const { ledger } = decision;
    if (ledger.trace === undefined) return { decision, used: {}, onUsed: () => {} };
    const { trace, used, onUsed } = await useTraceAgent(run, team, known, ledger.trace, receivedAt);
    return { decision: { ...decision, ledger: { ...ledger, trace } }, used, onUsed };
  }

  /**
   * Stages a large batch without the run's lock, which other calls need. Large batches of a run take
   * turns: a repeated one finds the first one stored, instead of staging it too.
   */
  function appendLarge(call: Call): Promise<AppendOutcome> {
    const { name, run, rows } = call;
    return largeBatches.take(name, async () => {
      const current = live.get(name) ?? await readLedger(run);
      if (current !== null) {
        if (!live.has(name)) live.set(name, current);
        await rows.prepare(await decide(call, current));
      }
      return await store.runLocks.take(name, () => appendBatch(call));
    });
  }

  return {
    async append(...args: Parameters<RunStore["append"]>) {
      const [team, id, batch, receivedAt, facts, hasMore = false] = args;
      const name = pendingName(team.id, id);
      const run = { store, team: team.id, id };
      const rows = new BatchRows(run, receivedAt);
      const call = { team, run, name, batch, receivedAt, facts, hasMore, rows };
      try {
        return isLarge(batch)
          ? await appendLarge(call)
          : await store.runLocks.take(name, () => appendBatch(call));
      } finally {
        await rows.remove();
      }
    },
    /** Drops a closed run's ledger: late events read it again, and open runs have its memory. */
    drop: (team: Team, id: RunId) => void live.delete(pendingName(team.id, id)),
  };
}

/** Returns whether a batch is stored as several. */
function isLarge(batch: readonly RunEvent[]): boolean {
  let chars = 0;
  for (const { data } of batch) chars += data.length;
  return chars > BATCH_CHARS_MAX;
}

function storedOf(
  accepted: number,
  duplicates: number,
  scoresDropped: number,
  cost: Picodollars,
): AppendOutcome {
  const drops = scoresDropped === 0 ? {} : { scoresDropped };
  return { kind: "stored", accepted, duplicates, cost, ...drops };
}

/** Returns an upper bound of a ledger's bytes in memory. */
function bytesOf({ ledger: { tail, totals }, sealed, row }: LiveLedger): number {
  const entries = tail.batches.length + row.length;
  let bytes = LEDGER_BYTES + tail.ids.length + entries * ENTRY_BYTES + sealed.bytes;
  const { models, failedTool } = totals;
  if (failedTool !== undefined) bytes += MODEL_BYTES + BYTES_PER_CHAR * failedTool.name.length;
  for (const { model, provider } of models) {
    bytes += MODEL_BYTES + BYTES_PER_CHAR * (model.length + (provider?.length ?? 0));
  }
  return bytes;
}

/** Returns the known ids of a batch: those with a row and those on sealed pages. */
async function withRows(
  run: RunRef,
  sealed: EventIdSet,
  batch: readonly RunEvent[],
): Promise<KnownIds> {
  const ids = batch.flatMap(({ id }) => sealed.has(id) ? [] : [id]);
  const entries = await getAll(run.store, ids.map((id) => rowKey(run, id)));
  const stored = new Set(ids.filter((_, i) => entries[i]?.versionstamp));
  return { isEmpty: false, has: (id) => stored.has(id) || sealed.has(id) };
}

function rowKey({ team, id }: RunRef, event: EventId): Deno.KvKey {
  return keys.eventId(team, id, packEventIds([event]));
}

/** Returns whether a cached ledger is current; without fresh events, no commit checks it. */
async function isUnchanged({ store, team, id }: RunRef, { version }: LiveLedger): Promise<boolean> {
  return (await getEntry(store, keys.ledger(team, id))).versionstamp === version;
}

/** Reads the stored ledger; null if the run is deleted. */
async function readLedger(run: RunRef): Promise<LiveLedger | null> {
  const { store, team, id } = run;
  const entry = await getEntry(store, keys.ledger(team, id));
  const none = noEvents();
  if (entry.versionstamp === null) return none;
  if (tombstoneOf([entry.value]) !== null) return null;
  const ledger = ledgerOf(entry.value);
  // A page sealed after the ledger was read belongs to a later state.
  const count = Math.min(ledger.sealed, ID_PAGES_MAX);
  const pages = count === 0
    ? []
    : await listRows<LedgerPage>(store, keys.firstPages(team, id, count));
  for (const { value } of pages) none.sealed.addPage(value.ids);
  const row = await readOpenRow(run, ledger);
  return { ...none, version: entry.versionstamp, ledger, row };
}

/** Commits a decision: the one commit by which readers see its events; null on a conflict. */
async function commitBatch(
  { run, rows, receivedAt }: Call,
  current: LiveLedger,
  decision: AppendDecision,
  used: Write,
): Promise<LiveLedger | null> {
  const { team, id } = run;
  const { fresh, ledger, sealedPage, rowIds, scores } = decision;
  await rows.prepare(decision);
  const ledgerKey = keys.ledger(team, id);
  const sets = rows.setsFrom(ledger.batches - decision.batches.length);
  for (const event of rowIds) sets.push({ key: rowKey(run, event), value: true });
  for (const score of scores.added) {
    sets.push({ key: keys.score(team, id, score.id), value: score });
  }
  let { row } = current;
  if (sealedPage !== null) {
    const page = ledger.sealed - 1;
    const { set, next } = addToRow(run, page, row, pageEntryOf(sealedPage, ledger.batches));
    sets.push({ key: keys.page(team, id, page), value: sealedPage }, set);
    row = next;
  }
  sets.push({ key: ledgerKey, value: encodeLedger(ledger) });
  const version = await rows.commit({ ledger }, {
    ...used,
    checks: [{ key: ledgerKey, versionstamp: current.version }, ...used.checks ?? []],
    sums: [
      { key: keys.usage(team, monthOf(receivedAt)), by: BigInt(fresh.length) },
      ...used.sums ?? [],
    ],
    sets: [...sets, ...used.sets ?? []],
  });
  if (version === null) return null;
  if (sealedPage !== null) current.sealed.addPage(sealedPage.ids);
  // A new object: the cache does not measure one again that it already has.
  return { version, ledger, sealed: current.sealed, row };
}
