/** Limits concurrency in total and per team. */

/** Maximum concurrent holders, in total and per team. */
export interface ConcurrencyBounds {
  readonly all: number;
  readonly team: number;
}

/** A slot under a limit; dispose of it to release it. */
export type Slot = Disposable;

/** Counts slots in use, in total and per team. */
export class ConcurrencyLimit {
  readonly #max: ConcurrencyBounds;
  readonly #ofTeam = new Map<string, number>();
  #all = 0;

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
