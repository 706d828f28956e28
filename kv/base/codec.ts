/**
 * Stored text of a run's parts: JSON that contains users' payloads exactly as they were sent.
 *
 * @module
 */
import { type RawJson, rawMembers, rawOf } from "../../domain/core/raw_json.ts";
import type { EventId } from "../../domain/core/ids.ts";
import { PACKED_ID_BYTES, packEventIds, unpackEventIds } from "../../domain/runs/event_ids.ts";
import type { PagedEvent } from "../../domain/runs/event_page.ts";
import type { RunEvent } from "../../domain/runs/event.ts";
import { type BatchPrices, NO_PRICES } from "../../domain/pricing/price.ts";
import type { RateMatch, RateRow, Rates } from "../../domain/pricing/rates.ts";
import type { Closing, Opening, Reported, RunParts } from "../../domain/runs/run.ts";
import { type Form, packRecord, storedShape, unpackRecord } from "./codec_sums.ts";

/** Encodes an opening or a close. */
export function encodePart(part: Opening | Closing): string {
  const { output, reported } = part;
  if (output === undefined && reported === undefined) return `{"fields":${JSON.stringify(part)}}`;
  const fields = JSON.stringify({ ...part, output: undefined, reported: undefined });
  const reportedText = reported === undefined ? "" : `,"reported":${encodeReported(reported)}`;
  return `{"fields":${fields}${reportedText}${output === undefined ? "" : `,"output":${output}`}}`;
}

function encodeReported(reported: Reported): string {
  const { cost, price } = reported;
  return JSON.stringify({
    ...reported,
    cost: cost?.toString(),
    price: price === undefined ? undefined : { ...price, cost: price.cost.toString() },
  });
}

/** Encodes the opening and the close of a heartbeat that one call stored: they share a row. */
export function encodeOneCall(closing: Closing, opening: Opening): string {
  return `${encodePart(closing).slice(0, -1)},"opening":${encodePart(opening)}}`;
}

/**
 * Decodes the parts of a run.
 *
 * @param opening text of {@link encodePart}; null if there is none, or it is with the close
 * @param closing text of {@link encodePart} or of {@link encodeOneCall}; null if there is none
 */
export function decodeParts(opening: string | null, closing: string | null): RunParts {
  const opened = opening === null ? null : decodePart<Opening>(opening);
  if (closing === null) return { opening: opened, closing: null };
  const members = rawMembers(closing);
  const shared = members.get("opening");
  return {
    opening: opened ?? (shared === undefined ? null : decodePart<Opening>(shared)),
    closing: partOf<Closing>(members),
  };
}

/** Decodes the text of {@link encodePart}. */
export function decodePart<Part extends Opening | Closing>(text: string): Part {
  return partOf(rawMembers(text));
}

function partOf<Part extends Opening | Closing>(members: ReadonlyMap<string, string>): Part {
  const part = { ...JSON.parse(members.get("fields") ?? "{}") };
  const reported = members.get("reported");
  if (reported !== undefined) part.reported = decodeReported(reported);
  const output = members.get("output");
  if (output !== undefined) part.output = output;
  return part;
}

function decodeReported(text: string): Reported {
  const stored = JSON.parse(text);
  if (stored.cost !== undefined) stored.cost = BigInt(stored.cost);
  if (stored.price !== undefined) stored.price.cost = BigInt(stored.price.cost);
  return stored;
}

/** A batch as stored, but for its payloads: each field of its events is one list. */
interface BatchHeader {
  readonly received_at: number;
  /** Ids in Base64, packed by {@link packIds}. */
  readonly ids: string;
  readonly types: readonly (string | typeof SAME)[];
  /** Instants as differences to the event before. */
  readonly ts: readonly number[];
  readonly details?: readonly EventDetails[];
  readonly prices?: StoredPrices;
  /**
   * Three counts of characters a payload, as differences to those of the one before: at its start and at
   * its end those that the one before has too, and those between, which follow the header.
   */
  readonly cuts: readonly number[];
}

/** Ends the header: JSON on one line has none. */
const HEADER_END = "\n";

/**
 * Encodes a batch of events with its arrival time and its prices. Names in each event would take more
 * space, as would what a payload repeats of the one before: a row above 1,000 bytes takes another page of
 * the file, and one above 2,048 is compressed, which takes longer than all else.
 */
