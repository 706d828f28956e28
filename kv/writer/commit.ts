/**
 * One commit, from the operation to the disk.
 *
 * @module
 */
import { LOCKED_RETRY } from "../base/limits.ts";

/** What is committed: built anew for each try. */
export interface CommitOperation {
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
  operation: CommitOperation,
  inPlace: () => boolean,
): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
  const result = await commitUnlocked(kv, operation);
  if (!inPlace()) throw new Error("the ledger's file, log or lock was moved, deleted or replaced");
  return result;
}

/** Another process's lock on the file passes; nothing was written and the commit can be repeated. */
async function commitUnlocked(
  kv: Deno.Kv,
  operation: CommitOperation,
): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
  for (let attempt = 1;; attempt++) {
    try {
      return await operation.build(kv).commit();
    } catch (error) {
      const locked = error instanceof Error && error.message.includes("database is locked");
      if (!locked || attempt === LOCKED_RETRY.attemptsMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOCKED_RETRY.pauseMs));
    }
  }
}
