/** Refuses requests while too many are being worked on, before anything of them is read or looked up. */
import { fail } from "../answer.ts";
import type { Guard, Handle, RequestContext } from "../context.ts";

/**
 * Requests worked on at once. At the service's top rate so many wait about a tenth of a second; more
 * would wait longer than a client that comes back later.
 */
const REQUESTS_MAX = 1_000;

/** How many requests are worked on. Those whose bodies are still on their way are not: they may never come. */
export class Room {
  #inside = 0;

  /** Has a request worked on, counted in and out. */
  async with(c: RequestContext, handle: Handle): Promise<Response> {
    this.#inside++;
    try {
      return await handle(c);
    } finally {
      this.#inside--;
    }
  }

  /** Lets a request through when there is room for it. */
  readonly require: Guard = (c) => this.#inside >= REQUESTS_MAX ? fail(c, OVERLOADED) : null;
}

/** What anybody is told while too much is waiting. */
export const OVERLOADED = {
  code: "overloaded",
  message: "Too much is waiting: retry",
} as const;
