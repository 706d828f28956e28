/** One live stream: its position in the feed, its buffered text, and its end. */
import type { TeamId } from "../../../domain/core/ids.ts";
import {
  type ChangePage,
  eventsOf,
  isFollowed,
  type LiveBatch,
  type LiveChange,
  type LiveFilters,
} from "../../../domain/feed/changes.ts";
import { LIVE_BUFFER_BYTES_MAX } from "../../../domain/core/limits.ts";
import { changeCursor, skippedChanges } from "./changes.ts";
import type { BytesInFlight, Flight } from "../../http/bytes_in_flight.ts";
import { runRow } from "../runs/run_json.ts";

/** Milliseconds between two checks of the credential: a stream ends when its credential is revoked. */
const CHECK_MS = 1_000;

/** Milliseconds before a client reconnects, random so that clients do not reconnect together. */
const RETRY_MS = { min: 1_000, max: 3_000 } as const;

const ENCODER = new TextEncoder();

/** A text in flight. Streams without filters share it, so that its bytes count once. */
interface SharedText {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of streams whose client has not read the text yet. */
  waiting: number;
  /** The counted bytes, once for all streams. */
  flight: Flight | null;
}

/** Texts of batches for streams without filters, which nearly all streams share. */
const WHOLE = new WeakMap<LiveBatch, SharedText>();

interface LiveStreamOptions {
  readonly team: TeamId;
  readonly filters: LiveFilters;
  /** Counter of the text buffered for all streams. */
  readonly waiting: BytesInFlight;
  /** Milliseconds between keep-alive messages. */
  readonly keepAliveMs: number;
  /** Returns whether the client is still authorized. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** Reads the changes after a number; null when the feed has not reached it. */
export type ReadPage = (after: number) => Promise<ChangePage | null>;

/** A live stream. It ends when its client disconnects or is too slow. */
export class LiveStream {
  /** Body of the response. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #options: LiveStreamOptions;
  readonly #resources = new DisposableStack();
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  /** Text that the client has not read yet. */
  readonly #texts: SharedText[] = [];
  #bytes = 0;
  /** True while the client waits for text. */
  #isAsked = false;
  #onDrained = () => {};
  /** Number of the change after which the stream begins. */
  #begunAfter = 0;
  /** Number of the last change sent. */
  #sentUpTo = 0;
  /** True while {@link catchUp} runs; it then also sends the changes of new batches. */
  #isBehind = true;
  /** Number of the last change that {@link catchUp} has to send. */
  #passed = 0;
  #quietMs = 0;
  #ended = false;

  /** Creates a stream that sends nothing before {@link begin}. */
  constructor(options: LiveStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#pull(),
      cancel: () => this.#drop(),
    }, { highWaterMark: 0 });
    const timer = setInterval(() => this.#check(), CHECK_MS);
    this.#resources.defer(() => clearInterval(timer));
  }

