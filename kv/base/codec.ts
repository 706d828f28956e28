/**
 * Stored text of a run's parts: JSON that contains users' payloads exactly as they were sent.
 *
 * Compact records are stored by position instead of by name. A shape lists the fields in their order;
 * fields that it does not list are stored by name, so a new field is never lost.
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

/**
 * The stored form of a field's value: `plain` JSON, `optional` plain JSON that is never null, `big`
 * for a bigint, as a number where that is exact, or a record of another shape, or a list of them.
 */
export type Form = "plain" | "optional" | "big" | Shape | readonly [Shape];

/** The fields of a record, by name. */
export interface Shape {
  readonly [name: string]: Form;
}

declare const STORED: unique symbol;

/** A shape of stored records, as {@link storedShape} returns it. */
export type StoredShape<Fields extends Shape = Shape> = Fields & { readonly [STORED]: true };

/** All shapes of stored records by name: the test of the format compares them (R21). */
export const STORED_SHAPES = new Map<string, Shape>();

/** Names a shape of stored records. Only such a shape is packed, so none is left out of the test. */
export function storedShape<Fields extends Shape>(
  name: string,
  shape: Fields,
): StoredShape<Fields> {
  STORED_SHAPES.set(name, shape);
  return shape as StoredShape<Fields>;
}

/** Stored in place of an absent record. */
const ABSENT = 0;

type Fields = Record<string, unknown>;

/** The fields of a shape, to iterate over and to look up. */
interface Layout {
  readonly names: readonly string[];
  readonly forms: readonly Form[];
  readonly all: ReadonlySet<string>;
}

const layouts = new WeakMap<Shape, Layout>();

function layoutOf(shape: Shape): Layout {
  let layout = layouts.get(shape);
  if (layout === undefined) {
    const names = Object.keys(shape);
    layout = { names, forms: Object.values(shape), all: new Set(names) };
    layouts.set(shape, layout);
  }
  return layout;
}

/** Returns the values of a record in the order of its shape; then the other fields, if any. */
export const packRecord: (record: object, shape: StoredShape) => unknown[] = packFields;

function packFields(record: object, shape: Shape): unknown[] {
  const { names, forms, all } = layoutOf(shape);
  const fields = record as Fields;
  // A list that grows by `push` has room for 17 values, and a summary has a dozen such lists.
  const packed = new Array<unknown>(names.length);
  for (let i = 0; i < names.length; i++) {
    packed[i] = packValue(fields[names[i] as string], forms[i] as Form);
  }
  let others: Fields | null = null;
  for (const name in fields) {
    if (all.has(name) || fields[name] === undefined) continue;
    others ??= {};
    others[name] = fields[name];
  }
  if (others !== null) packed.push(others);
  return packed;
}

function packValue(value: unknown, form: Form): unknown {
  if (form === "big") return packBig(value as bigint);
  if (typeof form === "string") return value ?? null;
  if (value === undefined) return ABSENT;
  if (value === null) return null;
  if (!Array.isArray(form)) return packFields(value, form as Shape);
  const [shape] = form as readonly [Shape];
  return (value as readonly object[]).map((each) => packFields(each, shape));
}

/** Restores a record from its parsed JSON. */
export const unpackRecord: (packed: readonly unknown[], shape: StoredShape) => Fields =
  unpackFields;

function unpackFields(packed: readonly unknown[], shape: Shape): Fields {
  const { names, forms } = layoutOf(shape);
  const fields: Fields = {};
  for (let i = 0; i < names.length; i++) {
    const value = unpackValue(packed[i], forms[i] as Form);
    if (value !== undefined) fields[names[i] as string] = value;
  }
  return Object.assign(fields, packed[names.length]);
}

function unpackValue(value: unknown, form: Form): unknown {
  if (form === "plain") return value;
  if (form === "optional") return value ?? undefined;
  if (form === "big") return BigInt(value as number | string);
  if (value === ABSENT) return undefined;
  if (value === null) return null;
  if (!Array.isArray(form)) return unpackFields(value as unknown[], form as Shape);
  const [shape] = form as readonly [Shape];
  return (value as readonly unknown[][]).map((each) => unpackFields(each, shape));
}

function packBig(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : `${value}`;
}
