/**
 * Events and the ledger that counts each of them once.
 *
 * One ledger per run holds the ids stored so far and running totals, so that a batch is settled by
 * comparing one version, and a finish never reads the events again.
 *
 * @module
 */
import { addToPage, PACKED_ID_BYTES } from "./event_ids.ts";
import type { EventId } from "./ids.ts";
import type { RawJson } from "./json.ts";
import { UNPRICED_MODELS_MAX } from "./limits.ts";
import type { Picodollars } from "./money.ts";
import { ModelSums, TokenSums } from "./token_sums.ts";

export { PACKED_ID_BYTES, packEventIds, unpackEventIds } from "./event_ids.ts";

/** An event as checked and kept: the payload is the very text that was sent. */
export interface RunEvent {
  /** Unique within the run. */
  readonly id: EventId;
  /** `llm_call`, `log`, `tool_call` or any other name. */
  readonly type: string;
  /** Instant by the client's clock, unix milliseconds. */
  readonly ts: number;
  /** Which exchange of a conversation, from 1. */
  readonly turn?: number | undefined;
  /** The payload as sent. */
  readonly data: RawJson;
  /** What the totals need of the payload. */
  readonly facts: EventFacts;
}

/** The few facts of a payload that totals are made of. */
export interface EventFacts {
  /** Whether the payload reports a failure. */
  readonly error: boolean;
  /** Tokens and model of an `llm_call`. */
  readonly call?: LlmCall | undefined;
}

/** Usage of one model call. */
export interface LlmCall {
  /** Model as named by the client, if it was. */
  readonly model: string | null;
  /** Provider as named by the client, if it was. */
  readonly provider: string | null;
  /** Whether any token count was sent: without one there is nothing to price. */
  readonly counted: boolean;
  /** All input tokens. */
  readonly inputTokens: number;
  /** Output tokens. */
  readonly outputTokens: number;
  /** Input tokens read from a cache. */
  readonly cachedInputTokens: number;
}

/** Tokens and calls of a model that has no price. */
export interface UnpricedModel {
  /** Provider, if known. */
  readonly provider: string | null;
  /** Model. */
  readonly model: string;
  /** How many calls. */
  readonly calls: number;
  /** Sum of input tokens. */
  readonly inputTokens: bigint;
  /** Sum of output tokens. */
  readonly outputTokens: bigint;
  /** Sum of cached input tokens. */
  readonly cachedInputTokens: bigint;
}

/** Sums over the events of a run. Tokens are bigints: two legal events can pass 2^53. */
export interface EventTotals {
  /** All events. */
  readonly events: number;
  /** Events of type `llm_call`. */
  readonly llmCalls: number;
  /** Events of type `tool_call`. */
  readonly toolCalls: number;
  /** Events of type `log`. */
  readonly logs: number;
  /** Events that report a failure. */
  readonly errors: number;
  /** Input tokens. */
  readonly inputTokens: bigint;
  /** Output tokens. */
  readonly outputTokens: bigint;
  /** Cached input tokens. */
  readonly cachedInputTokens: bigint;
  /** Cost of all priced events. */
  readonly cost: Picodollars;
  /** Whether a call reported more cached than input tokens. */
  readonly cachedExceedsInput: boolean;
  /** Models without a price, by provider and name. */
  readonly unpriced: readonly UnpricedModel[];
}

/** Where a stored batch lies in time: lets a page of events be read without the rest. */
export interface BatchEntry {
  /** Earliest `ts`, unix milliseconds. */
  readonly tsMin: number;
  /** Latest `ts`, unix milliseconds. */
  readonly tsMax: number;
  /** Arrival of the batch, unix milliseconds. */
  readonly receivedAt: number;
}

/** A page of the ledger: once full it is sealed and never written again. */
export interface LedgerPage {
  /** Ids of the page's events, 17 bytes each; see `packEventIds`. */
  readonly ids: Uint8Array;
  /** The page's batches in order of arrival. */
  readonly batches: readonly BatchEntry[];
}

/** The head of a run's event ledger. */
export interface EventLedger {
  /** How many pages are sealed. */
  readonly sealed: number;
  /** How many batches are stored in all; the next one's number. */
  readonly batches: number;
  /** The page that is still being filled. */
  readonly tail: LedgerPage;
  /** Sums over all events. */
  readonly totals: EventTotals;
}

/** Ids a page holds before it is sealed: small, because each batch rewrites the open page. */
export const PAGE_IDS_MAX = 256;