export function encodeBatch(
  events: readonly RunEvent[],
  receivedAt: number,
  prices: BatchPrices,
): string {
  const types: (string | typeof SAME)[] = [];
  const instants: number[] = [];
  const cuts: number[] = [];
  const texts: string[] = [""];
  let [lastType, lastTs, lastData] = ["", 0, ""];
  let last = NO_CUT;
  let hasDetails = false;
  for (const { id, type, ts, turn, data: sent, flags } of events) {
    types.push(type === lastType ? SAME : type);
    instants.push(ts - lastTs);
    const data = withMark(id, sent);
    const { start, end } = sharedBy(lastData, data);
    const own = data.length - start - end;
    cuts.push(start - last.start, end - last.end, own - last.own);
    texts.push(start + end === 0 ? data : data.slice(start, data.length - end));
    hasDetails ||= turn !== undefined || flags !== undefined;
    [lastType, lastTs, lastData] = [type, ts, data];
    last = { start, end, own };
  }
  const header: BatchHeader = {
    received_at: receivedAt,
    ids: packIds(events.map(({ id }) => id)),
    types,
    ts: instants,
    ...hasDetails ? { details: events.map(detailsOf) } : {},
    ...prices.matches.length > 0 || prices.twins !== undefined
      ? { prices: storedPrices(prices) }
      : {},
    cuts,
  };
  // Payloads stay as sent. One join copies each once.
  texts[0] = rawOf(header) + HEADER_END;
  return texts.join("");
}

const NO_CUT: Cut = { start: 0, end: 0, own: 0 };

/** Counts of {@link BatchHeader.cuts} of one payload. */
interface Cut {
  readonly start: number;
  readonly end: number;
  readonly own: number;
}

/** Packs ids: the number of bytes that all have at their start, those bytes, and the others of each. */
function packIds(ids: readonly EventId[]): string {
  const packed = packEventIds(ids);
  let shared = ids.length > 1 ? PACKED_ID_BYTES : 0;
  for (let at = PACKED_ID_BYTES; at < packed.length; at += PACKED_ID_BYTES) {
    for (let i = 0; i < shared; i++) if (packed[at + i] !== packed[i]) shared = i;
  }
  const own = PACKED_ID_BYTES - shared;
  const bytes = new Uint8Array(1 + shared + own * ids.length);
  bytes[0] = shared;
  bytes.set(packed.subarray(0, shared), 1);
  for (let i = 0; i < ids.length; i++) {
    const end = (i + 1) * PACKED_ID_BYTES;
    bytes.set(packed.subarray(end - own, end), 1 + shared + own * i);
  }
  return bytes.toBase64();
}

/** Unpacks the ids of {@link packIds}. */
function unpackIds(text: string, count: number): EventId[] {
  const bytes = Uint8Array.fromBase64(text);
  const shared = bytes[0] ?? 0;
  const own = PACKED_ID_BYTES - shared;
  const packed = new Uint8Array(PACKED_ID_BYTES * count);
  for (let i = 0; i < count; i++) {
    const from = 1 + shared + own * i;
    packed.set(bytes.subarray(1, 1 + shared), PACKED_ID_BYTES * i);
    packed.set(bytes.subarray(from, from + own), PACKED_ID_BYTES * i + shared);
  }
  return unpackEventIds(packed);
}

/** Stored in place of the digits of an event's id in its payload. JSON has it only escaped. */
const ID_MARK = "\u0001";

/** Digits at the end of an id that a payload may repeat: those of a span. */
const MARKED_DIGITS = 16;

/** Returns a payload without the digits of its event's id; payloads of spans differ by nothing else. */
function withMark(id: EventId, data: string): string {
  const at = data.length > SHARED_CHARS_MAX ? -1 : data.indexOf(id.slice(-MARKED_DIGITS));
  return at < 0 ? data : `${data.slice(0, at)}${ID_MARK}${data.slice(at + MARKED_DIGITS)}`;
}

/** Returns the payload of {@link withMark} as it was. */
function withoutMark(id: EventId, data: string): RawJson {
  return data.replace(ID_MARK, id.slice(-MARKED_DIGITS)) as RawJson;
}

/** Characters of a payload above which nothing is shared: compression finds it there. */
const SHARED_CHARS_MAX = 1_024;

/** Returns how many characters two payloads share at their start, and at their end. */
function sharedBy(before: string, data: string): { readonly start: number; readonly end: number } {
  if (before === data) return { start: data.length, end: 0 };
  const max = data.length > SHARED_CHARS_MAX ? 0 : Math.min(before.length, data.length);
  let start = 0;
  while (start < max && before.charCodeAt(start) === data.charCodeAt(start)) start++;
  let end = 0;
  const last = (text: string) => text.charCodeAt(text.length - 1 - end);
  while (end < max - start && last(before) === last(data)) end++;
  // Half a character has no bytes.
  if (isHalf(data.charCodeAt(start - 1), FIRST_HALF)) start--;
  if (isHalf(data.charCodeAt(data.length - end), SECOND_HALF)) end--;
  return { start, end };
}

/** First code units of the halves of surrogate pairs. */
const FIRST_HALF = 0xd800, SECOND_HALF = 0xdc00;

