/** Bytes that are on their way, bodies or answers: bounded in all and for each team. */

/** Part of all bytes that one team may have. */
const TEAM_PART = 1 / 4;

/** Counts bytes on their way. */
export class BytesInFlight {
  readonly #max: number;
  readonly #ofTeam = new Map<string, number>();
  #all = 0;

  /** Creates a count of nothing that admits up to so many bytes. */
  constructor(bytesMax: number) {
    this.#max = bytesMax;
  }

  /** Bytes on their way now. */
  get bytes(): number {
    return this.#all;
  }

  /** Counts bytes in; false when there is no room for them, and then nothing is counted. */
  take(team: string, bytes: number): boolean {
    const own = (this.#ofTeam.get(team) ?? 0) + bytes;
    if (this.#all + bytes > this.#max || own > this.#max * TEAM_PART) return false;
    this.#all += bytes;
    this.#ofTeam.set(team, own);
    return true;
  }

  /** Counts bytes out. */
  give(team: string, bytes: number): void {
    this.#all -= bytes;
    const own = (this.#ofTeam.get(team) ?? 0) - bytes;
    if (own > 0) this.#ofTeam.set(team, own);
    else this.#ofTeam.delete(team);
  }
}
