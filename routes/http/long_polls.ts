/**
 * Calls that wait for something, and live streams: they are not at work meanwhile, so that they are counted
 * apart from those that are.
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Problem } from "../../domain/core/errors.ts";
import { LISTENERS_MAX } from "../../domain/core/limits.ts";
import { Memory } from "../../domain/core/memory.ts";
import { fail } from "./answer.ts";
import type { RequestContext } from "./context.ts";
import { BytesInFlight } from "./bytes_in_flight.ts";
import type { ConcurrencyLimit } from "./admission.ts";

/** Seconds after which a team that has too many open may try again. */
const RETRY_SECONDS = "1";

/** A place among those who wait, until it is disposed. */
export interface Slot extends Disposable {
  /** Tells it from a refusal. */
  readonly kind: "seat";
}

/** Everybody who waits. */
export class LongPolls {
  /** Aborted when the process shuts down. */
  readonly shuttingDown: AbortSignal;
  /** Text that clients of live streams have not taken yet. */
  readonly texts: BytesInFlight;
  readonly #room: ConcurrencyLimit;
  readonly #ofTeam = new Map<TeamId, number>();
  #all = 0;

  /** Nobody waits yet. */
  constructor(room: ConcurrencyLimit, leaving: AbortSignal, memory = new Memory()) {
    this.#room = room;
    this.shuttingDown = leaving;
    this.texts = new BytesInFlight(memory.bytesMax("live"));
    memory.register("live", () => this.texts.bytes);
  }

  /** Whether somebody of a team would find a seat. */
  hasSlot(team: TeamId): boolean {
    return this.#of(team) < LISTENERS_MAX.team && this.#all < LISTENERS_MAX.process;
  }

  /** Takes a seat, or says why there is none. */
  acquire(c: RequestContext): Slot | Response {
    const { id } = c.get("principal").team;
    const own = this.#of(id);
    if (own >= LISTENERS_MAX.team) return fail(c, TEAM_FULL, { "Retry-After": RETRY_SECONDS });
    if (this.#all >= LISTENERS_MAX.process) return fail(c, PROCESS_FULL);
    this.#all++;
    this.#ofTeam.set(id, own + 1);
    let isTaken = true;
    return {
      kind: "seat",
      [Symbol.dispose]: () => {
        if (!isTaken) return;
        isTaken = false;
        this.#all--;
        const left = this.#of(id) - 1;
        if (left > 0) this.#ofTeam.set(id, left);
        else this.#ofTeam.delete(id);
      },
    };
  }

  #of(team: TeamId): number {
    return this.#ofTeam.get(team) ?? 0;
  }

  /**
   * Does something in a seat, out of the room of those at work.
   *
   * @param work is given a signal that ends its wait: after so many milliseconds, when the client is gone,
   * or when the process shuts down
   */
  async park(
    c: RequestContext,
    ms: number,
    work: (signal: AbortSignal) => Promise<Response>,
  ): Promise<Response> {
    const taken = this.acquire(c);
    if (taken instanceof Response) return taken;
    using _seat = taken;
    const team = c.get("principal").team.id;
    const over = new AbortController();
    const end = () => over.abort();
    const timer = setTimeout(end, ms);
    const others = [this.shuttingDown, c.req.raw.signal];
    for (const other of others) other.addEventListener("abort", end);
    if (others.some(({ aborted }) => aborted)) end();
    this.#room.leave(team);
    try {
      return await work(over.signal);
    } finally {
      this.#room.enter(team);
      clearTimeout(timer);
      for (const other of others) other.removeEventListener("abort", end);
    }
  }
}

const TEAM_FULL: Problem = {
  code: "rate_limit",
  message: `The team has ${LISTENERS_MAX.team} live streams and waiting calls open: close some, ` +
    "then retry",
};

const PROCESS_FULL: Problem = {
  code: "overloaded",
  message: "Too many live streams and waiting calls are open: retry, or ask without waiting",
};
