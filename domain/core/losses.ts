/**
 * Data of an accepted request that is not stored as sent, reported in the response headers.
 *
 * @module
 */

import { ownText } from "./text.ts";

/** Maximum names of unknown fields that are listed; further names become one entry. */
const NAMES_MAX = 10;

/** Maximum characters of a name chosen by the client. */
const NAME_CHARS_MAX = 40;

/** A credential that a client sent as a name, such as `?apk_eu_…` without `key=`. */
const CREDENTIAL = /(apk|ping|opk)_[a-z]{2}_\w*/g;

/** Entry for unknown fields beyond {@link NAMES_MAX}. */
const OTHERS = "(other)";

/**
 * Flags of an opening or a close: `dropped_fields` means that a field could not be read and its value
 * is lost, `ignored_fields` that the call does not know a field, `truncated` that a value is stored
 * shorter than it was sent.
 */
export type PartFlag = "dropped_fields" | "ignored_fields" | "truncated";

/** Losses as a part of a run stores them; all are absent for none. */
export interface StoredLosses {
  /** Flags for data of the call that was lost. */
  readonly flags?: readonly PartFlag[] | undefined;
  /** Names of the lost fields. */
  readonly lost?: readonly string[] | undefined;
  /** Names of the unknown fields (R24). */
  readonly ignored?: readonly string[] | undefined;
}

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

  /**
   * Reports the fields of a body that are not in `knownFields`; they are not stored (R11).
   *
   * @returns their names; undefined for none
   */
  ignoreUnknown(
    body: Readonly<Record<string, unknown>>,
    knownFields: ReadonlySet<string>,
  ): readonly string[] | undefined {
    let names: Set<string> | undefined;
    for (const field in body) {
      if (!knownFields.has(field)) addName(names ??= new Set(), nameOf(field));
    }
    if (names === undefined) return undefined;
    this.#ignored ??= new Set();
    for (const name of names) addName(this.#ignored, name);
    return [...names];
  }

  /** True if the request is stored exactly as sent. */
  get isEmpty(): boolean {
    return this.#dropped === null && this.#ignored === null;
  }

  /** Losses of the opening or close that the request becomes. */
  get stored(): StoredLosses {
    if (this.#lost === null && this.#ignored === null) return NONE;
    return {
      flags: [
        ...this.#removes ? ["dropped_fields" as const] : [],
        ...this.#ignored === null ? [] : ["ignored_fields" as const],
        ...this.#cuts ? ["truncated" as const] : [],
      ],
      lost: this.#lost === null ? undefined : [...this.#lost],
      ignored: this.ignoredNames,
    };
  }

  /** Names of the unknown fields, bounded and printable; undefined for none. */
  get ignoredNames(): readonly string[] | undefined {
    return this.#ignored === null ? undefined : [...this.#ignored];
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

const NONE: StoredLosses = { flags: undefined, lost: undefined, ignored: undefined };

/** Adds a name to a bounded list. */
function addName(names: Set<string>, name: string): void {
  if (names.has(OTHERS)) return;
  names.add(names.has(name) || names.size < NAMES_MAX ? name : OTHERS);
}

/** Returns a name chosen by the client as it is shown: short, and without what may be a secret. */
function nameOf(field: string): string {
  if (field === "") return "(empty)";
  const name = field.slice(0, NAME_CHARS_MAX).replaceAll(/[^\w.:-]/g, "?");
  // A copy, because a slice would retain the request in memory.
  return ownText(name.replaceAll(CREDENTIAL, "(credential)"));
}
