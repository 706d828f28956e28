/**
 * One page of a run's events, collected from its batches without holding more than the page in
 * memory.
 *
 * @module
 */
import type { EventId } from "../core/ids.ts";
import { utf8Bytes } from "../core/raw_json.ts";
import { ownText } from "../core/text.ts";
import { EVENTS_PAGE_BYTES_MAX } from "../core/limits.ts";
import type { BatchEntry } from "./ledger.ts";
import type { RunEvent } from "./event.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RateMatch } from "../pricing/rates.ts";
import type { StoredRun } from "./record.ts";

/** Start of a batch. None of its events sorts before its earliest instant and its number. */
export type BatchStart = Pick<EventPosition, "ts" | "batch">;

/** A batch with its number. */
export interface NumberedBatch extends BatchEntry {
  /** Number of the batch, from 0. */
  readonly batch: number;
}

/** Upper bound of an event's bytes on a page, excluding its payload, type, ignored fields and rate row. */
const ENVELOPE_BYTES = 300;

interface Kept {
  event: PositionedEvent;
  readonly bytes: number;
}

/**
 * Collects the first events after a position, by `ts`, then arrival: at most `limit`, at most 1
 * MiB, at least one if there is any. Batches may be added in any order.
 */
export class EventPage {
  readonly #after: EventPosition | null;
  readonly #limit: number;
  /** The page in order, plus one further event as soon as there is one. */
  readonly #kept: Kept[] = [];
  #bytes = 0;

  /** Creates a page that starts after a position; null for the first page. */
  constructor(after: EventPosition | null, limit: number) {
    this.#after = after;
    this.#limit = limit;
  }

  /** Adds the events of a batch that belong to the page so far. */
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

  /**
   * Returns whether the page is final: no batch that starts at this point or later can change it.
   */
  isFinalBefore({ ts, batch }: BatchStart): boolean {
    if (!this.#isFull) return false;
    const last = this.#kept.at(-2)?.event.position;
    return last !== undefined && (last.ts - ts || last.batch - batch) < 0;
  }

  /** Returns the page, and the position after which the next page starts. */
  result(): EventsPage {
    const events = this.#kept.map(({ event }) => event);
    if (this.#isFull) events.pop();
    return { events, next: this.#isFull ? events.at(-1)?.position ?? null : null };
  }

  /** True if the last event held lies beyond the page. */
  get #isFull(): boolean {
    const count = this.#kept.length;
    return count > this.#limit || (count > 1 && this.#bytes > EVENTS_PAGE_BYTES_MAX);
  }

  /** Returns whether the page ends before the second-to-last event. */
  #isLastUnneeded(): boolean {
    const count = this.#kept.length;
    if (count > this.#limit + 1) return true;
    return count > 2 && this.#bytes - (this.#kept.at(-1)?.bytes ?? 0) > EVENTS_PAGE_BYTES_MAX;
  }
}

/** Compares two positions for sorting: by `ts`, then arrival. */
export function comparePositions(a: EventPosition, b: EventPosition): number {
  return a.ts - b.ts || a.batch - b.batch || a.index - b.index;
}

/** Returns an upper bound of an event's bytes in a response. */
function bytesOf({ data, type, ignored = [], pricedBy }: PositionedEvent): number {
  const id = pricedBy === null ? 0 : utf8Bytes(JSON.stringify(pricedBy.row.id));
  const texts = utf8Bytes(JSON.stringify(type)) + JSON.stringify(ignored).length;
  return ENVELOPE_BYTES + utf8Bytes(data) + texts + id;
}

/**
 * Copies a payload out of its batch, so a page of small events does not retain a thousand large
 * batches.
 */
function ownEvent(event: PositionedEvent): PositionedEvent {
  return { ...event, data: ownText(event.data) };
}

/** Position at which a page of events ends: by `ts`, then arrival (decisions, section 6). */
export interface EventPosition {
  /** Instant of the last event, unix milliseconds. */
  readonly ts: number;
  /** Number of its batch. */
  readonly batch: number;
  /** Index of the event in the batch. */
  readonly index: number;
}

/** An event as returned on a page of a run. */
export interface PagedEvent extends Omit<RunEvent, "facts" | "score"> {
  /** Arrival of its batch, unix milliseconds. */
  readonly receivedAt: number;
  /** Cost in picodollars. */
  readonly cost: Picodollars;
  /** Rate row that priced it, with its rates at the time; null for an event without a price. */
  readonly pricedBy: RateMatch | null;
  /**
   * Present for a call that is counted where another instrumentation told it: its cost is then 0, and
   * this is the price that it would have. Absent for all other events.
   */
  readonly twin?: Pick<PagedEvent, "cost" | "pricedBy"> & {
    /** Event that counts the call. */
    readonly countedBy: EventId;
  };
}

/** An event with its position among the run's events. */
export interface PositionedEvent extends PagedEvent {
  /** Position of the event; the next page starts after it. */
  readonly position: EventPosition;
}

/** One page of a run's events. */
export interface EventsPage {
  /** Events by `ts`, then arrival. */
  readonly events: readonly PositionedEvent[];
  /** Position after which the next page starts; null at the end. */
  readonly next: EventPosition | null;
}

/** A page of events with the position that it follows; null for the first page. */
export interface PlacedPage extends EventsPage {
  /** Position that it follows. */
  readonly after: EventPosition | null;
}

/** A stored run with one page of its events. */
export type RunPage = StoredRun & EventsPage;

/**
 * A run as it was stored when it was found, and reads of its events. They have no event that
 * arrived later; those removed since are missing.
 */
export interface RunHandle extends StoredRun {
  /** Reads at most `limit` events after a position. */
  page(after: EventPosition | null, limit: number): Promise<EventsPage>;
  /** Reads the last events, about `count` and not more. */
  last(count: number): Promise<PlacedPage>;
}
