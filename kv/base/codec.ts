/**
 * Stored text of a run's parts: JSON that contains users' payloads exactly as they were sent.
 *
 * @module
 */
import { type RawJson, rawMembers, rawOf } from "../../domain/core/raw_json.ts";
import { packEventIds, unpackEventIds } from "../../domain/runs/event_ids.ts";
import type { PagedEvent } from "../../domain/runs/event_page.ts";
import type { RunEvent } from "../../domain/runs/event.ts";
import { type BatchPrices, NO_PRICES } from "../../domain/pricing/price.ts";
import type { Closing, Opening, Reported, RunParts } from "../../domain/runs/run.ts";

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
  /** Packed ids in Base64. */
  readonly ids: string;
  readonly types: readonly (string | typeof SAME)[];
  /** Instants as differences to the event before. */
  readonly ts: readonly number[];
  readonly details?: readonly EventDetails[];
  readonly prices?: StoredPrices;
  /**
   * Three counts of characters a payload: those at its start and at its end that the one before has too,
   * and those between, which follow the header.
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
  let hasDetails = false;
  for (const { type, ts, turn, data, flags } of events) {
    types.push(type === lastType ? SAME : type);
    instants.push(ts - lastTs);
    const { start, end } = sharedBy(lastData, data);
    cuts.push(start, end, data.length - start - end);
    texts.push(start + end === 0 ? data : data.slice(start, data.length - end));
    hasDetails ||= turn !== undefined || flags !== undefined;
    [lastType, lastTs, lastData] = [type, ts, data];
  }
  const header: BatchHeader = {
    received_at: receivedAt,
    ids: packEventIds(events.map(({ id }) => id)).toBase64(),
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

/** Characters of a payload above which nothing is shared: compression finds it there. */
const SHARED_CHARS_MAX = 1_024;

/** Returns how many characters two payloads share at their start, and at their end. */
function sharedBy(before: string, data: string): { readonly start: number; readonly end: number } {
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

/** Prices of a batch as stored: costs above 2^53 are texts. */
interface StoredPrices extends Omit<BatchPrices, "costs"> {
  readonly costs: readonly (number | string)[];
}

function storedPrices(prices: BatchPrices): StoredPrices {
  return {
    ...prices,
    costs: prices.costs.map((cost) => typeof cost === "bigint" ? `${cost}` : cost),
  };
}

function pricesOf(stored: StoredPrices): BatchPrices {
  const costs = stored.costs.map((cost) => typeof cost === "string" ? BigInt(cost) : cost);
  return { ...stored, costs };
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
  at += HEADER_END.length;
  const events = unpackEventIds(Uint8Array.fromBase64(header.ids)).map((id, i) => {
    const stored = header.types[i] ?? SAME;
    if (stored !== SAME) type = stored;
    ts += header.ts[i] ?? 0;
    const [start = 0, end = 0, chars = 0] = header.cuts.slice(3 * i, 3 * i + 3);
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
      data: payload as RawJson,
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
