/** Refuses requests while too many are worked on, before anything of them is read or looked up. */
import { fail } from "../answer.ts";
import type { Guard } from "../context.ts";

/**
 * Requests worked on at once. At the service's top rate so many wait about a tenth of a second; more
 * would wait longer than a client that comes back later.
 */
const REQUESTS_MAX = 1_000;

/** How many requests are worked on. One whose body is still on its way is not: that may never come. */
export class Room {
  #inside = 0;

  /** Counts a request in, once all of it is there. */
  enter(): void {
    this.#inside++;
  }

  /** Counts it out. */
  leave(): void {
    this.#inside--;
  }

  /** Lets a request through when there is room for it. */
  readonly require: Guard = (c) => this.#inside >= REQUESTS_MAX ? fail(c, OVERLOADED) : null;
}

/** What anybody is told while too much is waiting. */
export const OVERLOADED = {
  code: "overloaded",
  message: "Too much is waiting: retry",
} as const;
