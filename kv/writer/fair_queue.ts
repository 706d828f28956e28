/**
 * A queue in which teams take turns: however much one of them has waiting, the others' next write is
 * at most one turn away.
 *
 * @module
 */

/** Waiting members, each in its team's lane. */
export class FairQueue<Member> {
  readonly #lanes = new Map<string, Member[]>();
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** How many of one team wait. */
  sizeOf(team: string): number {
    return this.#lanes.get(team)?.length ?? 0;
  }

  /** Puts a member at the end of its lane, or back at its front. */
  push(team: string, member: Member, end: "back" | "front" = "back"): void {
    const lane = this.#lanes.get(team) ?? [];
    if (lane.length === 0) this.#lanes.set(team, lane);
    if (end === "back") lane.push(member);
    else lane.unshift(member);
    this.#size++;
  }

  /** Offers members one lane after the other until one is declined; that one stays first. */
  take(accept: (member: Member) => boolean): void {
    // A lane put back behind the others is visited again: the loop ends when none is left.
    for (const [team, lane] of this.#lanes) {
      const [first] = lane;
      if (first === undefined || !accept(first)) return;
      lane.shift();
      this.#size--;
      this.#lanes.delete(team);
      if (lane.length > 0) this.#lanes.set(team, lane);
    }
  }
}