  /** Disposes of a resource when the stream ends, or immediately if it has ended. */
  holds(resource: Disposable): void {
    if (this.#ended) resource[Symbol.dispose]();
    else this.#resources.use(resource);
  }

  /** Ends the stream when a signal aborts. */
  endsWith(signal: AbortSignal): void {
    const end = () => this.end();
    signal.addEventListener("abort", end);
    this.holds({ [Symbol.dispose]: () => signal.removeEventListener("abort", end) });
    if (signal.aborted) end();
  }

  /** Sends the starting position; {@link catchUp} sends the changes after it. */
  begin(after: number): void {
    this.#begunAfter = this.#sentUpTo = after;
    const { min, max } = RETRY_MS;
    const retryMs = Math.round(min + Math.random() * (max - min));
    this.#send(textOf(`retry: ${retryMs}\n${positionText(after)}`));
  }

  /** Skips all changes up to a number; the client reads them from the feed. */
  skipTo(upTo: number): void {
    this.#sendBatch({ after: upTo, changes: [], upTo });
  }

  /**
   * Sends the changes of the feed up to a number, and those of batches that arrive meanwhile. Each page is
   * read when the client has read the previous one, so that one page is in memory.
   */
  async catchUp(upTo: number, read: ReadPage): Promise<void> {
    this.#passed = Math.max(this.#passed, upTo);
    try {
      while (!this.#ended && this.#sentUpTo < this.#passed) {
        const page = await read(this.#sentUpTo);
        // The store was restored to an earlier state: the client reconnects and starts from there.
        if (page === null) return this.end();
        this.#sendBatch({ after: this.#sentUpTo, changes: page.changes, upTo: page.next });
        await this.#drained();
      }
      this.#isBehind = false;
    } catch {
      // The store failed; it may respond again when the client reconnects.
      this.end();
    }
  }

  /** Sends the changes of a batch that are not sent yet. */
  take(batch: LiveBatch): void {
    if (this.#isBehind) this.#passed = Math.max(this.#passed, batch.upTo);
    else this.#sendBatch(batch);
  }

  /** Ends the stream after its buffered text. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#resources.dispose();
    if (this.#texts.length === 0) this.#close();
    this.#onDrained();
  }

  #sendBatch(batch: LiveBatch): void {
    if (this.#ended || batch.upTo <= this.#sentUpTo) return;
    const { filters } = this.#options;
    const { eventsAfter = batch.after } = batch;
    const isWhole = batch.after === this.#sentUpTo && this.#begunAfter <= eventsAfter &&
      Object.keys(filters).length === 0;
    const sent = { sentUpTo: this.#sentUpTo, begunAfter: this.#begunAfter };
    const text = isWhole ? wholeOf(batch) : textOf(batchText(batch, sent, filters));
    this.#sentUpTo = batch.upTo;
    if (text.bytes.length > 0) this.#send(text);
  }

  #send(text: SharedText): void {
    if (this.#ended) return;
    this.#quietMs = 0;
    if (this.#isAsked) {
      this.#isAsked = false;
      this.#controller.enqueue(text.bytes);
      return;
    }
    // A slow client is disconnected; it reconnects and continues from its last position.
    if (this.#bytes >= LIVE_BUFFER_BYTES_MAX || !this.#hold(text)) this.#drop();
  }

  /** Buffers a text until the client reads it; false when too much is buffered already. */
  #hold(text: SharedText): boolean {
    const { waiting, team } = this.#options;
    if (text.waiting === 0) {
      const flight = waiting.begin(team, () => {});
      if (!flight.take(text.bytes.length)) return false;
      flight.keep();
      text.flight = flight;
    }
    text.waiting++;
    this.#texts.push(text);
    this.#bytes += text.bytes.length;
    return true;
  }

  #release(text: SharedText): void {
    if (--text.waiting === 0) text.flight?.[Symbol.dispose]();
    this.#bytes -= text.bytes.length;
  }

  #pull(): void {
    const text = this.#texts.shift();
    if (text === undefined) {
      this.#isAsked = true;
      return;
    }
    this.#controller.enqueue(text.bytes);
    this.#release(text);
    if (this.#texts.length > 0) return;
    if (this.#ended) this.#close();
    this.#onDrained();
  }

  /** Ends the stream without its buffered text. */
  #drop(): void {
    for (const text of this.#texts.splice(0)) this.#release(text);
    if (this.#ended) this.#close();
    else this.end();
  }

  #close(): void {
    try {
      this.#controller.close();
    } catch {
      // The client closed it first.
    }
  }

  /** Resolves when the client has read everything, or the stream has ended. */
  #drained(): Promise<void> {
    if (this.#texts.length === 0 || this.#ended) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onDrained = resolve;
    return promise;
  }

  async #check(): Promise<void> {
    this.#quietMs += CHECK_MS;
    if (this.#quietMs >= this.#options.keepAliveMs) {
      this.#send(textOf(`: keep-alive\n${positionText(this.#sentUpTo)}`));
    }
    // A failed check does not end the stream: the store may be unavailable for a moment.
    if (!await this.#options.mayGoOn().catch(() => true)) this.end();
  }
}

/** Writes an event with a position only, from which the client continues when it reconnects. */
function positionText(number: number): string {
  return `id: ${changeCursor(number)}\n\n`;
}

function textOf(text: string): SharedText {
  return { bytes: ENCODER.encode(text), waiting: 0, flight: null };
}

function wholeOf(batch: LiveBatch): SharedText {
  const { after, eventsAfter = after } = batch;
  const sent = { sentUpTo: after, begunAfter: eventsAfter };
  const text = WHOLE.get(batch) ?? textOf(batchText(batch, sent, {}));
  WHOLE.set(batch, text);
  return text;
}

/** Numbers of the change after which a stream begins, and of the last one that it has sent. */
interface Sent {
  readonly begunAfter: number;
  readonly sentUpTo: number;
}

/** Writes the changes of a batch that a stream has not sent. */
function batchText(batch: LiveBatch, sent: Sent, filters: LiveFilters): string {
  const skipped = batch.after > sent.sentUpTo ? skippedText(sent.sentUpTo, batch.after) : "";
  return skipped + batch.changes.map((change) => changeText(change, sent, filters)).join("");
}

/** Writes the event for skipped changes, which the client reads from the feed. */
function skippedText(after: number, upTo: number): string {
  const data = skippedChanges.write({ after, upTo });
  return `event: changes.skipped\nid: ${changeCursor(upTo)}\ndata: ${data}\n\n`;
}

function changeText(change: LiveChange, { begunAfter, sentUpTo }: Sent, filters: LiveFilters) {
  if (change.kind === "deleted" || change.number <= sentUpTo) return "";
  const events = eventsOf(change, Math.max(begunAfter, change.eventsAfter ?? sentUpTo));
  if (events.length === 0 || !isFollowed(change.row, filters)) return "";
  const data = `data: ${runRow.write(change.row)}\n\n`;
  // Only the last event has the position: a client that is cut off before it gets all of them again.
  return events.map((event, i) => {
    const position = i === events.length - 1 ? `id: ${changeCursor(change.number)}\n` : "";
    return `event: ${event}\n${position}${data}`;
  }).join("");
}
