/**
 * Commits one operation to disk.
 *
 * @module
 */
import { LOCKED_RETRY } from "../base/limits.ts";

/** An atomic operation, rebuilt for each attempt. */
export interface CommitOperation {
  build(kv: Deno.Kv): Deno.AtomicOperation;
}

/**
 * Commits an operation and verifies that the ledger's files are still in place.
 *
 * @param inPlace returns whether the ledger's files are still the ones that were opened
 * @throws the store's error; whether the data is stored is then unknown
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

/** Retries while another process holds the file lock: nothing was written by such a commit. */
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
