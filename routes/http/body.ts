/** The body, read once: bounded in bytes, time and depth (decisions 10 and 11). */
import { createGunzip } from "node:zlib";
import type { Principal } from "../../domain/teams/credentials.ts";
import type { Deadlines } from "../../domain/core/deadlines.ts";
import { Overloaded, type Parsed, type Problem, refuse } from "../../domain/core/errors.ts";
import {
  BODY_BYTES_MAX,
  EVENTS_BODY_BYTES_MAX,
  FORM_BYTES_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../domain/core/limits.ts";
import { cutBody } from "../../domain/ingest/cut_body.ts";
import type { Body } from "../../domain/core/body.ts";
import { type BodyShape, parseBody } from "../../domain/ingest/parse.ts";
import { fail } from "./answer.ts";
import type { Guard, RequestContext } from "./context.ts";
import { inTurns, TurnClock } from "./in_turns.ts";
import type { Flight } from "./bytes_in_flight.ts";
import { LARGE_BYTES_MIN } from "./large_bodies.ts";
import { type Admission, OVERLOADED } from "./admission.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Bytes of a body that are not counted: one that announces no more is read at once, which takes a third
 * of the time. A connection takes as much for its own buffers.
 */
const SMALL_BYTES_MAX = 8_192;

/** Milliseconds that a body waits for a slot; a team's part of the memory holds a dozen large ones. */
const SLOT_WAIT_MS = 5_000;

/** Chunks that a body may come in, and one more for each so many bytes: each takes a turn of the event loop. */
const CHUNKS = { max: 1_000, bytes: 32 } as const;

/**
 * Milliseconds for which a team's bodies without a length are refused unread after one in too many chunks:
 * what is not read costs next to nothing, while the runtime splits all of a body that is.
 */
const CHUNKS_REST_MS = 10_000;

/** Bytes counted for each byte of a body while it is cut: itself, its events as text and as values. */
const CUT_FACTOR = 8;

/** Bytes with which a buffer for a body begins. */
const BUFFER_BYTES = 16_384;

/** Bytes that a body may have, by its shape. */
const BYTES_MAX: Readonly<Record<BodyShape, number>> = {
  whole: WHOLE_BODY_BYTES_MAX,
  fields: BODY_BYTES_MAX,
  events: EVENTS_BODY_BYTES_MAX,
};

/** What a route expects of its body. */
interface JsonBody {
  readonly shape: BodyShape;
  /** Whether none at all is as good as `{}`. */
  readonly mayLackBody?: boolean | undefined;
}

/**
 * Reads the body as a JSON object, whatever its Content-Type says.
 *
 * @param onRead is given the inflated size of each body, of one that is refused as far as it was read
 */
export function readJsonBody(
  deadlines: Deadlines,
  admission: Admission,
  { shape, mayLackBody = false }: JsonBody,
  onRead: OnRead = () => {},
): Guard {
  function take(c: RequestContext, parsed: Parsed<Body>): Response | null {
    if (!parsed.ok) return fail(c, parsed.problem);
    c.set("body", parsed.value);
    return null;
  }
  return readBody(deadlines, admission, { bytesMax: BYTES_MAX[shape], onRead }, (c, bytes) => {
    if (bytes.length > WHOLE_BODY_BYTES_MAX && shape !== "whole") {
      return inTurns(cutBody(bytes, shape)).then((parsed) => take(c, parsed));
    }
    const text = decoded(bytes);
    if (!text.ok) return take(c, text);
    return take(c, parseBody(mayLackBody && text.value === "" ? "{}" : text.value, shape));
  });
}

/** Reads the body as the fields of a form; what is no form has none of the fields asked for. */
export function readForm(deadlines: Deadlines, admission: Admission): Guard {
  return readBody(
    deadlines,
    admission,
    { bytesMax: FORM_BYTES_MAX, onRead: () => {} },
    (c, bytes) => {
      const text = decoded(bytes);
      if (!text.ok) return fail(c, text.problem);
      c.set("form", new URLSearchParams(text.value));
      return null;
    },
  );
}

/** Is given the bytes of a body, inflated. */
type OnRead = (c: RequestContext, bytes: number) => void;

function readBody(
  deadlines: Deadlines,
  admission: Admission,
  { bytesMax, onRead }: { readonly bytesMax: number; readonly onRead: OnRead },
  take: (c: RequestContext, bytes: Uint8Array) => Response | null | Promise<Response | null>,
): Guard {
  const late = () =>
    refuse<Uint8Array>("body_timeout", `The body took over ${deadlines.ms} ms: send it again`);
  return async (c) => {
    const principal: Principal | undefined = c.get("principal");
    const arrival = new Arrival(c.req.raw, admission, principal?.team.id ?? NOBODY, bytesMax);
    const sent = await deadlines.within(arrival.bytes((bytes) => onRead(c, bytes)), late);
    arrival.leave();
    const { flight } = arrival;
    if (!sent.ok) {
      arrival.end();
      // Its rest may still arrive. While a body is being read, the runtime says so by itself.
      const isOpen = sent.problem.code === "body_timeout" && flight !== null;
      return fail(c, sent.problem, isOpen ? { "Connection": "close" } : {});
    }
    if (flight === null) return take(c, sent.value);
    // Its text and what is parsed of it are held until the request is answered.
    flight.keep();
    const held = new DisposableStack();
    held.use(flight);
    c.set("bodyLease", held);
    if (sent.value.length <= LARGE_BYTES_MIN) return take(c, sent.value);
    const slot = await inTime((late) => admission.largeBodies.take(arrival.team, late));
    if (slot === null) return fail(c, OVERLOADED);
    held.defer(slot);
    const cutBytes = sent.value.length > WHOLE_BODY_BYTES_MAX
      ? Math.min(CUT_FACTOR * sent.value.length, admission.bodies.largestBytes)
      : 0;
    if (!flight.take(Math.max(0, cutBytes - flight.bytes))) return fail(c, OVERLOADED);
    return take(c, sent.value);
  };
}

/** Waits for a slot for some seconds; null when none was free in time. */
async function inTime(
  take: (late: AbortSignal) => Promise<() => void>,
): Promise<(() => void) | null> {
  const late = AbortSignal.timeout(SLOT_WAIT_MS);
  try {
    return await take(late);
  } catch (error) {
    if (error instanceof Overloaded || late.aborted) return null;
    throw error;
  }
}

/** Holder of the bytes of requests without a team. */
const NOBODY = "";

/** A body that arrives. What is more than small is counted as it comes, not by what is announced. */
class Arrival {
  /** What is counted of it; null while nothing is. */
  flight: Flight | null = null;
  /** Bytes in the last of its buffers. */
  #gathered = 0;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  /** Gives its slot back; null without one. */
  #release: (() => void) | null = null;
  #hasLeft = false;
  readonly #request: Request;
  readonly #admission: Admission;
  readonly team: string;
  readonly #bytesMax: number;

  constructor(request: Request, admission: Admission, team: string, bytesMax: number) {
    this.#request = request;
    this.#admission = admission;
    this.team = team;
    this.#bytesMax = bytesMax;
  }

  /** Reads it to its end, and inflates it. */
  async bytes(onRead: (bytes: number) => void): Promise<Parsed<Uint8Array>> {
    const { headers } = this.#request;
    const named = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
    // An older name that HTTP has recipients take for the same.
    const encoding = named === "x-gzip" ? "gzip" : named;
    if (encoding !== "identity" && encoding !== "gzip") {
      const message = "Send the body as it is or with Content-Encoding: gzip";
      return refuse("unsupported_encoding", message);
    }
    const announced = headers.get("content-length");
    // Refused by its announced length before a byte is read.
    if (Number(announced) > this.#bytesMax) return tooLarge(this.#bytesMax);
    if (announced === null && !await this.#mayReadChunks()) return BODY_REFUSED;
    const isSmall = announced !== null && Number(announced) <= SMALL_BYTES_MAX;
    let sent: Parsed<Uint8Array>;
    try {
      sent = isSmall
        ? { ok: true, value: await this.#request.bytes() }
        : await this.#gather(this.#chunks());
    } catch {
      // A broken chunk or a connection that closed early: its sender is gone in most cases.
      return refuse("invalid_json", "The body ended early: send it again");
    }
    if (sent.ok && encoding === "gzip") sent = await this.#inflate(sent.value);
    onRead(sent.ok ? sent.value.length : this.#gathered);
    return sent;
  }

  /** Waits until a body without a length may be read. */
  async #mayReadChunks(): Promise<boolean> {
    const { chunkedBodies } = this.#admission;
    if (this.#admission.restsFromChunks(this.team)) return false;
    const release = await inTime((late) => chunkedBodies.take(this.team, late));
    if (this.#hasLeft) release?.();
    else this.#release = release;
    return this.#release !== null && !this.#admission.restsFromChunks(this.team);
  }

  /** Gives its slot to the next: all of it is read, or nothing more will be. */
  leave(): void {
    this.#hasLeft = true;
    this.#release?.();
  }

  /** Holds nothing of it any more. */
  end(): void {
    this.flight?.giveUp();
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    const reader = this.#request.body?.getReader();
    if (reader === undefined) return;
    this.#reader = reader;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  }

  /** Inflates under the same limit, so that a small bomb stays small. */
  async #inflate(bytes: Uint8Array): Promise<Parsed<Uint8Array>> {
    const gunzip = createGunzip();
    gunzip.end(bytes);
    try {
      return await this.#gather(gunzip, new TurnClock());
    } catch {
      return refuse("invalid_json", "The body is not valid gzip: check Content-Encoding");
    }
  }

  /** Joins chunks, and takes bytes for the buffer that they are in before it grows. */
  async #gather(
    chunks: AsyncIterable<Uint8Array>,
    clock: TurnClock | null = null,
  ): Promise<Parsed<Uint8Array>> {
    let buffer = new Uint8Array();
    let length = 0;
    let count = 0;
    // Leaving the loop early ends the chunks.
    for await (const chunk of chunks) {
      const needed = length + chunk.length;
      if (needed > this.#bytesMax) return tooLarge(this.#bytesMax);
      if (++count > CHUNKS.max + needed / CHUNKS.bytes) {
        this.#admission.restFromChunks(this.team, CHUNKS_REST_MS);
        return TOO_MANY_CHUNKS;
      }
      if (needed > buffer.length) {
        const bytes = Math.min(Math.max(needed, 2 * buffer.length, BUFFER_BYTES), this.#bytesMax);
        if (!this.#take(bytes - buffer.length)) return BODY_REFUSED;
        const larger = new Uint8Array(bytes);
        larger.set(buffer.subarray(0, length));
        buffer = larger;
      }
      buffer.set(chunk, length);
      this.#gathered = length = needed;
      // What comes from the network pauses by itself.
      const pause = clock?.pause() ?? null;
      if (pause !== null) await pause;
    }
    if (this.flight?.isGivenUp === true) return BODY_REFUSED;
    return { ok: true, value: buffer.subarray(0, length) };
  }

  #take(bytes: number): boolean {
    this.flight ??= this.#admission.bodies.begin(this.team, () => {
      // Its read ends as if the body did, and is seen to be given up then; one that failed stays so.
      this.#reader?.cancel().catch(() => {});
    });
    return this.flight.take(bytes);
  }
}

const TOO_MANY_CHUNKS = refuse<never>(
  "invalid_json",
  `The body came in chunks of less than ${CHUNKS.bytes} bytes: send larger ones`,
);

const BODY_REFUSED: { readonly ok: false; readonly problem: Problem } = {
  ok: false,
  problem: OVERLOADED,
};

function decoded(bytes: Uint8Array): Parsed<string> {
  try {
    return { ok: true, value: utf8.decode(bytes) };
  } catch {
    return refuse("invalid_json", "The body is not UTF-8: encode it as UTF-8");
  }
}

function tooLarge(bytesMax: number): Parsed<never> {
  const message = `The body is larger than ${bytesMax} bytes: send less at once`;
  return refuse("payload_too_large", message);
}
