/** Bounds how much runs at once, in all and for each team. */

/** How much may run at once. */
export interface ConcurrencyBounds {
  readonly all: number;
  readonly team: number;
}

/** One of the places under a limit, until it is disposed. */
export type Slot = Disposable;

/** Counts what runs, in all and by team. */
export class ConcurrencyLimit {
  readonly #max: ConcurrencyBounds;
  readonly #ofTeam = new Map<string, number>();
  #all = 0;

  constructor(max: ConcurrencyBounds) {
    this.#max = max;
  }

  /** True while no team would get a slot. */
  get isFull(): boolean {
    return this.#all >= this.#max.all;
  }

  /** Returns whether a team has as much as it may have. */
  isTeamFull(team: string): boolean {
    return (this.#ofTeam.get(team) ?? 0) >= this.#max.team;
  }

  /** Returns whether a team would get a slot. */
  hasRoom(team: string): boolean {
    return !this.isFull && !this.isTeamFull(team);
  }

  /** Counts one in. */
  enter(team: string): void {
    this.#ofTeam.set(team, (this.#ofTeam.get(team) ?? 0) + 1);
    this.#all++;
  }

  /** Counts one out. */
  leave(team: string): void {
    this.#all--;
    const left = (this.#ofTeam.get(team) ?? 1) - 1;
    if (left > 0) this.#ofTeam.set(team, left);
    else this.#ofTeam.delete(team);
  }

  /** Takes a slot; null when there is none for the team. */
  acquire(team: string): Slot | null {
    if (!this.hasRoom(team)) return null;
    this.enter(team);
    const slot = new DisposableStack();
    slot.defer(() => this.leave(team));
    return slot;
  }
}
