/**
 * Buffered output of the process: the request log and the messages on standard error.
 *
 * Lines are buffered briefly and written together, because one write per line takes longer than the
 * request it describes. Writes are asynchronous: a reader that stops or disconnects, or a full
 * disk, does not block the process. The buffer is bounded in bytes. Lines beyond it are dropped and
 * counted, and the log reports them once it can be written again.
 *
 * @module
 */
import { endsWithin } from "../runtime/deadlines.ts";
import { counter, type MetricFamily } from "../runtime/metrics.ts";

/** Maximum milliseconds to flush when the process ends. */
export const FLUSH_MS_MAX = 500;

/** Maximum milliseconds a line is buffered. */
const BUFFER_MS = 20;

/** Buffered characters that trigger an immediate write. */
const BUFFER_CHARS_MAX = 65_536;

/** Maximum UTF-8 bytes per unit of a string's length. */
const BYTES_PER_CHAR_MAX = 3;

const LINE_END = 10;

/** Destination of lines. */
export type Sink = Pick<typeof Deno.stdout, "write">;

/** A line log on an output stream of the process. */
export class LineLog {
  readonly #sink: Sink;
  readonly #bytesMax: number;
  #buffered = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Encoded buffers waiting to be written. */
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #writing: Promise<void> | null = null;
  /** True if the last write may lack a line end. */
  #isBroken = false;
  #dropped = 0;
  /** Number of dropped lines already reported in the log. */
  #reported = 0;

  /**
   * Creates a log.
   *
   * @param bytesMax maximum bytes waiting to be written
   */
  constructor(sink: Sink, bytesMax: number) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
  }

  /** Upper bound of the bytes waiting to be written. */
  get bytes(): number {
    return this.#queuedBytes + this.#buffered.length * BYTES_PER_CHAR_MAX;
  }

  /** Queues a line, or drops it if the buffer is full. */
  readonly write = (line: string): void => {
    if (this.bytes + (line.length + 1) * BYTES_PER_CHAR_MAX > this.#bytesMax) {
      this.#dropped++;
      return;
    }
    this.#buffered += `${line}\n`;
    if (this.#buffered.length >= BUFFER_CHARS_MAX) this.#enqueue();
    else this.#timer ??= setTimeout(() => this.#enqueue(), BUFFER_MS);
  };

  /**
   * Writes the buffered lines, for at most `msMax`; returns whether all were written or dropped.
   */
  async flush(msMax: number): Promise<boolean> {
    this.#enqueue();
    if (this.#writing === null) return true;
    return await endsWithin(msMax, this.#writing);
  }

  /** Returns the metrics of the request log. */
  families(): MetricFamily[] {
    return [
      counter(
        "runledger_log_lines_dropped_total",
        "Log lines that could not be written.",
        this.#dropped,
      ),
    ];
  }

  #enqueue(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#buffered === "") return;
    const bytes = new TextEncoder().encode(this.#buffered);
    this.#buffered = "";
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#writing ??= this.#writeQueue();
  }

  async #writeQueue(): Promise<void> {
    for (let bytes = this.#queue.shift(); bytes !== undefined; bytes = this.#queue.shift()) {
      const lost = linesOf(await this.#send(bytes));
      this.#queuedBytes -= bytes.length;
      this.#dropped += lost;
      if (lost === 0) await this.#report();
    }
    this.#writing = null;
  }

  /** Reports in the log how many lines were dropped. */
  async #report(): Promise<void> {
    const dropped = this.#dropped;
    if (dropped === this.#reported) return;
    const at = new Date().toISOString();
    const line = JSON.stringify({ at, log_lines_dropped: dropped - this.#reported });
    const rest = await this.#send(new TextEncoder().encode(`${line}\n`));
    if (rest.length === 0) this.#reported = dropped;
  }

  /** Writes bytes; returns the bytes that could not be written. */
  async #send(bytes: Uint8Array): Promise<Uint8Array> {
    let rest = bytes;
    try {
      // A line cut off by a failure must not run into the next one.
      if (this.#isBroken) await this.#sink.write(Uint8Array.of(LINE_END));
      this.#isBroken = false;
      // A pipe may accept only some of the bytes.
      while (rest.length > 0) rest = rest.subarray(await this.#sink.write(rest));
    } catch {
      // A failed write may have written some lines; all of them count as dropped.
      this.#isBroken = true;
    }
    return rest;
  }
}

function linesOf(bytes: Uint8Array): number {
  return bytes.filter((byte) => byte === LINE_END).length;
}
