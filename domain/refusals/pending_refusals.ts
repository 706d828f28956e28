/**
 * Refusals of all teams that are not written yet, within a number of bytes.
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import { RefusalTally } from "./refusal_tally.ts";
import type { Refusal } from "./refusals.ts";

/** Tallies by team. When there is no room left, the team that holds most gives way. */
export class PendingRefusals {
  readonly #bytesMax: number;
  readonly #newName: () => string;
  readonly #tallies = new Map<TeamId, RefusalTally>();
  #bytes = 0;

  /**
   * Creates tallies of nothing.
   *
   * @param bytesMax what they may take together
   * @param newRowName makes the name of a tally
   */
  constructor(bytesMax: number, newName: () => string) {
    this.#bytesMax = bytesMax;
    this.#newName = newName;
  }

  /** Bytes that they take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a refusal. */
  note(team: TeamId, refusal: Refusal): void {
    const known = this.#tallies.get(team);
    const tally = known ?? new RefusalTally(this.#newName());
    const before = known?.bytes ?? 0;
    tally.add(refusal);
    if (known === undefined) this.#tallies.set(team, tally);
    this.#bytes += tally.bytes - before;
    while (this.#bytes > this.#bytesMax) this.#shed();
  }

  /** Returns the tally of a team. */
  of(team: TeamId): RefusalTally | undefined {
    return this.#tallies.get(team);
  }

  /** Hands over the tallies of all teams but some. */
  take(except: ReadonlyMap<TeamId, unknown>): [TeamId, RefusalTally][] {
    const taken = [...this.#tallies].filter(([team]) => !except.has(team));
    for (const [team] of taken) this.#remove(team);
    return taken;
  }

  #shed(): void {
    let [largest] = this.#tallies;
    for (const each of this.#tallies) if (each[1].bytes > (largest?.[1].bytes ?? 0)) largest = each;
    if (largest === undefined) return;
    const [team, tally] = largest;
    const before = tally.bytes;
    if (tally.shed()) this.#bytes += tally.bytes - before;
    // So many teams are refused at once that not even their counts have room.
    else this.#remove(team);
  }

  #remove(team: TeamId): void {
    this.#bytes -= this.#tallies.get(team)?.bytes ?? 0;
    this.#tallies.delete(team);
  }
}
