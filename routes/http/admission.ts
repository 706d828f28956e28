/**
 * Admission: bounds requests, long polls, exports, and the bytes of bodies and answers in flight. A request
 * beyond them is refused before anything of it is read or looked up.
 */
import type { Problem } from "../../domain/core/errors.ts";
import { LISTENERS_MAX } from "../../domain/core/limits.ts";
import { fail } from "./answer.ts";
import type { AppDeps, Guard, RequestContext } from "./context.ts";
import { type ConcurrencyBounds, ConcurrencyLimit, type Slot } from "./concurrency.ts";
import { FairSlots, type SlotLimits } from "../../domain/core/fair_slots.ts";
import { BytesInFlight } from "./bytes_in_flight.ts";
import { PacedStreams } from "./paced_streams.ts";
import { LargeBodies } from "./large_bodies.ts";

/**
 * Requests worked on at once. At the service's top rate all of them wait some hundredths of a second; more
 * would wait longer than a client that retries later. A part is left for other teams.
 */
const REQUESTS: ConcurrencyBounds = { all: 500, team: 400 };

/** Exports sent at once. */
const EXPORTS: ConcurrencyBounds = { all: 32, team: 4 };

/**
 * Milliseconds that a request is held before it is refused under overload. Clients that retry at once would
 * otherwise take the time of those that are served: ten times the load leaves 10,900 calls a second when
 * they are refused at once, and more when they are held (`docs/PERFORMANCE.md`).
 */
const REFUSAL_MS = 250;

/**
 * Bodies without a length that are read at once. Once a part of such a body is read the runtime splits all
 * of it into its chunks, which takes up to 55 ms of the event loop when each chunk has one byte.
 */
const CHUNKED_BODIES: SlotLimits = { all: 256, team: 4, waiting: 1_024, teamWaiting: 256 };

type AdmissionDeps = Pick<AppDeps, "memory" | "shuttingDown" | "draining">;

/** Everything that bounds how much is worked on. All routes of an application share one. */
export class Admission {
  /** Requests that are worked on. */
  readonly requests = new ConcurrencyLimit(REQUESTS);
  /** Long polls and live streams. */
  readonly longPolls = new ConcurrencyLimit({
    all: LISTENERS_MAX.process,
    team: LISTENERS_MAX.team,
  });
  readonly exports = new ConcurrencyLimit(EXPORTS);
  readonly exportStreams: PacedStreams;
  /** Bodies that arrive, or whose requests are worked on. */
  readonly bodies: BytesInFlight;
  /** Answers that clients have not taken yet. */
  readonly answers: BytesInFlight;
  /** Text that clients of live streams have not taken yet. */
  readonly liveText: BytesInFlight;
  /** Slots for requests with a large body. */
  readonly largeBodies = new LargeBodies();
  /** Slots for bodies without a length, while they are read. */
  readonly chunkedBodies = new FairSlots(CHUNKED_BODIES);
  /** Teams whose bodies came in tiny chunks, with the end of their rest. */
  readonly #tinyChunks = new Map<string, number>();
  readonly #shuttingDown: AbortSignal;

  constructor({ memory, shuttingDown, draining }: AdmissionDeps) {
    this.exportStreams = new PacedStreams(draining);
    const bytesInFlight = (share: "bodies" | "answers" | "live") => {
      const bytes = new BytesInFlight(memory.bytesMax(share));
      memory.register(share, () => bytes.bytes);
      return bytes;
    };
    this.bodies = bytesInFlight("bodies");
    this.answers = bytesInFlight("answers");
    this.liveText = bytesInFlight("live");
    this.#shuttingDown = shuttingDown;
  }

  /** Refuses a request after a while when too many are worked on. */
  readonly require: Guard = (c) => {
    if (!this.requests.isFull) return null;
    return new Promise((resolve) => setTimeout(() => resolve(fail(c, OVERLOADED)), REFUSAL_MS));
  };

  /** Takes a slot for a long poll, or refuses the request. */
  acquireLongPoll(c: RequestContext): Slot | Response {
    const { id } = c.get("principal").team;
    if (this.longPolls.isTeamFull(id)) return fail(c, TEAM_FULL, { "Retry-After": RETRY_SECONDS });
    return this.longPolls.acquire(id) ?? fail(c, PROCESS_FULL);
  }

  /**
   * Runs `work` in a long-poll slot; it does not count against the limit of requests.
   *
   * @param work is given a signal that ends its wait: after so many milliseconds, when the client is gone,
   * or when the process shuts down
   */
  async park(
    c: RequestContext,
    ms: number,
    work: (signal: AbortSignal) => Promise<Response>,
  ): Promise<Response> {
    const acquired = this.acquireLongPoll(c);
    if (acquired instanceof Response) return acquired;
    using _slot = acquired;
    const team = c.get("principal").team.id;
    const over = new AbortController();
    const end = () => over.abort();
    const timer = setTimeout(end, ms);
    const others = [this.#shuttingDown, c.req.raw.signal];
    for (const other of others) other.addEventListener("abort", end);
    if (others.some(({ aborted }) => aborted)) end();
    this.requests.leave(team);
    try {
      return await work(over.signal);
    } finally {
      this.requests.enter(team);
      clearTimeout(timer);
      for (const other of others) other.removeEventListener("abort", end);
    }
  }

  /** Refuses a team's bodies without a length for a while. */
  restFromChunks(team: string, ms: number): void {
    this.#tinyChunks.set(team, performance.now() + ms);
  }

  /** Returns whether a team's bodies without a length are refused now. */
  restsFromChunks(team: string): boolean {
    const untilMs = this.#tinyChunks.get(team);
    if (untilMs === undefined) return false;
    if (performance.now() < untilMs) return true;
    this.#tinyChunks.delete(team);
    return false;
  }
}

/** What handlers are built from: the application's parts, and its admission. */
export interface HandlerDeps extends AppDeps {
  readonly admission: Admission;
  /** Returns the OpenAPI document of all endpoints as JSON text. */
  readonly openapiText: () => Promise<string>;
}

/** Answers a request that every guard let through. */
export type Handler = (c: RequestContext, deps: HandlerDeps) => Response | Promise<Response>;

/** Refuses a request under overload. */
export const OVERLOADED = {
  code: "overloaded",
  message: "The server is overloaded: retry after the delay in Retry-After",
} as const;

/** Seconds after which a team with too many long polls may retry. */
const RETRY_SECONDS = "1";

const TEAM_FULL: Problem = {
  code: "rate_limit",
  message: `The team has ${LISTENERS_MAX.team} live streams and waiting calls open: close some, ` +
    "then retry",
};

const PROCESS_FULL: Problem = {
  code: "overloaded",
  message:
    "Too many live streams and waiting calls are open: retry after the delay in Retry-After, or " +
    "call without waiting",
};
