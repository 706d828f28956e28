/**
 * A queue in which teams take turns: however many writes one team has queued, another team's next
 * write is at most one turn away.
 *
 * @module
 */

/** Queued members, one lane per team. */
export class FairQueue<Member> {
  readonly #lanes = new Map<string, Member[]>();
  #size = 0;

  /** Number of queued members. */
  get size(): number {
    return this.#size;
  }

  /** Number of queued members of one team. */
  sizeOf(team: string): number {
    return this.#lanes.get(team)?.length ?? 0;
  }

  /** Adds a member at the back of its lane, or returns it to the front. */
  push(team: string, member: Member, end: "back" | "front" = "back"): void {
    const lane = this.#lanes.get(team) ?? [];
    if (lane.length === 0) this.#lanes.set(team, lane);
    if (end === "back") lane.push(member);
    else lane.unshift(member);
    this.#size++;
  }

  /** Removes a queued member. */
  remove(team: string, member: Member): void {
    const lane = this.#lanes.get(team) ?? [];
    const at = lane.indexOf(member);
    if (at < 0) return;
    lane.splice(at, 1);
    this.#size--;
    if (lane.length === 0) this.#lanes.delete(team);
  }

  /** Offers members lane by lane until one is declined; that one stays first. */
  take(accept: (member: Member) => boolean): void {
    // A lane appended to the map again is visited again: the loop ends when no lane is left.
    for (const [team, lane] of this.#lanes) {
      do {
        const [first] = lane;
        if (first === undefined || !accept(first)) return;
        lane.shift();
        this.#size--;
        // A team alone has all turns.
      } while (this.#lanes.size === 1 && lane.length > 0);
      this.#lanes.delete(team);
      if (lane.length > 0) this.#lanes.set(team, lane);
    }
  }
}
