/**
 * The audit of one run: what its parts come to, against what was made of them.
 *
 * Only the opening, the close and the batches of events count as true. The ledger's totals, the summary
 * and the index of models are made of them and must agree.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { addEvents, type EventTotals } from "../../domain/runs/event_totals.ts";
import { EMPTY_LEDGER, type EventLedger } from "../../domain/runs/ledger.ts";
import { isRest, type ModelUsage } from "../../domain/runs/model_usage.ts";
import type { Contribution } from "../../domain/runs/contribution.ts";
import { type AgentRun, agentRunOf } from "../../domain/agents/activity.ts";
import { arrivalsOf, type RunParts } from "../../domain/runs/run.ts";
import type { Processing, StageProgress } from "../../domain/runs/stages.ts";
import { type RunSummary, summarize } from "../../domain/runs/summary.ts";
import { expiryEntryOf } from "../../domain/retention/retention.ts";
import { monthOf } from "../../domain/core/time.ts";
import { verifyDeleted } from "./deleted.ts";
import { verifyLedger } from "./ledger.ts";
import { type Mismatch, mismatch, NONE } from "./mismatch.ts";
import { numbersFrom, readBatches, withFacts } from "../runs/batches.ts";
import { headKeys, headOf, isStored, type SummarizedHead } from "../runs/heads.ts";
import { keys } from "../base/keys.ts";
import { tombstoneOf } from "../runs/tombstone.ts";
import { readRemovedTotals } from "../retention/old_batches.ts";
import { type IndexRow, indexRows } from "../run_list/run_index.ts";
import { getAll, getEntry, getMany, listRows, type Store } from "../store.ts";

/** What an audited run comes to. */
export interface VerifiedRun {
  /** What roll-ups must hold of it; null for nothing. */
  readonly contribution: Contribution | null;
  /** What its agent's row must hold of it; null for nothing. */
  readonly agentRun: AgentRun | null;
  /** What it adds to the usage counters, by month. */
  readonly usage: ReadonlyMap<string, number>;
  /** The rows of the index it must be found under. */
  readonly indexed: readonly IndexRow[];
  /** Whether the feed of changes must have a row of it. */
  readonly isInFeed: boolean;
  /** How many events are stored of it. */
  readonly events: number;
  /** Where what was made of its parts differs from them. */
  readonly mismatches: readonly Mismatch[];
}

/** What nothing comes to. */
const NOTHING: VerifiedRun = {
  contribution: null,
  agentRun: null,
  usage: new Map(),
  indexed: [],
  isInFeed: false,
  events: 0,
  mismatches: [],
};

/** Where the stages stand among what is read of a run. */
const PROCESSING = 5;

/** Audits a run. A part that cannot be read is a mismatch, not an error. */
export async function verifyRun(store: Store, team: TeamId, id: RunId): Promise<VerifiedRun> {
  try {
    return await verifyReadable(store, team, id);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    const found = error instanceof Error ? error.message : String(error);
    const unreadable = { what: `parts of ${id}`, expected: "readable", found };
    return { ...NOTHING, mismatches: [unreadable] };
  }
}

async function verifyReadable(store: Store, team: TeamId, id: RunId): Promise<VerifiedRun> {
  const wanted = [...headKeys(team, id), keys.processing(team, id)];
  const entries = await getMany(store, wanted);
  const deleted = tombstoneOf(entries.map(({ value }) => value));
  if (deleted !== null) {
    const mismatches = await verifyDeleted(store, team, id, deleted);
    return { ...NOTHING, mismatches };
  }
  const read = await headOf(store, team, id, entries);
  const { head, summary, ledger } = read;
  const cost = (entries[PROCESSING]?.value as Processing | null)?.stages[0] ?? null;
  const events = await sumEvents(store, team, id, ledger);
  const usage = countCalls(head.parts, events.usage);
  const totals = withLinesOf(events.totals, ledger.totals);
  const mismatches = [
    ...events.mismatches,
    ...mismatch(`event totals of ${id}`, { ...totals }, { ...ledger.totals }),
    ...await verifyLedger({ store, team, id }, ledger, events.usage),
    ...await compareScores(store, team, id, ledger),
  ];
  const isInFeed = summary?.changes !== undefined;
  const found = { usage, isInFeed, events: totals.events };
  // What could not be summed up yet is told once, and roll-ups hold what was summed up before.
  const waiting = waitingCost(id, cost);
  if (waiting !== null) {
    const contribution = summary?.contribution ?? null;
    const agentRun = agentRunOf(id, summary);
    const indexed = [...indexRows(team, id, summary).values()];
    return { ...found, contribution, agentRun, indexed, mismatches: [...mismatches, waiting] };
  }
  const wantedSummary = isStored(head)
    ? placedAs(summarize({ ...head, totals }, null), summary)
    : null;
  const indexed = [...indexRows(team, id, wantedSummary).values()];
  const contribution = wantedSummary?.contribution ?? null;
  mismatches.push(...compareSummaries(id, wantedSummary, summary));
  mismatches.push(...await unfound(store, team, read, indexed));
  return { ...found, contribution, agentRun: agentRunOf(id, wantedSummary), indexed, mismatches };
}

/**
 * A summary with the place of the stored one: where parts without an opening stand follows from what has
 * gone since.
 */
function placedAs(wanted: RunSummary, found: RunSummary | null): RunSummary {
  if (found === null || wanted.times !== null) return wanted;
  return { ...wanted, listed: { ...wanted.listed, at: found.listed.at } };
}

