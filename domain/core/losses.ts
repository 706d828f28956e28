/**
 * What of a request is not stored although the call is: it is shown in the answer's headers.
 *
 * @module
 */

/** Names that one header lists; the rest is one entry. */
const NAMES_MAX = 20;

/** Characters of a name that the client chose. */
const NAME_CHARS_MAX = 64;

/** Stands for unknown fields beyond those that are listed. */
const OTHERS = "(other)";

/**
 * Flags of an opening or a close: `dropped_fields` lost the value of a field that could not be read,
 * `truncated` is stored shorter than it was sent.
 */
export type PartFlag = "dropped_fields" | "truncated";

/** Collects what is not stored of one request. Nothing is collected for most. */
export class Losses {
  #dropped: Map<string, number> | null = null;
  #ignored: Set<string> | null = null;
  #lost: Set<string> | null = null;
  #removes = false;
  #cuts = false;

  /**
   * Reports known fields whose value the plan does not keep: no flag says so.
   *
   * @param field name of the field, one of our own names
   */
  drop(field: string, count = 1): void {
    if (count === 0) return;
    this.#dropped ??= new Map();
    this.#dropped.set(field, (this.#dropped.get(field) ?? 0) + count);
  }

  /** Reports known fields whose value could not be read, so that it is not stored as sent. */
  remove(field: string, count = 1): void {
    if (count === 0) return;
    this.#removes = true;
    this.#lose(field);
    this.drop(field, count);
  }

  /** Reports a known field whose value is stored cut to its limit (R7). */
  cut(field: string): void {
    this.#cuts = true;
    this.#lose(field);
    this.drop(field);
  }

  #lose(field: string): void {
    this.#lost ??= new Set();
    this.#lost.add(field);
  }

  /** Reports the fields of an object that its call does not know: nothing of them is stored (R11). */
  ignoreUnknown(sent: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): void {
    for (const field in sent) {
      if (!known.has(field) && !this.#ignore(field)) return;
    }
  }

  /** Notes a name; answers false once no further one is listed. */
  #ignore(field: string): boolean {
    this.#ignored ??= new Set();
    if (this.#ignored.has(OTHERS)) return false;
    const name = field.slice(0, NAME_CHARS_MAX).replaceAll(/[^\w.:-]/g, "?");
    const listed = this.#ignored.has(name) || this.#ignored.size < NAMES_MAX;
    this.#ignored.add(listed ? name : OTHERS);
    return listed;
  }

  /** Whether everything is stored as it was sent. */
  get isEmpty(): boolean {
    return this.#dropped === null && this.#ignored === null;
  }

  /** Flags of the part that the request becomes; undefined for none. */
  get flags(): readonly PartFlag[] | undefined {
    if (!this.#removes && !this.#cuts) return undefined;
    return [
      ...this.#removes ? ["dropped_fields" as const] : [],
      ...this.#cuts ? ["truncated" as const] : [],
    ];
  }

  /** Names of the fields that the flags are about; undefined for none. */
  get lost(): readonly string[] | undefined {
    return this.#lost === null ? undefined : [...this.#lost];
  }

  /** Value of `Runledger-Dropped`, such as `metadata=3, goal=1`; null when nothing was dropped. */
  get dropped(): string | null {
    return this.#dropped === null
      ? null
      : [...this.#dropped].map(([field, count]) => `${field}=${count}`).join(", ");
  }

  /** Value of `Runledger-Ignored`, such as `statuss`; null when every field is known. */
  get ignored(): string | null {
    return this.#ignored === null ? null : [...this.#ignored].join(", ");
  }
}
