/**
 * The stored text of a run's parts: JSON in which users' payloads stand as they were sent.
 *
 * @module
 */
import type { EventId } from "../../domain/core/ids.ts";
import { rawElements, type RawJson, rawMembers, rawOf } from "../../domain/core/raw_json.ts";
import type { PagedEvent } from "../../domain/runs/event_page.ts";
import type { EventFlag, RunEvent } from "../../domain/runs/event.ts";
import { type BatchPrices, NO_PRICES } from "../../domain/pricing/price_events.ts";
import type { Closing, Opening, Reported } from "../../domain/runs/run.ts";

/** Writes an opening or a close. */
export function encodePart(part: Opening | Closing): string {
  const { output, reported } = part;
  if (output === undefined && reported === undefined) return `{"fields":${JSON.stringify(part)}}`;
  const fields = JSON.stringify({ ...part, output: undefined, reported: undefined });
  const told = reported === undefined ? "" : `,"reported":${encodeReported(reported)}`;
  return `{"fields":${fields}${told}${output === undefined ? "" : `,"output":${output}`}}`;
}

function encodeReported(reported: Reported): string {
  const { cost, price } = reported;
  return JSON.stringify({
    ...reported,
    cost: cost?.toString(),
    price: price === undefined ? undefined : { ...price, cost: price.cost.toString() },
  });
}

/** Reads what {@link encodePart} wrote. */
export function decodePart<Part extends Opening | Closing>(text: string): Part {
  const members = rawMembers(text);
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

/** Writes a batch of events with its arrival and its prices. */
export function encodeBatch(
  events: readonly RunEvent[],
  receivedAt: number,
  prices: BatchPrices,
): string {
  // Ids and numbers need no escaping; writing them out is three times as fast as building objects.
  const parts = [`{"received_at":${receivedAt},"events":[`];
  let comma = "";
  let lastType: string | null = null;
  let typeText = "";
  for (const { id, type, ts, turn, data, unreadable, flags } of events) {
    if (type !== lastType) [lastType, typeText] = [type, rawOf(type)];
    const inTurn = turn === undefined ? "" : `"turn":${turn},`;
    const odd = flags === undefined ? "" : encodeOddities(unreadable, flags);
    parts.push(
      `${comma}{"id":"${id}","type":${typeText},"ts":${ts},${inTurn}${odd}"data":`,
      data,
      "}",
    );
    comma = ",";
  }
  parts.push(prices.matches.length === 0 ? "]}" : `],"prices":${encodePrices(prices)}}`);
  return parts.join("");
}

/** Writes what could not be read of an event, and what its run shows of it. */
function encodeOddities(unreadable: RunEvent["unreadable"], flags: RunEvent["flags"]): string {
  const names = unreadable === undefined ? "" : `"unreadable":${rawOf(unreadable)},`;
  return `${names}"flags":${rawOf(flags)},`;
}

/** Writes the prices of a batch; costs that pass 2^53 stand as text. */
export function encodePrices(prices: BatchPrices): string {
  return JSON.stringify(prices, (_, value) => typeof value === "bigint" ? String(value) : value);
}

/** Reads what {@link encodePrices} wrote. */
export function decodePrices(text: string): BatchPrices {
  const stored = JSON.parse(text);
  const costs = stored.costs.map((cost: number | string) =>
    typeof cost === "string" ? BigInt(cost) : cost
  );
  return { ...stored, costs };
}

/** A batch as stored. */
export interface StoredBatch {
  /** Its events in sent order. */
  readonly events: readonly PagedEvent[];
  /** What they cost. */
  readonly prices: BatchPrices;
}

/**
 * Reads what {@link encodeBatch} wrote.
 *
 * @param repriced its prices since it was priced anew, in the place of those it was stored with
 */
export function decodeBatch(text: string, repriced?: BatchPrices): StoredBatch {
  const members = rawMembers(text);
  const receivedAt = Number(members.get("received_at"));
  const priced = members.get("prices");
  const prices = repriced ?? (priced === undefined ? NO_PRICES : decodePrices(priced));
  const events = rawElements(members.get("events") ?? "[]").map((raw, i) => {
    const event = rawMembers(raw);
    const turn = event.get("turn");
    return {
      id: JSON.parse(event.get("id") ?? "") as EventId,
      type: JSON.parse(event.get("type") ?? ""),
      ts: Number(event.get("ts")),
      turn: turn === undefined ? undefined : Number(turn),
      unreadable: listOf<string>(event.get("unreadable")),
      flags: listOf<EventFlag>(event.get("flags")),
      data: event.get("data") ?? ("{}" as RawJson),
      receivedAt,
      ...priceAt(prices, i),
    };
  });
  return { events, prices };
}

function listOf<Item>(text: string | undefined): readonly Item[] | undefined {
  return text === undefined ? undefined : JSON.parse(text);
}

/** What an event cost by the prices of its batch. */
function priceAt(
  { matches, by, costs }: BatchPrices,
  index: number,
): Pick<PagedEvent, "cost" | "pricedBy"> {
  return { cost: BigInt(costs[index] ?? 0), pricedBy: matches[by[index] ?? -1] ?? null };
}
