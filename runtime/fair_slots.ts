/**
 * Concurrent work: fairness between teams, and locks.
 *
 * {@link FairQueue} takes one item of each team in turn. {@link FairSlots} assigns slots to teams in
 * round-robin order: however much work one team has queued, every other team waits for at most one
 * round. {@link KeyedMutex} runs work for one name one at a time, in order; commits still carry
 * checks, because another process may write the same key.
 *
 * @module
 */
import { Overloaded, StorageUnavailable } from "../domain/core/errors.ts";
import type { Deadlines, Wait } from "./deadlines.ts";

/** Maximum concurrent holders, in total and per team. */
export interface ConcurrencyBounds {
  /** Holders of all teams together. */
  readonly all: number;
  /** Holders of one team. */
  readonly team: number;
}

/** A slot under a limit; dispose of it to release it. */
export type Slot = Disposable;

/** Counts slots in use, in total and per team. */
export class ConcurrencyLimit {
  readonly #max: ConcurrencyBounds;
  readonly #ofTeam = new Map<string, number>();
  #all = 0;

  /** Creates a limit without holders. */
  constructor(max: ConcurrencyBounds) {
    this.#max = max;
  }

  /** True while no team can get a slot. */
  get isFull(): boolean {
    return this.#all >= this.#max.all;
  }

  /** Returns whether a team has used all its slots. */
  isTeamFull(team: string): boolean {
    return (this.#ofTeam.get(team) ?? 0) >= this.#max.team;
  }

  /** Returns whether a team can get a slot. */
  hasFreeSlot(team: string): boolean {
    return !this.isFull && !this.isTeamFull(team);
  }

  /** Takes a slot unconditionally. */
  enter(team: string): void {
    this.#ofTeam.set(team, (this.#ofTeam.get(team) ?? 0) + 1);
    this.#all++;
  }

  /** Releases a slot. */
  leave(team: string): void {
    this.#all--;
    const remaining = (this.#ofTeam.get(team) ?? 1) - 1;
    if (remaining > 0) this.#ofTeam.set(team, remaining);
    else this.#ofTeam.delete(team);
  }

  /** Takes a slot; null when none is free for the team. */
  acquire(team: string): Slot | null {
    if (!this.hasFreeSlot(team)) return null;
    this.enter(team);
    const slot = new DisposableStack();
    slot.defer(() => this.leave(team));
    return slot;
  }
}

/** Limits on running and waiting work. */
export interface SlotLimits extends ConcurrencyBounds {
  /** Maximum waiting work of all teams. */
  readonly waiting: number;
  /** Maximum waiting work of one team. */
  readonly teamWaiting: number;
}

/** Bounded set of slots with a fair queue. */
export class FairSlots extends ConcurrencyLimit {
  readonly #limits: SlotLimits;
  /** Callers that wait, by team; the team to serve next comes first. */
  readonly #queues = new Map<string, (() => void)[]>();
  #waitingAll = 0;

  /** Creates free slots. */
  constructor(limits: SlotLimits) {
    super(limits);
    this.#limits = limits;
  }

  /** Waiting work of all teams. */
  get waiting(): number {
    return this.#waitingAll;
  }

  /**
   * Waits for a slot.
   *
   * @param signal cancels the wait; its reason is thrown
   * @returns a function that releases the slot; call it once
   * @throws {Overloaded} when the queue is full
   */
  async take(team: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.hasFreeSlot(team)) this.enter(team);
    else await this.#wait(team, signal);
    return () => {
      this.leave(team);
      this.#beginNext();
    };
  }

  #beginNext(): void {
    for (const [team, queue] of this.#queues) {
      if (!this.hasFreeSlot(team)) continue;
      const begin = queue.shift();
      this.#queues.delete(team);
      // Reinserting moves the team to the end of the round.
      if (queue.length > 0) this.#queues.set(team, queue);
      this.#waitingAll--;
      this.enter(team);
      begin?.();
      return;
    }
  }

