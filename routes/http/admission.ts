/** Refuses requests while too many are worked on, before anything of them is read or looked up. */
import type { Memory } from "../../domain/core/memory.ts";
import { fail } from "./answer.ts";
import type { Guard } from "./context.ts";
import { FairSlots, type SlotLimits } from "../../domain/core/fair_slots.ts";
import { BytesInFlight } from "./bytes_in_flight.ts";
import { LargeBodies } from "./large_bodies.ts";

/**
 * Requests worked on at once. At the service's top rate so many wait some hundredths of a second; more
 * would wait longer than a client that comes back later.
 */
const REQUESTS_MAX = 500;

/** Requests of one team worked on at once: the rest is left for others. */
const TEAM_REQUESTS_MAX = 400;

/**
 * How long a request is held before it is refused for want of room. Clients that come back at once would
 * otherwise take the time of those that are served: ten times the load leaves 10,900 calls a second when
 * they are turned away at once, and more when they are held (`docs/PERFORMANCE.md`).
 */
const REFUSAL_MS = 250;

/**
 * Bodies without a length that are read at once. Once a part of such a body is read the runtime splits all
 * of it into its chunks, which takes up to 55 ms of the event loop when each chunk has one byte.
 */
const CHUNKED_BODIES: SlotLimits = { all: 256, team: 4, waiting: 1_024, teamWaiting: 256 };

/** How much is worked on: requests, and the bytes of bodies and answers on their way. */
export class ConcurrencyLimit {
  /** Bodies that arrive, or whose requests are worked on. */
  readonly bodies: BytesInFlight;
  /** Answers that clients have not taken yet. */
  readonly answers: BytesInFlight;
  /** Slots for requests with a large body. */
  readonly largeBodies = new LargeBodies();
  /** Slots for bodies without a length, while they are read. */
  readonly chunkedBodies = new FairSlots(CHUNKED_BODIES);
  /** Teams whose bodies came in tiny chunks, with the end of their rest. */
  readonly #tinyChunks = new Map<string, number>();
  #inside = 0;
  readonly #insideOfTeam = new Map<string, number>();

  /** Creates an empty room within a budget. */
  constructor(memory: Memory) {
    this.bodies = new BytesInFlight(memory.bytesMax("bodies"));
    this.answers = new BytesInFlight(memory.bytesMax("answers"));
    memory.register("bodies", () => this.bodies.bytes);
    memory.register("answers", () => this.answers.bytes);
  }

  /** Returns whether a team may have one more request inside. */
  hasCapacity(team: string): boolean {
    return (this.#insideOfTeam.get(team) ?? 0) < TEAM_REQUESTS_MAX;
  }

  /** Counts a request in, once all of it is there: the rest of a body may never come. */
  enter(team: string): void {
    this.#insideOfTeam.set(team, (this.#insideOfTeam.get(team) ?? 0) + 1);
    this.#inside++;
  }

  /** Counts it out. */
  leave(team: string): void {
    this.#inside--;
    const left = (this.#insideOfTeam.get(team) ?? 1) - 1;
    if (left > 0) this.#insideOfTeam.set(team, left);
    else this.#insideOfTeam.delete(team);
  }

  /** Has a team's bodies without a length refused for a while. */
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

  /** Lets a request through when there is room for it. */
  readonly require: Guard = (c) => {
    if (this.#inside < REQUESTS_MAX) return null;
    return new Promise((resolve) => setTimeout(() => resolve(fail(c, OVERLOADED)), REFUSAL_MS));
  };
}

/** What anybody is told while too much is waiting. */
export const OVERLOADED = {
  code: "overloaded",
  message: "Too much is waiting: retry",
} as const;
