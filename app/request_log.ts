/**
 * The way out of the process's lines: its request log, and what it says on standard error.
 *
 * Lines are gathered for a moment and written together, because a write of its own for each line takes
 * longer than the request it describes. They are written behind the event loop's back: a reader that
 * stops reading, or has gone, and a disk that is full hold nothing up. What then waits is bounded in
 * bytes; lines beyond it are dropped and counted, and the log says so once it is written again.
 *
 * @module
 */
import { counter, type MetricFamily } from "../domain/metrics/text.ts";

/** Milliseconds that a process which ends gives its readers. */
export const FLUSH_MS_MAX = 500;

/** Longest time a line is gathered. */
const GATHER_MS = 20;

/** Characters gathered before they are handed on at once. */
const GATHER_CHARS_MAX = 65_536;

/** The most bytes that UTF-8 takes for a unit of a string's length. */
const BYTES_PER_CHAR_MAX = 3;

const LINE_END = 10;

/** Where lines go, such as `Deno.stdout`. */
interface Sink {
  /** Takes some of the bytes; answers how many. */
  write(bytes: Uint8Array): Promise<number>;
}

/** A log that is written to a stream of the process. */
export class LineLog {
  readonly #sink: Sink;
  readonly #bytesMax: number;
  #gathered = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What was gathered, as it will be written. */
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #writing: Promise<void> | null = null;
  /** True if what was written last may have no line end. */
  #isBroken = false;
  #dropped = 0;
  /** How many of the dropped lines the log has told of. */
  #reported = 0;

  /**
   * Creates a log.
   *
   * @param bytesMax the most that waits to be written
   */
  constructor(sink: Sink, bytesMax: number) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
  }

  /** Bytes that wait to be written, at most. */
  get bytes(): number {
    return this.#queuedBytes + this.#gathered.length * BYTES_PER_CHAR_MAX;
  }

  /** Takes a line, or drops it where too much waits. */
  readonly write = (line: string): void => {
    if (this.bytes + (line.length + 1) * BYTES_PER_CHAR_MAX > this.#bytesMax) {
      this.#dropped++;
      return;
    }
    this.#gathered += `${line}\n`;
    if (this.#gathered.length >= GATHER_CHARS_MAX) this.#handOn();
    else this.#timer ??= setTimeout(() => this.#handOn(), GATHER_MS);
  };

  /** Writes what waits, for as long as it is given; answers whether all of it went out or was dropped. */
  async flush(msMax: number): Promise<boolean> {
    this.#handOn();
    if (this.#writing === null) return true;
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, msMax, false);
    const isDone = await Promise.race([this.#writing.then(() => true), late]);
    clearTimeout(timer);
    return isDone;
  }

  /** The metrics of the request log. */
  families(): MetricFamily[] {
    return [
      counter(
        "runledger_log_lines_dropped_total",
        "Lines of the log that could not be written.",
        this.#dropped,
      ),
    ];
  }

  #handOn(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#gathered === "") return;
    const bytes = new TextEncoder().encode(this.#gathered);
    this.#gathered = "";
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

  /** Says in the log itself how many lines it lacks. */
  async #report(): Promise<void> {
    const dropped = this.#dropped;
    if (dropped === this.#reported) return;
    const at = new Date().toISOString();
    const line = JSON.stringify({ at, log_lines_dropped: dropped - this.#reported });
    const rest = await this.#send(new TextEncoder().encode(`${line}\n`));
    if (rest.length === 0) this.#reported = dropped;
  }

  /** Writes bytes; answers those that could not be written. */
  async #send(bytes: Uint8Array): Promise<Uint8Array> {
    let rest = bytes;
    try {
      // A line that a failure cut off must not run into the next one.
      if (this.#isBroken) await this.#sink.write(Uint8Array.of(LINE_END));
      this.#isBroken = false;
      // A pipe may take less than it is given.
      while (rest.length > 0) rest = rest.subarray(await this.#sink.write(rest));
    } catch {
      // How much of it a failed write took is not known: those lines count as dropped.
      this.#isBroken = true;
    }
    return rest;
  }
}

function linesOf(bytes: Uint8Array): number {
  let lines = 0;
  for (const byte of bytes) if (byte === LINE_END) lines++;
  return lines;
}
