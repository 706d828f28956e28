/**
 * Refusals of all teams that are not written yet, within a byte limit.
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import { RefusalTally } from "./refusal_tally.ts";
import type { Refusal } from "./refusals.ts";

/** Tallies by team. At the byte limit, the team with the largest tally loses detail first. */
export class PendingRefusals {
  readonly #bytesMax: number;
  readonly #newName: () => string;
  readonly #tallies = new Map<TeamId, RefusalTally>();
  #bytes = 0;

  /**
   * Creates an empty set of tallies.
   *
   * @param bytesMax maximum bytes of all tallies
   * @param newName generates the unique name of a tally
   */
  constructor(bytesMax: number, newName: () => string) {
    this.#bytesMax = bytesMax;
    this.#newName = newName;
  }

  /** Estimated bytes of all tallies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a refusal. */
  note(team: TeamId, refusal: Refusal): void {
    const existing = this.#tallies.get(team);
    const tally = existing ?? new RefusalTally(this.#newName());
    const before = existing?.bytes ?? 0;
    tally.add(refusal);
    if (existing === undefined) this.#tallies.set(team, tally);
    this.#bytes += tally.bytes - before;
    while (this.#bytes > this.#bytesMax) this.#shed();
  }

  /** Returns the tally of a team; undefined for none. */
  of(team: TeamId): RefusalTally | undefined {
    return this.#tallies.get(team);
  }

  /** Removes and returns the tallies of all teams except those in `except`. */
  take(except: ReadonlyMap<TeamId, unknown>): [TeamId, RefusalTally][] {
    const tallies = [...this.#tallies].filter(([team]) => !except.has(team));
    for (const [team] of tallies) this.#remove(team);
    return tallies;
  }

  #shed(): void {
    let [largest] = this.#tallies;
    for (const entry of this.#tallies) {
      if (entry[1].bytes > (largest?.[1].bytes ?? 0)) largest = entry;
    }
    if (largest === undefined) return;
    const [team, tally] = largest;
    const before = tally.bytes;
    if (tally.shed()) this.#bytes += tally.bytes - before;
    // So many teams have refusals that not even their counts fit.
    else this.#remove(team);
  }

  #remove(team: TeamId): void {
    this.#bytes -= this.#tallies.get(team)?.bytes ?? 0;
    this.#tallies.delete(team);
  }
}
