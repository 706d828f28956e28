/**
 * A write of the store: checks, sets, deletes and sums that are committed together.
 *
 * @module
 */
import type { PendingMark } from "./pending_mark.ts";

/** What one caller wants written: all of it is stored, or none. */
export interface Write {
  /** Whose turn it uses; writes of no team share one. */
  readonly team?: string;
  /** Keys that must still have these versions; `null` means must not exist. Never a counter. */
  readonly checks?: readonly Deno.AtomicCheck[];
  /** Amounts to add to counters, which only ever hold sums. */
  readonly sums?: readonly { readonly key: Deno.KvKey; readonly by: bigint }[];
  /** Values to set. A key that is checked is also set: that is what its check protects. */
  readonly sets?: readonly KvSet[];
  /** Keys to remove. */
  readonly deletes?: readonly Deno.KvKey[];
  /** The runs it changes. */
  readonly pending?: readonly PendingMark[];
}

/** A value to set. */
export interface KvSet {
  /** Where. */
  readonly key: Deno.KvKey;
  /** What. */
  readonly value: unknown;
}
