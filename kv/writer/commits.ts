/**
 * Commits of groups, each as one atomic operation of the store.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type BackEnd, LOCKED_RETRY } from "../base/limits.ts";
import { Receipts } from "./receipts.ts";

/** Dependencies of commits. */
export interface CommitDeps {
  /** Handle for commits. */
  readonly kv: Deno.Kv;
  /** Limits of one commit. */
  readonly limits: BackEnd;
  /** Returns whether the ledger's files are in place; called before and after each commit. */
  readonly inPlace: () => boolean;
}

/** Writes that share a commit. */
interface Operation {
  build(kv: Deno.Kv): Deno.AtomicOperation;
}

/** Commits groups of writes. */
export class Commits {
  readonly #deps: CommitDeps;
  /** Null if the store never repeats a commit. */
  readonly #receipts: Receipts | null;

  constructor(deps: CommitDeps) {
    this.#deps = deps;
    this.#receipts = deps.limits.mayRepeat ? new Receipts(deps.kv) : null;
  }

  /**
   * Commits a group if the ledger's files are in place, and verifies that they still are. Without
   * its lock, another process may have the ledger, and expects to see all of its commits.
   *
   * @returns the new version; null on a conflict, after which nothing is stored
   * @throws any error of the store; whether the group was stored is then unknown
   */
  async commit(group: Operation): Promise<string | null> {
    this.#requireFiles();
    const version = await this.#commitUnlocked(group);
    this.#requireFiles();
    return version;
  }

  /** Retries while another process holds the file lock: nothing was written by such a commit. */
  async #commitUnlocked(group: Operation): Promise<string | null> {
    for (let attempt = 1;; attempt++) {
      try {
        const operation = group.build(this.#deps.kv);
        if (this.#receipts !== null) return await this.#receipts.commit(operation);
        const result = await operation.commit();
        return result.ok ? result.versionstamp : null;
      } catch (error) {
        const locked = error instanceof Error && error.message.includes("database is locked");
        if (!locked || attempt === LOCKED_RETRY.attemptsMax) throw error;
        await sleep(LOCKED_RETRY.pauseMs);
      }
    }
  }

  #requireFiles(): void {
    if (!this.#deps.inPlace()) {
      throw new Error("the ledger's file, log or lock was moved, deleted or replaced");
    }
  }
}