  #wait(team: string, signal: AbortSignal): Promise<void> {
    const queue = this.#queues.get(team) ?? [];
    const { waiting, teamWaiting } = this.#limits;
    if (this.#waitingAll >= waiting || queue.length >= teamWaiting) {
      throw new Overloaded("Too many reads are waiting");
    }
    this.#queues.set(team, queue);
    this.#waitingAll++;
    return new Promise((resolve, reject) => {
      const abort = () => {
        queue.splice(queue.indexOf(begin), 1);
        this.#waitingAll--;
        if (queue.length === 0 && this.#queues.get(team) === queue) this.#queues.delete(team);
        reject(signal.reason);
      };
      const begin = () => {
        signal.removeEventListener("abort", abort);
        resolve();
      };
      queue.push(begin);
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}

/** Queued members, one lane per team. */
export class FairQueue<Member> {
  readonly #lanes = new Map<string, Member[]>();
  #size = 0;

  /** Number of queued members. */
  get size(): number {
    return this.#size;
  }

  /** Number of queued members of one team. */
  sizeOf(team: string): number {
    return this.#lanes.get(team)?.length ?? 0;
  }

  /** Adds a member at the back of its lane, or returns it to the front. */
  push(team: string, member: Member, end: "back" | "front" = "back"): void {
    const lane = this.#lanes.get(team) ?? [];
    if (lane.length === 0) this.#lanes.set(team, lane);
    if (end === "back") lane.push(member);
    else lane.unshift(member);
    this.#size++;
  }

  /** Removes a queued member. */
  remove(team: string, member: Member): void {
    const lane = this.#lanes.get(team) ?? [];
    const at = lane.indexOf(member);
    if (at < 0) return;
    lane.splice(at, 1);
    this.#size--;
    if (lane.length === 0) this.#lanes.delete(team);
  }

  /** Offers members lane by lane until one is declined; that one stays first. */
  take(accept: (member: Member) => boolean): void {
    // A lane appended to the map again is visited again: the loop ends when no lane is left.
    for (const [team, lane] of this.#lanes) {
      do {
        const [first] = lane;
        if (first === undefined || !accept(first)) return;
        lane.shift();
        this.#size--;
        // A team alone has all turns.
      } while (this.#lanes.size === 1 && lane.length > 0);
      this.#lanes.delete(team);
      if (lane.length > 0) this.#lanes.set(team, lane);
    }
  }
}

/**
 * Maximum number of waiting tasks per name and across all names; bounded because each waiter keeps
 * its request in memory.
 */
const WAITING = { name: 64, all: 1_024 };

/**
 * Waiting tasks where many may arrive at one moment: requests with new agents after a start, and pings
 * of one agent's jobs that end together.
 */
export const BURST = { name: 1_024, all: 4_096 } as const;

/** A task waiting for its name. */
interface Waiter {
  readonly begin: () => void;
  wait: Wait | undefined;
}

/** Runs tasks for one name sequentially; different names do not wait for each other. */
export class KeyedMutex {
  readonly #deadlines: Deadlines | undefined;
  readonly #limits: typeof WAITING;
  /** Waiters by name; a name in the map is locked. */
  readonly #waiters = new Map<string, Waiter[]>();
  #waiting = 0;

  /** Creates free locks. Without deadlines, tasks wait without a limit. */
  constructor(deadlines?: Deadlines, limits = WAITING) {
    this.#deadlines = deadlines;
    this.#limits = limits;
  }

  /**
   * Runs `work` after all earlier work for this name has settled.
   *
   * @throws {Overloaded} when too many tasks wait
   * @throws {StorageUnavailable} when the deadline passes while waiting; `work` then never starts
   */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const waiters = this.#waiters.get(name);
    if (waiters === undefined) this.#waiters.set(name, []);
    else await this.#waitIn(waiters);
    try {
      return await work();
    } finally {
      this.#pass(name);
    }
  }

  /** Runs `work` while holding the locks of all names. */
  takeAll<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    // All callers lock in the same order, so no two can deadlock.
    const inOrder = [...new Set(names)].sort();
    const take = (inner: () => Promise<T>, name: string) => () => this.take(name, inner);
    return inOrder.reduceRight(take, work)();
  }

  #waitIn(waiters: Waiter[]): Promise<void> {
    if (waiters.length >= this.#limits.name || this.#waiting >= this.#limits.all) {
      throw new Overloaded("Too many requests are waiting for the same run or team");
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { begin: resolve, wait: undefined };
    waiter.wait = this.#deadlines?.watch(() => {
      waiters.splice(waiters.indexOf(waiter), 1);
      this.#waiting--;
      reject(new StorageUnavailable("The store did not answer in time"));
    });
    waiters.push(waiter);
    this.#waiting++;
    return promise;
  }

  /** Passes the lock to the longest waiter. */
  #pass(name: string): void {
    const next = this.#waiters.get(name)?.shift();
    if (next === undefined) {
      this.#waiters.delete(name);
      return;
    }
    this.#waiting--;
    if (next.wait !== undefined) this.#deadlines?.done(next.wait);
    next.begin();
  }
}
