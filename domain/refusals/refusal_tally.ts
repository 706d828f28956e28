/**
 * Refusals of a team that are counted in memory, until they are written.
 *
 * @module
 */
import { ownText } from "../core/text.ts";
import { REFUSAL_LIMITS } from "../core/limits.ts";
import {
  addRefusals,
  hourOf,
  otherOf,
  type Refusal,
  type RefusalGroups,
  type RefusalKind,
} from "./refusals.ts";

/** Bytes of a tally, of a kind and of a refusal without their characters, and of a character. */
const TALLY_BYTES = 400, KIND_BYTES = 250, REFUSAL_BYTES = 250, CHAR_BYTES = 2;

/** Counts and the latest refusals of one team. */
export class RefusalTally {
  /** Tells this tally from all others: a write that was stored is not repeated. */
  readonly name: string;
  /** Kinds by the start of their hour. */
  readonly hours = new Map<number, RefusalGroups>();
  /** The latest refusals, oldest first. */
  readonly latest: Refusal[] = [];
  #bytes = TALLY_BYTES;

  /** Creates a tally of nothing. */
  constructor(name: string) {
    this.name = name;
  }

  /** Bytes that it takes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a refusal. Of a team that asks too often only the first of each kind is kept with its message. */
  add(refusal: Refusal): void {
    const added = this.#count(refusal);
    if (added === null && refusal.code === "rate_limit") return;
    const own = ownRefusal(refusal);
    this.#bytes += refusalBytes(own);
    this.latest.push(own);
    if (this.latest.length > REFUSAL_LIMITS.latest) this.#dropOldest(1);
  }

  /**
   * Frees memory: first the older half of the messages, then all that tells one kind from another.
   *
   * @returns whether anything was freed
   */
  shed(): boolean {
    if (this.latest.length > 0) {
      this.#dropOldest(Math.ceil(this.latest.length / 2));
      return true;
    }
    const before = this.#bytes;
    this.#bytes = TALLY_BYTES;
    for (const [hour, groups] of this.hours) {
      const rest: RefusalGroups = new Map();
      for (const { kind, count } of groups.values()) {
        this.#bytes += kindBytes(addRefusals(rest, otherOf(kind), count));
      }
      this.hours.set(hour, rest);
    }
    return this.#bytes < before;
  }

  #count(refusal: Refusal): RefusalKind | null {
    const hour = hourOf(refusal.at);
    let groups = this.hours.get(hour);
    if (groups === undefined) {
      this.hours.set(hour, groups = new Map());
      this.#bytes += KIND_BYTES;
    }
    const added = addRefusals(groups, refusal, 1, ownKind);
    this.#bytes += kindBytes(added);
    return added;
  }

  #dropOldest(count: number): void {
    for (const refusal of this.latest.splice(0, count)) this.#bytes -= refusalBytes(refusal);
  }
}

/** Copies texts: those of a request would keep its body in memory. */
function ownKind({ code, field, agent, userAgent }: RefusalKind): RefusalKind {
  return {
    code,
    field: field && ownText(field),
    agent: agent && ownText(agent),
    userAgent: userAgent && ownText(userAgent),
  };
}

function ownRefusal(refusal: Refusal): Refusal {
  const { at, message, requestId, route } = refusal;
  return { ...ownKind(refusal), at, message: ownText(message), requestId, route };
}

function charsOf({ code, field, agent, userAgent }: RefusalKind): number {
  return code.length + (field ?? "").length + (agent ?? "").length + (userAgent ?? "").length;
}

/** A kind is held twice: as itself and as its name. */
function kindBytes(kind: RefusalKind | null): number {
  return kind === null ? 0 : KIND_BYTES + 2 * CHAR_BYTES * charsOf(kind);
}

function refusalBytes(refusal: Refusal): number {
  const { message, requestId } = refusal;
  return REFUSAL_BYTES + CHAR_BYTES * (charsOf(refusal) + message.length + requestId.length);
}
