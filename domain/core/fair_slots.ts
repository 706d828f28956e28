/**
 * Slots assigned to teams in round-robin order: however much work one team has queued, every other
 * team waits for at most one round.
 *
 * @module
 */
import { Overloaded } from "./errors.ts";

/** Limits on running and waiting work. */
export interface SlotLimits {
  /** Maximum running work of all teams. */
  readonly all: number;
  /** Maximum running work of one team. */
  readonly team: number;
  /** Maximum waiting work of all teams. */
  readonly waiting: number;
  /** Maximum waiting work of one team. */
  readonly teamWaiting: number;
}

interface Waiter {
  readonly begin: () => void;
}

/** Bounded set of slots with a fair queue. */
export class FairSlots {
  readonly #limits: SlotLimits;
  /** Queue of each team; the team to serve next comes first. */
  readonly #queues = new Map<string, Waiter[]>();
  readonly #running = new Map<string, number>();
  #runningAll = 0;
  #waitingAll = 0;

  /** Creates free slots. */
  constructor(limits: SlotLimits) {
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
    if (!this.#mayRun(team)) await this.#wait(team, signal);
    else this.#begin(team);
    return () => this.#end(team);
  }

  #mayRun(team: string): boolean {
    return this.#runningAll < this.#limits.all &&
      (this.#running.get(team) ?? 0) < this.#limits.team;
  }

  #begin(team: string): void {
    this.#runningAll++;
    this.#running.set(team, (this.#running.get(team) ?? 0) + 1);
  }

  #end(team: string): void {
    this.#runningAll--;
    const running = (this.#running.get(team) ?? 1) - 1;
    if (running > 0) this.#running.set(team, running);
    else this.#running.delete(team);
    this.#beginNext();
  }

  #beginNext(): void {
    for (const [team, queue] of this.#queues) {
      if (!this.#mayRun(team)) continue;
      const waiter = queue.shift();
      this.#queues.delete(team);
      // Reinserting moves the team to the end of the round.
      if (queue.length > 0) this.#queues.set(team, queue);
      if (waiter === undefined) continue;
      this.#waitingAll--;
      this.#begin(team);
      waiter.begin();
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
        const at = queue.indexOf(waiter);
        if (at < 0) return;
        queue.splice(at, 1);
        this.#waitingAll--;
        if (queue.length === 0 && this.#queues.get(team) === queue) this.#queues.delete(team);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        begin: () => {
          signal.removeEventListener("abort", abort);
          resolve();
        },
      };
      queue.push(waiter);
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}
