/**
 * Limits of concurrent work in total and per team. {@link FairSlots} assigns slots to teams in
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
  hasRoom(team: string): boolean {
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
    if (!this.hasRoom(team)) return null;
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
    if (this.hasRoom(team)) this.enter(team);
    else await this.#wait(team, signal);
    return () => {
      this.leave(team);
      this.#beginNext();
    };
  }

  #beginNext(): void {
    for (const [team, queue] of this.#queues) {
      if (!this.hasRoom(team)) continue;
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