/** A ledger without events. */
export const EMPTY_LEDGER: EventLedger = {
  sealed: 0,
  batches: 0,
  tail: { ids: new Uint8Array(), batches: [] },
  totals: {
    events: 0,
    llmCalls: 0,
    toolCalls: 0,
    logs: 0,
    errors: 0,
    inputTokens: 0n,
    outputTokens: 0n,
    cachedInputTokens: 0n,
    cost: 0n,
    cachedExceedsInput: false,
    unpriced: [],
  },
};

/** What a batch comes to. */
export interface AppendDecision {
  /** Events to store, in sent order; empty when all are known, and then nothing is written. */
  readonly fresh: readonly RunEvent[];
  /** Events that were stored before, or twice in the batch (decision 20). */
  readonly duplicates: number;
  /** The ledger to write. */
  readonly ledger: EventLedger;
  /** The page to seal, when this batch fills it. */
  readonly sealedPage: LedgerPage | null;
}

/**
 * Decides a batch against the ids stored so far: each id counts once, the first wins
 * (decisions 19 to 21).
 *
 * @param sealed at least the ids on the ledger's sealed pages; those on the open page are in it
 */
export function decideAppend(
  ledger: EventLedger,
  sealed: ReadonlySet<string>,
  batch: readonly RunEvent[],
  receivedAt: number,
): AppendDecision {
  const unsealed = sealed.size === 0 ? batch : batch.filter(({ id }) => !sealed.has(id));
  const { page: ids, fresh } = addToPage(ledger.tail.ids, unsealed);
  const duplicates = batch.length - fresh.length;
  if (fresh.length === 0) return { fresh, duplicates, ledger, sealedPage: null };

  const page = { ids, batches: [...ledger.tail.batches, entryOf(fresh, receivedAt)] };
  const full = ids.length >= PAGE_IDS_MAX * PACKED_ID_BYTES;
  const next: EventLedger = {
    sealed: ledger.sealed + (full ? 1 : 0),
    batches: ledger.batches + 1,
    tail: full ? EMPTY_LEDGER.tail : page,
    totals: addEvents(ledger.totals, fresh),
  };
  return { fresh, duplicates, ledger: next, sealedPage: full ? page : null };
}

function entryOf(events: readonly RunEvent[], receivedAt: number): BatchEntry {
  let tsMin = Infinity;
  let tsMax = -Infinity;
  for (const { ts } of events) {
    if (ts < tsMin) tsMin = ts;
    if (ts > tsMax) tsMax = ts;
  }
  return { tsMin, tsMax, receivedAt };
}

/**
 * Adds usage of a model without a price to a list of such models, which is sorted by name.
 *
 * The list keeps the smallest names when it is full. A name that fell out can never come back in
 * with a partial sum, so the list does not depend on the order events arrive in.
 */
export function addUnpriced(
  list: readonly UnpricedModel[],
  usage: UnpricedModel,
): readonly UnpricedModel[] {
  const { model, provider } = usage;
  const at = list.findIndex((entry) => entry.model === model && entry.provider === provider);
  const known = list[at];
  if (known !== undefined) return list.with(at, addUsage(known, usage));
  const name = nameOf(usage);
  const before = list.filter((entry) => nameOf(entry) < name);
  const sorted = [...before, usage, ...list.slice(before.length)];
  return sorted.slice(0, UNPRICED_MODELS_MAX);
}

function nameOf({ model, provider }: Pick<UnpricedModel, "model" | "provider">): string {
  return JSON.stringify([model, provider]);
}

function addUsage(a: UnpricedModel, b: UnpricedModel): UnpricedModel {
  return {
    ...a,
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
  };
}

/** Adds a batch to the sums; models are merged once each, not once an event. */
function addEvents(totals: EventTotals, events: readonly RunEvent[]): EventTotals {
  const sum: { -readonly [Name in keyof EventTotals]: EventTotals[Name] } = { ...totals };
  const all = new TokenSums();
  const models = new ModelSums();
  for (const { type, facts: { call, error } } of events) {
    sum.events++;
    if (type === "llm_call") sum.llmCalls++;
    else if (type === "tool_call") sum.toolCalls++;
    else if (type === "log") sum.logs++;
    if (error) sum.errors++;
    if (call === undefined) continue;
    all.add(call);
    sum.cachedExceedsInput ||= call.cachedInputTokens > call.inputTokens;
    if (call.model !== null && call.counted) models.of(call.model, call.provider).add(call);
  }
  const { inputTokens, outputTokens, cachedInputTokens } = all.total();
  sum.inputTokens += inputTokens;
  sum.outputTokens += outputTokens;
  sum.cachedInputTokens += cachedInputTokens;
  for (const usage of models.usages()) sum.unpriced = addUnpriced(sum.unpriced, usage);
  return sum;
}
