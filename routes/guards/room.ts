/** Refuses requests while too many are under way, before anything of them is read or looked up. */
import { fail } from "../answer.ts";
import type { Guard } from "../context.ts";

/**
 * Requests under way at once. At the service's top rate so many wait about a tenth of a second; more
 * would wait longer than a client that comes back later.
 */
const REQUESTS_MAX = 2_000;

/** How many requests are under way. */
export class Room {
  #inside = 0;

  /** Counts a request in. */
  enter(): void {
    this.#inside++;
  }

  /** Counts it out. */
  leave(): void {
    this.#inside--;
  }

  /** Lets a request through when there is room for it. */
  readonly require: Guard = (c) => this.#inside > REQUESTS_MAX ? fail(c, OVERLOADED) : null;
}

/** What anybody is told while too much is waiting. */
export const OVERLOADED = {
  code: "overloaded",
  message: "Too much is waiting: retry",
} as const;
