/**
 * Data of an accepted request that is not stored as sent, reported in the response headers.
 *
 * @module
 */

/** Maximum names listed in one header; further names become one entry. */
const NAMES_MAX = 20;

/** Maximum characters of a name chosen by the client. */
const NAME_CHARS_MAX = 64;

/** Entry for unknown fields beyond {@link NAMES_MAX}. */
const OTHERS = "(other)";

/**
 * Flags of an opening or a close: `dropped_fields` means that a field could not be read and its value
 * is lost, `truncated` means that a value is stored shorter than it was sent.
 */
export type PartFlag = "dropped_fields" | "truncated";

/** Collects the losses of one request. Allocates nothing for a request without losses. */
export class Losses {
  #dropped: Map<string, number> | null = null;
  #ignored: Set<string> | null = null;
  #lost: Set<string> | null = null;
  #removes = false;
  #cuts = false;

  /**
   * Reports known fields whose value is not used, although the run is stored as sent: the plan does
   * not keep it, or it is no part of the run. Sets no flag.
   *
   * @param field name of a field of the API, never a name chosen by the client
   */
  drop(field: string, count = 1): void {
    if (count === 0) return;
    this.#dropped ??= new Map();
    this.#dropped.set(field, (this.#dropped.get(field) ?? 0) + count);
  }

  /** Reports known fields whose value could not be read and is therefore not stored as sent. */
  remove(field: string, count = 1): void {
    if (count === 0) return;
    this.#removes = true;
    this.#lose(field);
    this.drop(field, count);
  }

  /** Reports a known field whose value is truncated to its limit (R7). */
  cut(field: string): void {
    this.#cuts = true;
    this.#lose(field);
    this.drop(field);
  }

  #lose(field: string): void {
    this.#lost ??= new Set();
    this.#lost.add(field);
  }

  /** Reports the fields of a body that are not in `knownFields`; they are not stored (R11). */
  ignoreUnknown(body: Readonly<Record<string, unknown>>, knownFields: ReadonlySet<string>): void {
    for (const field in body) {
      if (!knownFields.has(field) && !this.#ignore(field)) return;
    }
  }

  /** Adds a name; returns false once the list is full. */
  #ignore(field: string): boolean {
    this.#ignored ??= new Set();
    if (this.#ignored.has(OTHERS)) return false;
    const name = field.slice(0, NAME_CHARS_MAX).replaceAll(/[^\w.:-]/g, "?");
    const listed = this.#ignored.has(name) || this.#ignored.size < NAMES_MAX;
    this.#ignored.add(listed ? name : OTHERS);
    return listed;
  }

  /** True if the request is stored exactly as sent. */
  get isEmpty(): boolean {
    return this.#dropped === null && this.#ignored === null;
  }

  /** Flags of the opening or close that the request becomes; undefined for none. */
  get flags(): readonly PartFlag[] | undefined {
    if (!this.#removes && !this.#cuts) return undefined;
    return [
      ...this.#removes ? ["dropped_fields" as const] : [],
      ...this.#cuts ? ["truncated" as const] : [],
    ];
  }

  /** Names of the fields that caused the flags; undefined for none. */
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
