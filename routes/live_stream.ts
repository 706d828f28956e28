/** One live stream: what it has told, what it is still to tell, and how it ends. */
import type { RunChange } from "../domain/feed/changes.ts";
import { eventsOf, isFollowed, type LiveBatch, type LiveFilters } from "../domain/feed/live.ts";
import { rawOf } from "../domain/input/json.ts";
import { LIVE_BUFFER_BYTES_MAX, LIVE_KEEP_ALIVE_MS } from "../domain/limits.ts";
import { changeCursor } from "./changes.ts";
import { runRowJson } from "./run_list.ts";

/** Milliseconds between two looks whether the credential still works: a revoked one ends its stream. */
const LOOK_MS = 1_000;

/** Milliseconds a client waits before it comes back, drawn for each so that not all come at once. */
const RETRY_MS = { min: 1_000, max: 3_000 } as const;

const ENCODER = new TextEncoder();

/** Texts of batches as they are told to whoever takes everything: nearly all streams share them. */
const WHOLE = new WeakMap<LiveBatch, Uint8Array<ArrayBuffer>>();

/** A live stream. It ends by itself when its client is gone or too slow. */
export class LiveStream {
  /** The body of the answer. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #filters: LiveFilters;
  readonly #held = new DisposableStack();
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  /** Up to which change everything is told; null until it begins. */
  #told: number | null = null;
  /** Batches that came before it began. */
  #early: LiveBatch[] = [];
  #quietMs = 0;
  #ended = false;

  /**
   * A stream that tells nothing before {@link begin}.
   *
   * @param mayGoOn whether whoever asked for it may still have it
   */
  constructor(filters: LiveFilters, mayGoOn: () => Promise<boolean>) {
    this.#filters = filters;
    const strategy = {
      highWaterMark: LIVE_BUFFER_BYTES_MAX,
      size: ({ byteLength }: Uint8Array) => byteLength,
    };
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => this.end(),
    }, strategy);
    const timer = setInterval(() => this.#look(mayGoOn), LOOK_MS);
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

  /** Begins to tell what is behind a change. */
  begin(after: number): void {
    this.#told = after;
    const { min, max } = RETRY_MS;
    const retryMs = Math.round(min + Math.random() * (max - min));
    this.#send(ENCODER.encode(`retry: ${retryMs}\n${placeText(after)}`));
    const early = this.#early;
    this.#early = [];
    for (const batch of early) this.take(batch);
  }

  /** Tells a batch, but for what is told already. */
  take(batch: LiveBatch): void {
    if (this.#told === null) return void this.#early.push(batch);
    if (batch.upTo <= this.#told) return;
    const isWhole = batch.after === this.#told && Object.keys(this.#filters).length === 0;
    const bytes = isWhole
      ? wholeOf(batch)
      : ENCODER.encode(batchText(batch, this.#told, this.#filters));
    this.#told = batch.upTo;
    if (bytes.length > 0) this.#send(bytes);
  }

  /** Ends the stream, once what was sent is on its way. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#held.dispose();
    this.#early = [];
    try {
      this.#controller.close();
    } catch {
      // The client closed it first.
    }
  }

  #send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#ended) return;
    // Whoever does not take what was sent comes back for the rest.
    if ((this.#controller.desiredSize ?? 0) <= 0) return this.end();
    this.#controller.enqueue(bytes);
    this.#quietMs = 0;
  }

  async #look(mayGoOn: () => Promise<boolean>): Promise<void> {
    this.#quietMs += LOOK_MS;
    if (this.#quietMs >= LIVE_KEEP_ALIVE_MS && this.#told !== null) {
      this.#send(ENCODER.encode(`: keep-alive\n${placeText(this.#told)}`));
    }
    // A store that fails for a moment says nothing about the credential.
    if (!await mayGoOn().catch(() => true)) this.end();
  }
}

/** Tells a client where it is, and nothing else: from there it goes on when it comes back. */
function placeText(number: number): string {
  return `id: ${changeCursor(number)}\n\n`;
}

function wholeOf(batch: LiveBatch): Uint8Array<ArrayBuffer> {
  const known = WHOLE.get(batch) ?? ENCODER.encode(batchText(batch, batch.after, {}));
  WHOLE.set(batch, known);
  return known;
}

/** A batch as somebody is told it who knows everything up to a number. */
function batchText(batch: LiveBatch, told: number, filters: LiveFilters): string {
  const left = batch.after > told ? skippedText(told, batch.after) : "";
  return left + batch.changes.map((change) => changeText(change, told, filters)).join("");
}

/** What is left out because it was too much, to be read from the feed. */
function skippedText(after: number, upTo: number): string {
  const data = rawOf({ after: changeCursor(after), up_to: changeCursor(upTo) });
  return `event: changes.skipped\nid: ${changeCursor(upTo)}\ndata: ${data}\n\n`;
}

function changeText(change: RunChange, told: number, filters: LiveFilters): string {
  if (change.kind === "deleted" || change.number <= told) return "";
  const events = eventsOf(change, told);
  if (events.length === 0 || !isFollowed(change.row, filters)) return "";
  const data = `data: ${runRowJson(change.row)}\n\n`;
  // The place comes with the last one: who is cut off before it gets all of them again.
  return events.map((event, i) => {
    const place = i === events.length - 1 ? `id: ${changeCursor(change.number)}\n` : "";
    return `event: ${event}\n${place}${data}`;
  }).join("");
}
