/** Refuses requests while too many are worked on, before anything of them is read or looked up. */
import type { TeamId } from "../../domain/credentials.ts";
import { fail } from "../answer.ts";
import type { Guard } from "../context.ts";

/**
 * Requests worked on at once. At the service's top rate so many wait some hundredths of a second; more
 * would wait longer than a client that comes back later.
 */
const REQUESTS_MAX = 500;

/**
 * How long a request is held before it is refused for want of room. Clients that come back at once would
 * otherwise take the time of those that are served: ten times the load leaves 10,900 calls a second when
 * they are turned away at once, and more when they are held (`docs/PERFORMANCE.md`).
 */
const REFUSAL_MS = 250;

/** Bytes of large bodies that may be on their way at once, in all and for one team. */
const LARGE_BODIES = { bytesMin: 16_384, bytesMax: 67_108_864, teamBytesMax: 33_554_432 } as const;

/** How much is worked on: requests, and bytes of bodies that are still on their way. */
export class Room {
  #inside = 0;
  #bytes = 0;
  readonly #bytesOfTeam = new Map<TeamId, number>();

  /** Counts a request in, once all of it is there: the rest of a body may never come. */
  enter(): void {
    this.#inside++;
  }

  /** Counts it out. */
  leave(): void {
    this.#inside--;
  }

  /** Lets a request through when there is room for it. */
  readonly require: Guard = (c) => {
    if (this.#inside < REQUESTS_MAX) return null;
    return new Promise((resolve) => setTimeout(() => resolve(fail(c, OVERLOADED)), REFUSAL_MS));
  };

  /**
   * Takes room for a body of announced length; false when there is none. Small ones are not counted: so
   * many of them as there are connections fit into memory. So a team that announces bodies and never
   * sends them holds up its own large ones alone.
   */
  takeBytes(team: TeamId, bytes: number): boolean {
    if (bytes < LARGE_BODIES.bytesMin) return true;
    const own = (this.#bytesOfTeam.get(team) ?? 0) + bytes;
    const { bytesMax, teamBytesMax } = LARGE_BODIES;
    if (this.#bytes + bytes > bytesMax || own > teamBytesMax) return false;
    this.#bytes += bytes;
    this.#bytesOfTeam.set(team, own);
    return true;
  }

  /** Gives back what {@link takeBytes} took. */
  giveBytes(team: TeamId, bytes: number): void {
    if (bytes < LARGE_BODIES.bytesMin) return;
    this.#bytes -= bytes;
    const own = (this.#bytesOfTeam.get(team) ?? 0) - bytes;
    if (own > 0) this.#bytesOfTeam.set(team, own);
    else this.#bytesOfTeam.delete(team);
  }
}

/** What anybody is told while too much is waiting. */
export const OVERLOADED = {
  code: "overloaded",
  message: "Too much is waiting: retry",
} as const;
