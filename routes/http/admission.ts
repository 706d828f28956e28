/**
 * Admission control: bounds requests, long polls, exports, and the bytes of bodies and responses in
 * flight. A request beyond a limit is refused before its body is read or its credential is looked up.
 */
import { Overloaded, type Problem } from "../../domain/core/errors.ts";
import type { Principal } from "../../domain/teams/credentials.ts";
import { LISTENERS_MAX } from "../../domain/core/limits.ts";
import { fail, OVERLOADED } from "./answer.ts";
import type { AppDeps, Guard, RequestContext } from "./context.ts";
import {
  type ConcurrencyBounds,
  ConcurrencyLimit,
  FairSlots,
  type Slot,
  type SlotLimits,
} from "../../runtime/fair_slots.ts";
import { BytesInFlight } from "./bytes_in_flight.ts";
import { PacedStreams } from "./paced_streams.ts";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Concurrent requests. At peak throughput this many wait some hundredths of a second; with more, waiting
 * would take longer than a retry. The team limit leaves slots for other teams.
 */
const REQUESTS: ConcurrencyBounds = { all: 500, team: 400 };

/** Concurrent exports. */
const EXPORTS: ConcurrencyBounds = { all: 32, team: 4 };

/**
 * Milliseconds to hold a request before refusing it under overload. Clients that retry immediately would
 * otherwise take CPU time from admitted requests: at ten times the load, 10,900 calls a second succeed
 * with immediate refusals, and more with delayed ones (`bench/README.md`).
 */
const REFUSAL_MS = 250;

/**
 * Concurrent reads of bodies without a Content-Length. When the first bytes of such a body are read, the
 * runtime splits all of it into its chunks. With one byte a chunk this blocks the event loop for 55 ms.
 */
const CHUNKED_BODIES: SlotLimits = { all: 256, team: 4, waiting: 1_024, teamWaiting: 256 };

/** Bytes above which a body is large. */
export const LARGE_BYTES_MIN = 65_536;

/** Maximum large bodies in progress and waiting. */
const LARGE_BODIES: SlotLimits = { all: 3, team: 1, waiting: 256, teamWaiting: 64 };

/** Milliseconds that work waits for a slot; a team's share of the memory holds a dozen large bodies. */
const SLOT_WAIT_MS = 5_000;

/**
 * Concurrent pages of runs. Each holds several megabytes of events, and its reads wait for those of the
 * team's other pages.
 */
const RUN_PAGES: SlotLimits = { all: 12, team: 2, waiting: 256, teamWaiting: 64 };

/** Maximum pause of a team after a large body, in milliseconds. */
const PAUSE_MS_MAX = 500;

/** Maximum teams in {@link Pauses}; beyond it all pauses are dropped. */
const PAUSES_MAX = 10_000;

/** Teams that have to pause. */
class Pauses {
  readonly #untilMs = new Map<string, number>();

