/**
 * One commit, from the operation to the disk.
 *
 * @module
 */
import type { Doorbell } from "./doorbell.ts";
import { LOCKED_RETRY } from "../kv_limits.ts";

/** What is committed: built anew for each try. */
export interface Operation {
  /** Whether it changes a run. */
  readonly hasMarks: boolean;
  /** Builds it. */
  build(kv: Deno.Kv): Deno.AtomicOperation;
}

/**
 * Commits an operation to where the ledger is.
 *
 * @param inPlace whether what is committed is still found there
 * @throws what the store throws; whether it is stored is then unknown
 */
export async function commitInPlace(
  kv: Deno.Kv,
  operation: Operation,
  doorbell: Doorbell,
  inPlace: () => boolean,
): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
  const result = await commitUnlocked(kv, operation, doorbell);
  if (!inPlace()) throw new Error("the ledger's file was moved, deleted or replaced");
  return result;
}

/** Another process's lock on the file passes; nothing was written and the commit can be repeated. */
async function commitUnlocked(
  kv: Deno.Kv,
  group: Operation,
  doorbell: Doorbell,
): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
  for (let attempt = 1;; attempt++) {
    try {
      return await commitOnce(group.build(kv), group.hasMarks ? doorbell : null);
    } catch (error) {
      const locked = error instanceof Error && error.message.includes("database is locked");
      if (!locked || attempt === LOCKED_RETRY.attemptsMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOCKED_RETRY.pauseMs));
    }
  }
}

async function commitOnce(
  operation: Deno.AtomicOperation,
  doorbell: Doorbell | null,
): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
  const carriesBell = doorbell?.addTo(operation) ?? false;
  let stored = false;
  try {
    const result = await operation.commit();
    stored = result.ok;
    return result;
  } finally {
    // A bell that did not go out must not keep the next one back.
    if (carriesBell && !stored) doorbell?.missed();
  }
}
