/**
 * Responses sent in parts: the next part is produced when the client has read the previous one. A stream
 * is aborted when its client disconnects or stops reading.
 */
import type { BytesInFlight } from "./bytes_in_flight.ts";
import type { RequestContext } from "./context.ts";
import { nextTurn } from "./in_turns.ts";
import type { Principal } from "../../domain/teams/credentials.ts";
import { fail, OVERLOADED, WHOLE_BYTES_MAX } from "./answer.ts";

/** Maximum milliseconds for a client to read one part before its stream is aborted. */
const STALL_MS_MAX = 30_000;

/** Milliseconds between two checks of all streams. */
const CHECK_MS = 500;

/** Aborts a response on purpose; the server does not report it as an error. */
export class BrokenOff extends Error {}

/** One response in progress. */
export interface PacedStream {
  /** Body of the response. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Aborts the stream, so that the client sees an incomplete response. */
  readonly end: (why: string) => void;
}

/** A stream under supervision. */
interface Watched {
  /** Time since which a part waits for the client; null while a part is being produced. */
  idleSinceMs: number | null;
  readonly end: (why: string) => void;
}

/** Supervises a set of streams with one timer. */
export class PacedStreams {
  readonly #draining: () => boolean;
  readonly #streams = new Set<Watched>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Creates an empty set. All streams are aborted while `draining` returns true. */
  constructor(draining: () => boolean = () => false) {
    this.#draining = draining;
  }

  /**
   * Starts a stream. It is aborted when its parts fail.
   *
   * @param ended is called once, when the stream ends for any reason
   * @param failed is called before `ended` when the parts throw anything but {@link BrokenOff}
   */
  begin(
    parts: AsyncIterator<Uint8Array>,
    ended: () => void,
    failed: (error: unknown) => void = () => {},
  ): PacedStream {
    let controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
    const stream: Watched = {
      idleSinceMs: performance.now(),
      end: (why) => {
        if (leave()) controller.error(new BrokenOff(why));
        void parts.return?.();
      },
    };
    const leave = () => {
      if (!this.#leave(stream)) return false;
      ended();
      return true;
    };
    this.#enter(stream);
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (started) => void (controller = started),
      pull: async () => {
        stream.idleSinceMs = null;
        try {
          const part = await nextPart(parts, () => this.#streams.has(stream));
          stream.idleSinceMs = performance.now();
          if (!this.#streams.has(stream)) return;
          if (part !== null) return controller.enqueue(part);
          leave();
          controller.close();
        } catch (error) {
          // A stream that has already ended fails because of that.
          if (!this.#streams.has(stream)) return;
          if (!(error instanceof BrokenOff)) failed(error);
          leave();
          controller.error(new BrokenOff("It failed"));
        }
      },
      cancel: () => {
        leave();
        // A part may be in production; the generator returns after it.
        void parts.return?.();
      },
      // Parts are produced only when the client is ready to read them.
    }, { highWaterMark: 0 });
    return { body, end: stream.end };
  }

  #enter(stream: Watched): void {
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS);
  }

  #leave(stream: Watched): boolean {
    const wasThere = this.#streams.delete(stream);
    if (this.#streams.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    return wasThere;
  }

  #check(): void {
    const nowMs = performance.now();
    const draining = this.#draining();
    for (const { idleSinceMs, end } of this.#streams) {
      if (draining) end("The instance is shutting down");
      else if (nowMs - (idleSinceMs ?? nowMs) > STALL_MS_MAX) {
        end("The client took nothing for too long");
      }
    }
  }
}

/** Returns the next non-empty part; null at the end, or when it is no longer wanted. */
async function nextPart(parts: AsyncIterator<Uint8Array>, isWanted: () => boolean) {
  while (isWanted()) {
    const part = await parts.next();
    if (part.done === true) return null;
    if (part.value.length > 0) return part.value as Uint8Array<ArrayBuffer>;
  }
  return null;
}

const PART_BYTES = 65_536;

/** Long responses in flight. */
export class PacedResponses {
  readonly #answers: BytesInFlight;
  readonly #streams = new PacedStreams();

  /** Creates the sender; `answers` counts the bytes in flight. */
  constructor(answers: BytesInFlight) {
    this.#answers = answers;
  }

  /** Sends a long response in parts; answers 503 when too many bytes are in flight. */
  async send(c: RequestContext, response: Response): Promise<Response> {
    const { status, headers } = response;
    await nextTurn();
    const bytes = await response.bytes();
    // HEAD sends no body.
    if (bytes.length <= WHOLE_BYTES_MAX || c.req.method === "HEAD") {
      return new Response(bytes, { status, headers });
    }
    const principal: Principal | undefined = c.get("principal");
    const team = principal?.team.id ?? "";
    const flight = this.#answers.begin(team, () => stream.end("Another team needs the memory"));
    if (!flight.take(bytes.length)) return fail(c, OVERLOADED);
    const stream = this.#streams.begin(partsOf(bytes), () => flight[Symbol.dispose]());
    headers.set("Content-Length", String(bytes.length));
    return new Response(stream.body, { status, headers });
  }
}

async function* partsOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    yield bytes.subarray(at, at + PART_BYTES);
  }
}
