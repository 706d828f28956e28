/**
 * What of a request is not stored although the call is: it is shown in the answer's headers.
 *
 * @module
 */

/** Names that one header lists; the rest is one count. */
const NAMES_MAX = 20;

/** Characters of a name that the client chose. */
const NAME_CHARS_MAX = 64;

/** Collects what is not stored of one request. Nothing is collected for most. */
export class Losses {
  readonly #dropped = new Map<string, number>();
  readonly #ignored = new Map<string, number>();

  /**
   * Reports known fields whose value is not stored as sent: removed, or cut to its limit.
   *
   * @param field name of the field, one of our own names
   */
  drop(field: string, count = 1): void {
    if (count > 0) this.#dropped.set(field, (this.#dropped.get(field) ?? 0) + count);
  }

  /** Reports a field that the call does not know: nothing of it is stored (R11). */
  ignore(field: string): void {
    const name = field.replaceAll(/[^\w.:-]/g, "?").slice(0, NAME_CHARS_MAX);
    const listed = this.#ignored.has(name) || this.#ignored.size < NAMES_MAX ? name : OTHERS;
    this.#ignored.set(listed, (this.#ignored.get(listed) ?? 0) + 1);
  }

  /** Value of `Runledger-Dropped`, such as `metadata=3, goal=1`; null when nothing was dropped. */
  get dropped(): string | null {
    return this.#dropped.size === 0 ? null : [...this.#dropped]
      .map(([field, count]) => `${field}=${count}`).join(", ");
  }

  /** Value of `Runledger-Ignored`, such as `statuss`; null when every field is known. */
  get ignored(): string | null {
    return this.#ignored.size === 0 ? null : [...this.#ignored.keys()].join(", ");
  }
}

/** Stands for unknown fields beyond those that are listed. */
const OTHERS = "(other)";
