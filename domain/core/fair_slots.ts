/**
 * Slots for work that teams take in turn: however much one team has waiting, another team's next work
 * is at most one turn away.
 *
 * @module
 */
import { Overloaded } from "./errors.ts";

/** How much work may run and wait. */
export interface SlotLimits {
  /** Work running at once, in all. */
  readonly all: number;
  /** Work of one team running at once. */
  readonly team: number;
  /** Work waiting, in all. */
  readonly waiting: number;
  /** Work of one team waiting. */
  readonly teamWaiting: number;
}

interface Waiter {
  readonly begin: () => void;
}

/** A bounded set of slots and the queue for them. */
export class FairSlots {
  readonly #limits: SlotLimits;
  /** Queues of teams; the team whose turn is next comes first. */
  readonly #queues = new Map<string, Waiter[]>();
  readonly #running = new Map<string, number>();
  #runningAll = 0;
  #waitingAll = 0;

  /** Creates free slots. */
  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Work that waits, in all. */
  get waiting(): number {
    return this.#waitingAll;
  }

  /**
   * Waits for a slot.
   *
   * @param signal ends the wait; its reason is thrown
   * @returns a function that gives the slot back, to be called once
   * @throws {Overloaded} when too much waits already
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
    const left = (this.#running.get(team) ?? 1) - 1;
    if (left > 0) this.#running.set(team, left);
    else this.#running.delete(team);
    this.#beginNext();
  }

  #beginNext(): void {
    for (const [team, queue] of this.#queues) {
      if (!this.#mayRun(team)) continue;
      const waiter = queue.shift();
      this.#queues.delete(team);
      // To the back of the line of teams.
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
