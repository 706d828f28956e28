/** One live stream: what it has told, what it is still to tell, and how it ends. */
import type { TeamId } from "../../../domain/core/ids.ts";
import type { ChangePage, RunChange } from "../../../domain/feed/changes.ts";
import {
  eventsOf,
  isFollowed,
  type LiveBatch,
  type LiveFilters,
} from "../../../domain/feed/live.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { LIVE_BUFFER_BYTES_MAX, LIVE_KEEP_ALIVE_MS } from "../../../domain/core/limits.ts";
import { changeCursor } from "./changes.ts";
import type { BytesInFlight, Flight } from "../../http/bytes_in_flight.ts";
import { runRowJson } from "../runs/run_list.ts";

/** Milliseconds between two looks whether the credential still works: a revoked one ends its stream. */
const LOOK_MS = 1_000;

/** Milliseconds a client waits before it comes back, drawn for each so that not all come at once. */
const RETRY_MS = { min: 1_000, max: 3_000 } as const;

const ENCODER = new TextEncoder();

/** A text on its way; streams that take everything share it, and then its bytes count once. */
interface SharedText {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Streams whose client has not taken it yet. */
  waiting: number;
  /** Its bytes, counted once for all of them. */
  flight: Flight | null;
}

/** Texts of batches for clients that take everything: nearly all streams share them. */
const WHOLE = new WeakMap<LiveBatch, SharedText>();

/** What a stream is made from. */
interface LiveStreamOptions {
  readonly team: TeamId;
  readonly filters: LiveFilters;
  /** Text that waits for the clients of all streams. */
  readonly waiting: BytesInFlight;
  /** Whether the client may still have the stream. */
  readonly mayGoOn: () => Promise<boolean>;
}

/** Reads the changes after one; null when the feed has not reached it. */
export type ReadPage = (after: number) => Promise<ChangePage | null>;

/** A live stream. It ends by itself when its client is gone or too slow. */
export class LiveStream {
  /** The body of the answer. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #options: LiveStreamOptions;
  readonly #held = new DisposableStack();
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  /** Text that the client has not taken yet. */
  readonly #texts: SharedText[] = [];
  #bytes = 0;
  /** Whether the client waits for text. */
  #isAsked = false;
  #onDrained = () => {};
  /** Up to which change everything is told. */
  #sentUpTo = 0;
  /** Whether batches are left to {@link catchUp}, and up to which change there were some. */
  #isBehind = true;
  #passed = 0;
  #quietMs = 0;
  #ended = false;