function waitingCost(id: RunId, cost: StageProgress | null): Mismatch | null {
  if (cost === null || cost.state === "done") return null;
  const found = `${cost.state} after ${cost.attempts} tries: ${cost.error ?? "not tried yet"}`;
  return { what: `cost of ${id}`, expected: "summed up", found };
}

/** Adds up the events of a run, batch by batch, at the prices stored with them. */
async function sumEvents(store: Store, team: TeamId, id: RunId, ledger: EventLedger) {
  let totals = await readRemovedTotals({ store, team, id }, ledger);
  const usage = new Map<string, number>();
  const mismatches: Mismatch[] = [];
  const numbers = numbersFrom(ledger.removed, ledger.batches);
  let at = ledger.removed;
  for await (const { events, prices } of readBatches(store, team, id, ledger, numbers)) {
    const batch = at++;
    // No batch is stored without an event.
    if (events.length === 0) {
      mismatches.push({ what: `batch ${batch} of ${id}`, expected: "stored", found: NONE });
      continue;
    }
    totals = addEvents(totals, events.map(withFacts), prices);
    const month = monthOf(events[0]?.receivedAt ?? 0);
    usage.set(month, (usage.get(month) ?? 0) + events.length);
  }
  const beyond = await getEntry(store, keys.batch(team, id, ledger.batches));
  if (beyond.versionstamp !== null) {
    const what = `batch ${ledger.batches} of ${id}`;
    mismatches.push({ what, expected: "counted by the ledger", found: "not counted" });
  }
  return { totals, usage, mismatches };
}

/** Adds the calls that stored the opening and the close. */
function countCalls(parts: RunParts, events: ReadonlyMap<string, number>) {
  const usage = new Map(events);
  for (const at of arrivalsOf(parts)) usage.set(monthOf(at), (usage.get(monthOf(at)) ?? 0) + 1);
  return usage;
}

/**
 * Takes over the ledger's lines by model where they agree in sum with those of the events.
 *
 * Only for a run with more models than are named: which of them are depends on what it was when they
 * were priced anew.
 */
function withLinesOf(totals: EventTotals, ledger: EventTotals): EventTotals {
  const folded = [...totals.models, ...ledger.models].some(isRest);
  const same = folded && sumOfLines(totals.models) === sumOfLines(ledger.models);
  return same ? { ...totals, models: ledger.models } : totals;
}

function sumOfLines(lines: readonly ModelUsage[]): string {
  const sums = [0n, 0n, 0n, 0n, 0n];
  for (const { calls, inputTokens, outputTokens, cachedInputTokens, cost } of lines) {
    const line = [BigInt(calls), inputTokens, outputTokens, cachedInputTokens, cost];
    line.forEach((value, i) => sums[i] = (sums[i] ?? 0n) + value);
  }
  return sums.join();
}

function compareSummaries(
  id: RunId,
  wanted: RunSummary | null,
  found: RunSummary | null,
): Mismatch[] {
  const what = `summary of ${id}`;
  if (wanted === null || found === null) {
    const word = (summary: RunSummary | null) => summary === null ? NONE : "stored";
    return wanted === found ? [] : [{ what, expected: word(wanted), found: word(found) }];
  }
  return mismatch(what, flat(wanted), flat(found));
}

/** A summary without its history: how often it was made final is known to nobody else. */
function flat(summary: RunSummary): Record<string, unknown> {
  const { seen, revision, contribution, times, listed, shown, parent } = summary;
  const state = { ...seen, ...times, ...listed, ...shown, parent, final: revision > 0 };
  if (contribution === null) return { ...state, contribution };
  const { labels, ...sums } = contribution;
  return { ...state, ...sums, ...labels };
}

/** Scores that the ledger counts otherwise than they are stored. No score is without a ledger. */
async function compareScores(
  store: Store,
  team: TeamId,
  id: RunId,
  ledger: EventLedger,
): Promise<Mismatch[]> {
  if (ledger === EMPTY_LEDGER) return [];
  const rows = await listRows(store, { prefix: keys.scores(team, id) });
  return mismatch(`scores of ${id}`, { scores: rows.length }, {
    scores: ledger.scores?.count ?? 0,
  });
}

/** Rows by which a run is found, by what it came to and by its age, that are not as they have to be. */
async function unfound(
  store: Store,
  team: TeamId,
  { id, head, ledger, summary }: SummarizedHead,
  indexed: readonly IndexRow[],
): Promise<Mismatch[]> {
  const filed = isStored(head) ? [keys.expiry(team, expiryEntryOf(head.parts, ledger), id)] : [];
  const { changes } = summary ?? {};
  const fed = changes === undefined ? [] : [keys.change(team, changes.latest, id)];
  const others = [...filed, ...fed].map((key) => ({ key, value: null }));
  const wanted = [...indexed, ...others];
  const missing: Mismatch[] = [];
  const entries = await getAll(store, wanted.map(({ key }) => key));
  for (const [i, entry] of entries.entries()) {
    const what = `index ${entry.key.slice(2, -1).join(" ")} for ${id}`;
    if (entry.versionstamp === null) missing.push({ what, expected: "stored", found: NONE });
    else missing.push(...compareValues(what, wanted[i]?.value ?? null, entry.value));
  }
  return missing;
}

/** What a row of the index tells of its run, if it tells anything: older ones do not. */
function compareValues(what: string, wanted: Uint8Array | null, found: unknown): Mismatch[] {
  if (wanted === null || !(found instanceof Uint8Array)) return [];
  return mismatch(what, { tells: wanted.toHex() }, { tells: found.toHex() });
}
