/**
 * Fairness between teams. {@link FairQueue} takes one item of each team in turn. Limits of concurrent
 * work in total and per team: {@link FairSlots} assigns slots to teams in
 * round-robin order: however much work one team has queued, every other team waits for at most one round.
 *
 * @module
 */
import { Overloaded } from "../domain/core/errors.ts";

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
