/** Reads request bodies, bounded in bytes, time and depth (decisions 10 and 11). */
import { createGunzip, createInflate } from "node:zlib";
import type { Principal } from "../../domain/teams/credentials.ts";
import type { Deadlines } from "../../runtime/deadlines.ts";
import { type Problem, refuse } from "../../domain/core/errors.ts";
import {
  BODY_BYTES_MAX,
  EVENTS_BODY_BYTES_MAX,
  FORM_BYTES_MAX,
  JSON_DEPTH_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../domain/core/limits.ts";
import { type BodyShape, parseLarge } from "../../domain/ingest/large_body.ts";
import { nestsDeeperThan } from "../../domain/core/raw_json.ts";
import type { Body } from "../../domain/core/body.ts";
import { parseBody, parseJson } from "../../domain/ingest/parse.ts";
import { fail, OVERLOADED } from "./answer.ts";
import type { Guard, RequestContext } from "./context.ts";
import { TurnClock } from "./in_turns.ts";
import type { Flight } from "./bytes_in_flight.ts";
import { type Admission, LARGE_BYTES_MIN, slotInTime } from "./admission.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Bytes up to which a body is not counted. A body with such a Content-Length is read in one call, which
 * takes a third of the time. A connection's own buffers are as large.
 */
const SMALL_BYTES_MAX = 8_192;

/**
 * Maximum chunks of a body: `max`, and one more for every `bytes` bytes. Each chunk takes a turn of the
 * event loop.
 */
const CHUNKS = { max: 1_000, bytes: 32 } as const;

/**
 * Milliseconds for which a team's bodies without a Content-Length are refused unread after one had too
 * many chunks. An unread body costs next to nothing; the runtime splits every body that is read.
 */
const CHUNKS_PENALTY_MS = 10_000;

/** Memory counted per byte of a body while it is split: the body, its events as text and as values. */
const CUT_FACTOR = 8;

/** Initial bytes of a buffer for a body. */
const BUFFER_BYTES = 16_384;

/** Maximum bytes of a body, by its shape. */
const BYTES_MAX: Readonly<Record<BodyShape, number>> = {
  whole: WHOLE_BODY_BYTES_MAX,
  fields: BODY_BYTES_MAX,
  events: EVENTS_BODY_BYTES_MAX,
};

/** Expected shape of a route's body. */
interface JsonBody {
  readonly shape: BodyShape;
  /** True if an empty body counts as `{}`. */
  readonly mayLackBody?: boolean | undefined;
  /** True if `[]` counts as `{}`. */
  readonly mayBeList?: boolean | undefined;
}

/**
 * Reads the body as a JSON object, whatever its Content-Type.
 *
 * @param onRead receives the inflated size of each body; for a refused body, the bytes read so far
 */
export function readJsonBody(
  deadlines: Deadlines,
  admission: Admission,
  { shape, mayLackBody = false, mayBeList = false }: JsonBody,
  onRead: OnRead = () => {},
): Guard {
  function take(c: RequestContext, body: Body): null {
    c.set("body", body);
    return null;
  }
  return readBody(deadlines, admission, { bytesMax: BYTES_MAX[shape], onRead }, (c, bytes) => {
    const sent = decoded(bytes);
    const isEmpty = mayLackBody && sent === "" || mayBeList && /^\s*\[\s*\]\s*$/.test(sent);
    const text = isEmpty ? "{}" : sent;
    if (shape === "whole") return take(c, parseBody(text));
    if (bytes.length <= WHOLE_BODY_BYTES_MAX && !nestsDeeperThan(text, JSON_DEPTH_MAX)) {
      return take(c, parseJson(text));
    }
    const clock = new TurnClock();
    return parseLarge(bytes, text, shape, () => clock.pause()).then((body) => take(c, body));
  });
}

/** Reads the body as form fields. Any other text parses to fields that no page knows. */
export function readForm(deadlines: Deadlines, admission: Admission): Guard {
  const options = { bytesMax: FORM_BYTES_MAX, onRead: () => {} };
  return readBody(deadlines, admission, options, (c, bytes) => {
    c.set("form", new URLSearchParams(decoded(bytes)));
    return null;
  });
}

/**
 * Reads the body as bytes, which may also be sent as deflate.
 *
 * @param bytesMax maximum bytes, also after inflating
 * @param onRead receives the inflated size of each body
 */
export function readBytes(
  deadlines: Deadlines,
  admission: Admission,
  bytesMax: (c: RequestContext) => number,
  onRead: OnRead,
): Guard {
  const take = (c: RequestContext, bytes: Uint8Array) => {
    c.set("bytes", bytes);
    return null;
  };
  return (c) => {
    const options = { bytesMax: bytesMax(c), onRead, codings: ALL_CODINGS };
    return readBody(deadlines, admission, options, take)(c);
  };
}

/** Receives the inflated size of a body. */
type OnRead = (c: RequestContext, bytes: number) => void;

/** Content codings besides identity. */
type Coding = keyof typeof INFLATERS;

const INFLATERS = { gzip: createGunzip, deflate: createInflate };

const ALL_CODINGS = Object.keys(INFLATERS) as Coding[];

/** The way a body is read. */
interface ReadOptions {
  readonly bytesMax: number;
  readonly onRead: OnRead;
  /** Accepted codings; gzip if absent. */
  readonly codings?: readonly Coding[];
}

function readBody(
  deadlines: Deadlines,
  admission: Admission,
  { bytesMax, onRead, codings = ["gzip"] }: ReadOptions,
  take: (c: RequestContext, bytes: Uint8Array) => Response | null | Promise<Response | null>,
): Guard {
  const late = (): Problem => ({
    code: "body_timeout",
    message: `The body took over ${deadlines.ms} ms: send it again`,
  });
  return async (c) => {
    const principal: Principal | undefined = c.get("principal");
    const arrival = new Arrival(c.req.raw, admission, principal?.team.id ?? NO_TEAM, bytesMax);
    const read = arrival.bytes(codings, (bytes) => onRead(c, bytes));
    const body = await deadlines.within<Uint8Array | Problem>(read, late);
    arrival.leave();
    const { flight } = arrival;
    if (!(body instanceof Uint8Array)) {
      flight?.giveUp();
      arrival.slot?.();
      // The rest may still arrive. While a body is being read, the runtime closes the connection itself.
      const isOpen = body.code === "body_timeout" && flight !== null;
      return fail(c, body, isOpen ? { "Connection": "close" } : {});
    }
    if (flight === null) return take(c, body);
    // The text and the values parsed from it are held until the request is answered.
    flight.keep();
    const lease = new DisposableStack();
    lease.use(flight);
    c.set("bodyLease", lease);
    if (body.length <= LARGE_BYTES_MIN) return take(c, body);
    const slot = arrival.slot ?? await arrival.largeSlot();
    if (slot === null) return fail(c, OVERLOADED);
    lease.defer(slot);
    const cutBytes = body.length > WHOLE_BODY_BYTES_MAX
      ? Math.min(CUT_FACTOR * body.length, admission.bodies.largestBytes)
      : 0;
    if (!flight.take(Math.max(0, cutBytes - flight.bytes))) return fail(c, OVERLOADED);
    return take(c, body);
  };
}

/** Team id under which the bytes of requests without a team are counted. */
const NO_TEAM = "";

/** An arriving body. Above {@link SMALL_BYTES_MAX}, bytes are counted as received, not as announced. */
class Arrival {
  /** The counted bytes; null while none are. */
  flight: Flight | null = null;
  /** Releases the slot of a large body, which an inflated one takes before it is complete. */
  slot: (() => void) | null = null;
  /** Bytes in the current buffer. */
  #gathered = 0;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  /** Releases the slot; null without one. */
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

  /** Reads the body to its end, and inflates it; returns a problem for a refused one. */
  async bytes(
    codings: readonly Coding[],
    onRead: (bytes: number) => void,
  ): Promise<Uint8Array | Problem> {
    const { headers } = this.#request;
    const sent = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
    // RFC 9110 has recipients treat x-gzip as gzip.
    const coding = codings.find((name) => name === sent || `x-${name}` === sent);
    if (sent !== "identity" && coding === undefined) {
      const message = `Send the body uncompressed or with Content-Encoding: ${codings.join(", ")}`;
      return { code: "unsupported_encoding", message };
    }
    const announced = headers.get("content-length");
    // Refuses a too large Content-Length before a byte is read.
    if (Number(announced) > this.#bytesMax) return tooLarge(this.#bytesMax);
    if (announced === null && !await this.#mayReadChunks()) return OVERLOADED;
    const isSmall = announced !== null && Number(announced) <= SMALL_BYTES_MAX;
    let body: Uint8Array | Problem;
    try {
      body = isSmall ? await this.#request.bytes() : await this.#gather(this.#chunks());
    } catch {
      // A broken chunk, or a connection that closed early: usually the client has disconnected.
      return { code: "invalid_json", message: "The body ended early: send it again" };
    }
    if (body instanceof Uint8Array && coding !== undefined) {
      body = await this.#inflate(body, coding);
    }
    onRead(body instanceof Uint8Array ? body.length : this.#gathered);
    return body;
  }

  /** Waits until a body without a Content-Length may be read; false when it may not. */
  async #mayReadChunks(): Promise<boolean> {
    const { chunkedBodies } = this.#admission;
    if (this.#admission.tinyChunks.left(this.team) > 0) return false;
    const release = await slotInTime((late) => chunkedBodies.take(this.team, late));
    if (this.#hasLeft) release?.();
    else this.#release = release;
    return this.#release !== null && this.#admission.tinyChunks.left(this.team) === 0;
  }

  /** Releases the slot: the body is read completely, or not read any further. */
  leave(): void {
    this.#hasLeft = true;
    this.#release?.();
  }

  /** Waits for a slot of a large body; null when none was free in time. */
  largeSlot(): Promise<(() => void) | null> {
    return slotInTime((late) => this.#admission.largeBodies.take(this.team, late));
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

  /**
   * Inflates under the same limit, as a defense against compression bombs. A few bytes on the wire may
   * become a large body, so it waits for its slot as soon as it is one.
   */
  async #inflate(bytes: Uint8Array, coding: Coding): Promise<Uint8Array | Problem> {
    const inflater = INFLATERS[coding]();
    inflater.end(bytes);
    try {
      return await this.#gather(inflater, true);
    } catch {
      const message = `The body is not valid ${coding}: check Content-Encoding`;
      return { code: "invalid_json", message };
    }
  }

  /** Joins chunks, and counts the bytes of their buffer before it grows. */
  async #gather(
    chunks: AsyncIterable<Uint8Array>,
    isInflated = false,
  ): Promise<Uint8Array | Problem> {
    // Reading from the network yields by itself.
    const clock = isInflated ? new TurnClock() : null;
    let buffer = new Uint8Array();
    let length = 0;
    let count = 0;
    // Leaving the loop early ends the chunks.
    for await (const chunk of chunks) {
      const needed = length + chunk.length;
      if (needed > this.#bytesMax) return tooLarge(this.#bytesMax);
      if (isInflated && needed > LARGE_BYTES_MIN && !await this.#takeSlot()) return OVERLOADED;
      if (++count > CHUNKS.max + needed / CHUNKS.bytes) {
        this.#admission.tinyChunks.begin(this.team, CHUNKS_PENALTY_MS);
        return TOO_MANY_CHUNKS;
      }
      if (needed > buffer.length) {
        const bytes = Math.min(Math.max(needed, 2 * buffer.length, BUFFER_BYTES), this.#bytesMax);
        if (!this.#take(bytes - buffer.length)) return OVERLOADED;
        const larger = new Uint8Array(bytes);
        larger.set(buffer.subarray(0, length));
        buffer = larger;
      }
      buffer.set(chunk, length);
      this.#gathered = length = needed;
      const pause = clock?.pause() ?? null;
      if (pause !== null) await pause;
    }
    if (this.flight?.isGivenUp === true) return OVERLOADED;
    return buffer.subarray(0, length);
  }

  /** Takes the slot of a large body, unless it has one; false when none was free in time. */
  async #takeSlot(): Promise<boolean> {
    if (this.slot !== null) return true;
    const slot = await this.largeSlot();
    if (this.#hasLeft) slot?.();
    else this.slot = slot;
    return this.slot !== null;
  }

  #take(bytes: number): boolean {
    this.flight ??= this.#admission.bodies.begin(this.team, () => {
      // The read then ends like a complete body; `isGivenUp` shows the difference.
      this.#reader?.cancel().catch(() => {});
    });
    return this.flight.take(bytes);
  }
}

const TOO_MANY_CHUNKS: Problem = {
  code: "invalid_json",
  message: `The body came in chunks of less than ${CHUNKS.bytes} bytes: send larger ones`,
};

function decoded(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return refuse("invalid_json", "The body is not UTF-8: encode it as UTF-8");
  }
}

function tooLarge(bytesMax: number): Problem {
  const message = `The body is larger than ${bytesMax} bytes: send less per request`;
  return { code: "payload_too_large", message };
}