  /** Creates a stream that tells nothing before {@link begin}. */
  constructor(options: LiveStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#pull(),
      cancel: () => this.#drop(),
    }, { highWaterMark: 0 });
    const timer = setInterval(() => this.#look(), LOOK_MS);
    this.#held.defer(() => clearInterval(timer));
  }

  /** Lets go of something at the end of the stream, or at once when it has ended. */
  holds(resource: Disposable): void {
    if (this.#ended) resource[Symbol.dispose]();
    else this.#held.use(resource);
  }

  /** Ends the stream with a signal. */
  endsWith(signal: AbortSignal): void {
    const end = () => this.end();
    signal.addEventListener("abort", end);
    this.holds({ [Symbol.dispose]: () => signal.removeEventListener("abort", end) });
    if (signal.aborted) end();
  }

  /** Says where the stream begins; what is behind that is told by {@link catchUp}. */
  begin(after: number): void {
    this.#sentUpTo = after;
    const { min, max } = RETRY_MS;
    const retryMs = Math.round(min + Math.random() * (max - min));
    this.#send(textOf(`retry: ${retryMs}\n${placeText(after)}`));
  }

  /** Leaves everything up to a change to the feed. */
  skipTo(upTo: number): void {
    this.#sendBatch({ after: upTo, changes: [], upTo });
  }

  /**
   * Tells what the feed has up to a change, and what was handed over meanwhile. Each page is read when the
   * client has taken the one before, so that however much it is, one page of it is in memory.
   */
  async catchUp(upTo: number, read: ReadPage): Promise<void> {
    this.#passed = Math.max(this.#passed, upTo);
    try {
      while (!this.#ended && this.#sentUpTo < this.#passed) {
        const page = await read(this.#sentUpTo);
        // A ledger that was put back to an earlier state: the client comes back and begins there.
        if (page === null) return this.end();
        this.#sendBatch({ after: this.#sentUpTo, changes: page.changes, upTo: page.next });
        await this.#drained();
      }
      this.#isBehind = false;
    } catch {
      // A store that fails now may answer when the client comes back.
      this.end();
    }
  }

  /** Tells a batch, but for what is told already. */
  take(batch: LiveBatch): void {
    if (this.#isBehind) this.#passed = Math.max(this.#passed, batch.upTo);
    else this.#sendBatch(batch);
  }

  /** Ends the stream, once what was sent is on its way. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#held.dispose();
    if (this.#texts.length === 0) this.#close();
    this.#onDrained();
  }

  #sendBatch(batch: LiveBatch): void {
    if (this.#ended || batch.upTo <= this.#sentUpTo) return;
    const { filters } = this.#options;
    const isWhole = batch.after === this.#sentUpTo && Object.keys(filters).length === 0;
    const text = isWhole ? wholeOf(batch) : textOf(batchText(batch, this.#sentUpTo, filters));
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
    // A client that does not take what was sent comes back for the rest.
    if (this.#bytes >= LIVE_BUFFER_BYTES_MAX || !this.#hold(text)) this.#drop();
  }

  /** Keeps a text until the client takes it; false when too much waits already. */
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

  /** Ends the stream without what still waits. */
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

  /** Resolves when the client has taken everything, or the stream has ended. */
  #drained(): Promise<void> {
    if (this.#texts.length === 0 || this.#ended) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onDrained = resolve;
    return promise;
  }

  async #look(): Promise<void> {
    this.#quietMs += LOOK_MS;
    if (this.#quietMs >= LIVE_KEEP_ALIVE_MS) {
      this.#send(textOf(`: keep-alive\n${placeText(this.#sentUpTo)}`));
    }
    // A store that fails for a moment says nothing about the credential.
    if (!await this.#options.mayGoOn().catch(() => true)) this.end();
  }
}

/** Tells a client where it is, and nothing else: from there it goes on when it comes back. */
function placeText(number: number): string {
  return `id: ${changeCursor(number)}\n\n`;
}

function textOf(text: string): SharedText {
  return { bytes: ENCODER.encode(text), waiting: 0, flight: null };
}

function wholeOf(batch: LiveBatch): SharedText {
  const text = WHOLE.get(batch) ?? textOf(batchText(batch, batch.after, {}));
  WHOLE.set(batch, text);
  return text;
}

/** Writes a batch for a client that has everything up to a number. */
function batchText(batch: LiveBatch, sentUpTo: number, filters: LiveFilters): string {
  const left = batch.after > sentUpTo ? skippedText(sentUpTo, batch.after) : "";
  return left + batch.changes.map((change) => changeText(change, sentUpTo, filters)).join("");
}

/** What is left out because it was too much, to be read from the feed. */
function skippedText(after: number, upTo: number): string {
  const data = rawOf({ after: changeCursor(after), up_to: changeCursor(upTo) });
  return `event: changes.skipped\nid: ${changeCursor(upTo)}\ndata: ${data}\n\n`;
}

function changeText(change: RunChange, sentUpTo: number, filters: LiveFilters): string {
  if (change.kind === "deleted" || change.number <= sentUpTo) return "";
  const events = eventsOf(change, sentUpTo);
  if (events.length === 0 || !isFollowed(change.row, filters)) return "";
  const data = `data: ${runRowJson(change.row)}\n\n`;
  // The place comes with the last one: who is cut off before it gets all of them again.
  return events.map((event, i) => {
    const place = i === events.length - 1 ? `id: ${changeCursor(change.number)}\n` : "";
    return `event: ${event}\n${place}${data}`;
  }).join("");
}
