/**
 * A write of the store: checks, sets, deletes and sums that are committed together.
 *
 * @module
 */
import type { PendingMark } from "./pending_mark.ts";

/** One caller's mutations: all of them are stored, or none. */
export interface Write {
  /** Team whose turn in the queue it uses; writes without a team share one. */
  readonly team?: string;
  /** Keys that must still have these versions; `null` means absent. Never a counter. */
  readonly checks?: readonly Deno.AtomicCheck[];
  /** Amounts to add to sum counters. */
  readonly sums?: readonly { readonly key: Deno.KvKey; readonly by: bigint }[];
  /** Values to set. A checked key is also set: the check protects that value. */
  readonly sets?: readonly KvSet[];
  readonly deletes?: readonly Deno.KvKey[];
  /** Runs that the write changes. */
  readonly pending?: readonly PendingMark[];
  /** True if background work changes them, so that other work does not rest for it. */
  readonly isBackground?: boolean;
}

export interface KvSet {
  readonly key: Deno.KvKey;
  readonly value: unknown;
  /** Milliseconds after which the store removes the value; absent for never. */
  readonly expireIn?: number;
}