function isHalf(code: number, from: number): boolean {
  return code >= from && code < from + 0x400;
}

/** Stored in place of a type that equals the one before. */
const SAME = 0;

/** Fields that few events have. */
type EventDetails = Pick<RunEvent, "turn" | "unreadable" | "ignored" | "flags">;

function detailsOf({ turn, unreadable, ignored, flags }: RunEvent): EventDetails {
  return { turn, unreadable, ignored, flags };
}

/**
 * Prices of a batch as stored: rows by position, and costs as differences to the one before; a cost above
 * 2^53 is a text.
 */
interface StoredPrices extends Omit<BatchPrices, "matches" | "costs"> {
  readonly matches: readonly (readonly unknown[])[];
  readonly costs: readonly (number | string)[];
}

function storedPrices(prices: BatchPrices): StoredPrices {
  let last = 0;
  const costs = prices.costs.map((cost) => {
    if (typeof cost === "bigint") return `${cost}`;
    const difference = cost - last;
    last = cost;
    return difference;
  });
  return { ...prices, matches: prices.matches.map((each) => packRecord(each, MATCH)), costs };
}

function pricesOf(stored: StoredPrices): BatchPrices {
  let last = 0;
  const costs = stored.costs.map((cost) => typeof cost === "string" ? BigInt(cost) : last += cost);
  const matches = stored.matches.map((each) => unpackRecord(each, MATCH) as unknown as RateMatch);
  return { ...stored, matches, costs };
}

/** Encodes the prices of a batch. */
export function encodePrices(prices: BatchPrices): string {
  return JSON.stringify(storedPrices(prices));
}

/** Decodes the text of {@link encodePrices}. */
export function decodePrices(text: string): BatchPrices {
  return pricesOf(JSON.parse(text));
}

/** A batch with its events. */
export interface StoredBatch {
  /** Events in the order they were sent. */
  readonly events: readonly PagedEvent[];
  readonly prices: BatchPrices;
}

/**
 * Decodes the text of {@link encodeBatch}.
 *
 * @param repriced prices from a later repricing; they replace the stored ones
 */
export function decodeBatch(text: string, repriced?: BatchPrices): StoredBatch {
  let at = text.indexOf(HEADER_END);
  const header: BatchHeader = JSON.parse(text.slice(0, at));
  const prices = repriced ?? (header.prices === undefined ? NO_PRICES : pricesOf(header.prices));
  let [type, ts, payload] = ["", 0, ""];
  let [start, end, chars] = [0, 0, 0];
  at += HEADER_END.length;
  const events = unpackIds(header.ids, header.types.length).map((id, i) => {
    const stored = header.types[i] ?? SAME;
    if (stored !== SAME) type = stored;
    ts += header.ts[i] ?? 0;
    const cut = header.cuts.slice(3 * i, 3 * i + 3);
    [start, end, chars] = [start + (cut[0] ?? 0), end + (cut[1] ?? 0), chars + (cut[2] ?? 0)];
    const own = text.slice(at, at += chars);
    payload = start + end === 0
      ? own
      : payload.slice(0, start) + own + payload.slice(payload.length - end);
    const { turn, unreadable, ignored, flags } = header.details?.[i] ?? {};
    return {
      id,
      type,
      ts,
      turn,
      unreadable,
      ignored,
      flags,
      data: withoutMark(id, payload),
      receivedAt: header.received_at,
      ...priceAt(prices, i),
    };
  });
  return { events, prices };
}

/** Returns the cost of an event from the prices of its batch. */
function priceAt(
  { matches, by, costs, twins }: BatchPrices,
  index: number,
): Pick<PagedEvent, "cost" | "pricedBy" | "twin"> {
  const price = { cost: BigInt(costs[index] ?? 0), pricedBy: matches[by[index] ?? -1] ?? null };
  const countedBy = twins?.find(([twin]) => twin === index)?.[1];
  return countedBy === undefined
    ? price
    : { cost: 0n, pricedBy: null, twin: { ...price, countedBy } };
}
const RATES = {
  input: "plain",
  output: "plain",
  cachedInput: "plain",
  cacheWrite: "plain",
} as const satisfies Record<keyof Rates, Form>;

/** Shape of a row that priced calls. Few have rates for batches, which are stored by name. */
const MATCH = storedShape(
  "match",
  {
    row: {
      id: "plain",
      source: "plain",
      provider: "plain",
      model: "plain",
      from: "plain",
      rates: RATES,
      tiers: [{ aboveInputTokens: "plain", rates: RATES }],
      batchPercent: "optional",
    } satisfies Record<keyof RateRow, Form>,
    match: "plain",
  } as const satisfies Record<Exclude<keyof RateMatch, "isBatch">, Form>,
);