  /** Starts a pause of a team. */
  begin(team: string, ms: number): void {
    if (this.#untilMs.size >= PAUSES_MAX) this.#untilMs.clear();
    this.#untilMs.set(team, performance.now() + ms);
  }

  /** Returns the milliseconds left of a team's pause; 0 without one. */
  left(team: string): number {
    return Math.max(0, (this.#untilMs.get(team) ?? 0) - performance.now());
  }
}

/**
 * Slots for requests with a large body, from parsing it to the answer. Few run concurrently, and a team
 * pauses after each, as long as it took: a parsed body may take 60 times its bytes, and parsing it blocks
 * the event loop for up to 60 ms.
 */
class LargeBodies {
  readonly #slots = new FairSlots(LARGE_BODIES);
  readonly #pauses = new Pauses();

  /**
   * Waits for a slot and for the end of the team's pause.
   *
   * @param signal ends the wait; its reason is thrown
   * @returns a function that releases the slot
   * @throws {Overloaded} when too many requests wait already
   */
  async take(team: string, signal: AbortSignal): Promise<() => void> {
    const release = await this.#slots.take(team, signal);
    try {
      const pauseMs = this.#pauses.left(team);
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    } catch (error) {
      release();
      throw error;
    }
    const startedMs = performance.now();
    return () => {
      release();
      this.#pauses.begin(team, Math.min(PAUSE_MS_MAX, performance.now() - startedMs));
    };
  }
}

type AdmissionDeps = Pick<AppDeps, "memory" | "shuttingDown" | "draining" | "silentMsMax">;

/** Waits up to {@link SLOT_WAIT_MS} for a slot; null when none was free in time. */
export async function slotInTime(
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

/** Concurrency and memory limits, shared by all routes of an application. */
export class Admission {
  /** Requests in progress. */
  readonly requests = new ConcurrencyLimit(REQUESTS);
  /** Long polls and live streams. */
  readonly longPolls = new ConcurrencyLimit({ all: LISTENERS_MAX.process, ...LISTENERS_MAX });
  readonly exports = new ConcurrencyLimit(EXPORTS);
  readonly exportStreams: PacedStreams;
  /** Bytes of bodies that are arriving, or whose requests are in progress. */
  readonly bodies: BytesInFlight;
  /** Bytes of responses that clients have not read yet. */
  readonly answers: BytesInFlight;
  /** Bytes of events that clients of live streams have not read yet. */
  readonly liveText: BytesInFlight;
  /** Slots for requests with a large body. */
  readonly largeBodies = new LargeBodies();
  /** Slots for reading bodies without a Content-Length. */
  readonly chunkedBodies = new FairSlots(CHUNKED_BODIES);
  /** Teams that sent a body in tiny chunks; their bodies without a Content-Length are refused. */
  readonly tinyChunks = new Pauses();
  /** Slots for pages that show the events of runs. */
  readonly #runPages = new FairSlots(RUN_PAGES);
  readonly #shuttingDown: AbortSignal;
  readonly #silentMsMax: number;

  constructor({ memory, shuttingDown, draining, silentMsMax }: AdmissionDeps) {
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
    this.#silentMsMax = silentMsMax;
  }

  /** Refuses a request when too many are in progress. */
  readonly require: Guard = (c) => this.requests.isFull ? this.refuse(c) : null;

  /** Refuses a request after a delay. */
  refuse(c: RequestContext): Promise<Response> {
    return new Promise((resolve) => setTimeout(() => resolve(fail(c, OVERLOADED)), REFUSAL_MS));
  }

  /** Runs `work` in a slot for pages of runs, or refuses the request when none was free in time. */
  async showRun(c: RequestContext, work: () => Promise<Response>): Promise<Response> {
    const { id } = c.get("principal").team;
    const release = await slotInTime((late) =>
      this.#runPages.take(id, AbortSignal.any([late, c.req.raw.signal]))
    );
    if (release === null) return fail(c, OVERLOADED);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Takes a slot for a long poll, or refuses the request. */
  acquireLongPoll(c: RequestContext): Slot | Response {
    const { id } = c.get("principal").team;
    if (this.longPolls.isTeamFull(id)) return fail(c, TEAM_FULL, { "Retry-After": RETRY_SECONDS });
    return this.longPolls.acquire(id) ?? fail(c, PROCESS_FULL);
  }

  /**
   * Runs `work` in a long-poll slot; it does not count against the concurrency limit.
   *
   * @param work receives a signal that aborts after `ms` milliseconds, or sooner where a response may not
   * be silent for so long; when the client disconnects; or when the process shuts down
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
    const timer = setTimeout(end, Math.min(ms, this.#silentMsMax));
    const sources = [this.#shuttingDown, c.req.raw.signal];
    for (const source of sources) source.addEventListener("abort", end);
    if (sources.some(({ aborted }) => aborted)) end();
    this.requests.leave(team);
    try {
      return await work(over.signal);
    } finally {
      this.requests.enter(team);
      clearTimeout(timer);
      for (const source of sources) source.removeEventListener("abort", end);
    }
  }
}

/** Dependencies of handlers: the application's, and its admission control. */
export interface HandlerDeps extends AppDeps {
  readonly admission: Admission;
  /** Returns the OpenAPI document of all endpoints as JSON text. */
  readonly openapiText: () => Promise<string>;
}

/**
 * Answers a request that passed every guard.
 *
 * @param principal the caller; undefined on routes without a credential
 */
export type Handler = (...request: HandlerArguments) => Response | Promise<Response>;

/** A request, the dependencies of handlers, and the caller. */
export type HandlerArguments = [c: RequestContext, deps: HandlerDeps, principal: Principal];

/** Seconds after which a team with too many long polls may retry. */
const RETRY_SECONDS = "1";

const TEAM_FULL: Problem = {
  code: "rate_limit",
  message: `The team has ${LISTENERS_MAX.team} live streams and long polls open: close some, ` +
    "then retry",
};

const PROCESS_FULL: Problem = {
  code: "overloaded",
  message: "Too many live streams and long polls are open: retry after the delay in Retry-After, " +
    "or call without waiting",
};
