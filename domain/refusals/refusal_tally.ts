/**
 * Refusals of one team, counted in memory until they are written.
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

/** Estimated bytes of a tally, a kind and a refusal without their characters, and of a character. */
const TALLY_BYTES = 400, KIND_BYTES = 250, REFUSAL_BYTES = 250, CHAR_BYTES = 2;

/** Counts and the latest refusals of one team. */
export class RefusalTally {
  /** Unique name, which makes writing the tally idempotent. */
  readonly name: string;
  /** Counts by kind, by start of the hour in unix milliseconds. */
  readonly hours = new Map<number, RefusalGroups>();
  /** The latest refusals, oldest first. */
  readonly latest: Refusal[] = [];
  #bytes = TALLY_BYTES;

  /** Creates an empty tally. */
  constructor(name: string) {
    this.name = name;
  }

  /** Estimated bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a refusal and keeps its message. For `rate_limit`, only the first message of each kind is kept. */
  add(refusal: Refusal): void {
    const added = this.#count(refusal);
    if (added === null && refusal.code === "rate_limit") return;
    const own = ownRefusal(refusal);
    this.#bytes += refusalBytes(own);
    this.latest.push(own);
    if (this.latest.length > REFUSAL_LIMITS.latest) this.#dropOldest(1);
  }

  /**
   * Frees memory: first the older half of the messages, then all details of the kinds except the code.
   *
   * @returns whether any memory was freed
   */
  shed(): boolean {
    if (this.latest.length > 0) {
      this.#dropOldest(Math.ceil(this.latest.length / 2));
      return true;
    }
    const before = this.#bytes;
    this.#bytes = TALLY_BYTES;
    for (const [hour, groups] of this.hours) {
      const byCode: RefusalGroups = new Map();
      for (const { kind, count } of groups.values()) {
        this.#bytes += kindBytes(addRefusals(byCode, otherOf(kind), count));
      }
      this.hours.set(hour, byCode);
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

/** Copies the texts, because slices of a request would keep its body in memory. */
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

/** Returns the bytes of a kind, whose texts are stored twice: in the kind and in its name. */
function kindBytes(kind: RefusalKind | null): number {
  return kind === null ? 0 : KIND_BYTES + 2 * CHAR_BYTES * charsOf(kind);
}

function refusalBytes(refusal: Refusal): number {
  const { message, requestId } = refusal;
  return REFUSAL_BYTES + CHAR_BYTES * (charsOf(refusal) + message.length + requestId.length);
}
