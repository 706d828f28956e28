/**
 * One page of a run's events, gathered from its batches without keeping more than the page.
 *
 * @module
 */
import { utf8Bytes } from "../core/raw_json.ts";
import { ownText } from "../core/text.ts";
import { EVENTS_PAGE_BYTES_MAX } from "../core/limits.ts";
import type { BatchEntry } from "./ledger.ts";
import type { RunEvent } from "./event.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RateMatch } from "../pricing/rates.ts";
import type { StoredRun } from "./record.ts";

/** Where a batch begins: none of its events comes before its earliest instant and its number. */
export type BatchStart = Pick<EventPosition, "ts" | "batch">;

/** A batch by its number. */
export interface NumberedBatch extends BatchEntry {
  /** Its number. */
  readonly batch: number;
}

/** Bytes that an event takes on a page besides its payload, its type and what priced it; from above. */
const ENVELOPE_BYTES = 300;

interface Kept {
  event: PositionedEvent;
  readonly bytes: number;
}

/**
 * Gathers the first events behind a position, by `ts`, then arrival: at most `limit`, at most 1 MiB, at
 * least one where there is any. Batches may come in any order.
 */
export class EventPage {
  readonly #after: EventPosition | null;
  readonly #limit: number;
  /** The page in order, and one event more as soon as there is one. */
  readonly #kept: Kept[] = [];
  #bytes = 0;

  /** Begins a page behind a position; null for the first page. */
  constructor(after: EventPosition | null, limit: number) {
    this.#after = after;
    this.#limit = limit;
  }

  /** Takes over the events of a batch that belong to the page so far. */
  add(events: readonly PositionedEvent[]): void {
    const added: Kept[] = [];
    const end = this.#isFull ? this.#kept.at(-1)?.event.position : undefined;
    for (const event of events) {
      const { position } = event;
      if (this.#after !== null && comparePositions(position, this.#after) <= 0) continue;
      if (end !== undefined && comparePositions(position, end) >= 0) continue;
      const kept = { event, bytes: bytesOf(event) };
      added.push(kept);
      this.#kept.push(kept);
      this.#bytes += kept.bytes;
    }
    if (added.length === 0) return;
    this.#kept.sort((a, b) => comparePositions(a.event.position, b.event.position));
    while (this.#isLastUnneeded()) this.#bytes -= this.#kept.pop()?.bytes ?? 0;
    const last = this.#kept.at(-1)?.event.position;
    for (const kept of added) {
      const isKept = last !== undefined && comparePositions(kept.event.position, last) <= 0;
      if (isKept) kept.event = ownEvent(kept.event);
    }
  }

  /** Returns whether no event of a batch that begins there or later changes the page. */
  isSettledBefore({ ts, batch }: BatchStart): boolean {
    if (!this.#isFull) return false;
    const last = this.#kept.at(-2)?.event.position;
    return last !== undefined && (last.ts - ts || last.batch - batch) < 0;
  }

  /** Returns the page, and where the next one starts after. */
  result(): Pick<RunPage, "events" | "next"> {
    const events = this.#kept.map(({ event }) => event);
    if (this.#isFull) events.pop();
    return { events, next: this.#isFull ? events.at(-1)?.position ?? null : null };
  }

  /** Whether the last event kept is one behind the page. */
  get #isFull(): boolean {
    const count = this.#kept.length;
    return count > this.#limit || (count > 1 && this.#bytes > EVENTS_PAGE_BYTES_MAX);
  }

  /** Whether the page ends before the last event but one. */
  #isLastUnneeded(): boolean {
    const count = this.#kept.length;
    if (count > this.#limit + 1) return true;
    return count > 2 && this.#bytes - (this.#kept.at(-1)?.bytes ?? 0) > EVENTS_PAGE_BYTES_MAX;
  }
}

/** Compares two positions for a sort: by `ts`, then arrival. */
export function comparePositions(a: EventPosition, b: EventPosition): number {
  return a.ts - b.ts || a.batch - b.batch || a.index - b.index;
}

/** Bytes of an event on a page as clients get it, from above. */
function bytesOf({ data, type, pricedBy }: PositionedEvent): number {
  const id = pricedBy === null ? 0 : utf8Bytes(JSON.stringify(pricedBy.row.id));
  return ENVELOPE_BYTES + utf8Bytes(data) + utf8Bytes(JSON.stringify(type)) + id;
}

/** Copies a payload out of its batch: a page of small events must not keep a thousand large batches. */
function ownEvent(event: PositionedEvent): PositionedEvent {
  return { ...event, data: ownText(event.data) };
}

/** Where a page of events ends: by `ts`, then arrival (decisions, section 6). */
export interface EventPosition {
  /** Instant of the last event, unix milliseconds. */
  readonly ts: number;
  /** Number of its batch. */
  readonly batch: number;
  /** Its place in the batch. */
  readonly index: number;
}

/** An event as a page of a run shows it. */
export interface PagedEvent extends Omit<RunEvent, "facts" | "score"> {
  /** Arrival of its batch, unix milliseconds. */
  readonly receivedAt: number;
  /** What it cost. */
  readonly cost: Picodollars;
  /** The row that priced it, with its rates at the time; null for what has no price. */
  readonly pricedBy: RateMatch | null;
}

/** An event in its place among the run's. */
export interface PositionedEvent extends PagedEvent {
  /** Where it stands: the events behind it come on the page after this position. */
  readonly position: EventPosition;
}

/** A run read back, with one page of its events. */
export interface RunPage extends StoredRun {
  /** Events by `ts`, then arrival. */
  readonly events: readonly PositionedEvent[];
  /** Where the next page starts after, or null at the end. */
  readonly next: EventPosition | null;
  /** A place near the end of its events, if one was asked for; null where all are behind it. */
  readonly nearEnd: EventPosition | null;
}
