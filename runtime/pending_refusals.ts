/**
 * Refusals of all teams that are not written yet, within a byte limit.
 *
 * @module
 */
import type { TeamId } from "../domain/core/ids.ts";
import { AGENT_CHARS_MAX, REFUSAL_CHARS_MAX, REFUSAL_LIMITS } from "../domain/core/limits.ts";
import { ownText } from "../domain/core/text.ts";
import { dayOf } from "../domain/core/time.ts";
import {
  firstKeptDay,
  type Refusal,
  type RefusalCount,
  type Refusals,
} from "../domain/refusals/refusals.ts";

/** Estimated bytes of a tally without its entries, of a count, and of the longest refusal. */
const TEAM_BYTES = 400, COUNT_BYTES = 100;
const REFUSAL_BYTES = 500 +
  2 * (AGENT_CHARS_MAX + REFUSAL_CHARS_MAX.message + REFUSAL_CHARS_MAX.userAgent +
      REFUSAL_CHARS_MAX.field);

/** Refusals of one team that are written together. */
export interface TeamRefusals {
  /** Unique name, which makes the write idempotent. */
  readonly name: string;
  /** Counts by day and code. */
  counts: { -readonly [Key in keyof RefusalCount]: RefusalCount[Key] }[];
  /** Latest refusals, newest first. */
  readonly latest: Refusal[];
}

/** Estimates the bytes of a tally. */
export function refusalBytes({ counts, latest }: Refusals): number {
  return TEAM_BYTES + COUNT_BYTES * counts.length + REFUSAL_BYTES * latest.length;
}

/** Tallies by team. At the byte limit, the team with the largest tally loses messages first. */
export class PendingRefusals {
  readonly #byTeam = new Map<TeamId, TeamRefusals>();
  #bytes = 0;

  /**
   * Creates an empty set of tallies.
   *
   * @param bytesMax maximum bytes of all tallies
   * @param newName generates the unique name of a tally
   */
  constructor(readonly bytesMax: number, readonly newName: () => string) {}

  /** Estimated bytes of all tallies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a refusal and keeps its message; of `rate_limit`, the first message of a day. */
  note(team: TeamId, refusal: Refusal): void {
    const refusals = this.take(team) ?? { name: this.newName(), counts: [], latest: [] };
    const day = dayOf(refusal.at);
    const counted = refusals.counts.find((count) =>
      count.day === day && count.code === refusal.code
    );
    if (counted === undefined) {
      const first = firstKeptDay(refusal.at);
      refusals.counts = refusals.counts.filter((count) => count.day >= first);
      refusals.counts.push({ day, code: refusal.code, count: 1 });
    } else {
      counted.count++;
    }
    if (counted === undefined || refusal.code !== "rate_limit") {
      refusals.latest.unshift(ownRefusal(refusal));
      refusals.latest.splice(REFUSAL_LIMITS.latest);
    }
    this.#byTeam.set(team, refusals);
    this.#bytes += refusalBytes(refusals);
    while (this.#bytes > this.bytesMax) this.#shed();
  }

  /** Returns the tally of a team; undefined for none. */
  of(team: TeamId): TeamRefusals | undefined {
    return this.#byTeam.get(team);
  }

  /** Returns all tallies. */
  all(): [TeamId, TeamRefusals][] {
    return [...this.#byTeam];
  }

  /** Removes and returns the tally of a team; undefined for none. */
  take(team: TeamId): TeamRefusals | undefined {
    const refusals = this.#byTeam.get(team);
    if (refusals !== undefined) this.#bytes -= refusalBytes(refusals);
    this.#byTeam.delete(team);
    return refusals;
  }

  #shed(): void {
    let [largest] = this.#byTeam;
    for (const entry of this.#byTeam) {
      if (largest === undefined || refusalBytes(entry[1]) > refusalBytes(largest[1])) {
        largest = entry;
      }
    }
    if (largest === undefined) return;
    const [team, { latest }] = largest;
    // So many teams have refusals that not even one message of each fits.
    if (latest.length <= 1) return void this.take(team);
    const dropped = latest.splice(Math.ceil(latest.length / 2));
    this.#bytes -= REFUSAL_BYTES * dropped.length;
  }
}

/** Copies the texts, because slices of a request would keep its body in memory. */
function ownRefusal(refusal: Refusal): Refusal {
  const { field, agent, userAgent, message } = refusal;
  return {
    ...refusal,
    field: field && ownText(field),
    agent: agent && ownText(agent),
    userAgent: userAgent && ownText(userAgent),
    message: ownText(message),
  };
}
