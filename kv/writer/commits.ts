/**
 * Commits of groups, each as one atomic operation of the store, with its metrics, and with a receipt
 * where a client may send a commit twice.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type BackEnd, LOCKED_RETRY } from "../base/limits.ts";
import { Histogram, SECONDS_BOUNDS } from "../../runtime/metrics.ts";
import { keys, newRowName } from "../base/keys.ts";

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
   * @param isVerified true if another commit has just verified it, in the same turn of the event loop
   * @returns the new version; null on a conflict, after which nothing is stored
   * @throws any error of the store; whether the group was stored is then unknown
   */
  async commit(group: Operation, isVerified: boolean): Promise<string | null> {
    if (!isVerified) this.#requireFiles();
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

/** Bucket bounds for writes per commit; the limit of 100 checks caps most commits. */
const WRITES_BOUNDS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200];

/** Metrics of one writer. */
export class WriterMetrics {
  /** Commits by outcome: `lost` is a conflict with another write; `failed` is unknown. */
  readonly commits = { stored: 0, lost: 0, failed: 0 };
  /** True if the latest commit failed, or has not ended in time. */
  isFailing = false;
  /** Writes per commit. */
  readonly writes: Histogram = new Histogram(WRITES_BOUNDS);
  /** Seconds per commit, including the sync to disk. */
  readonly seconds: Histogram = new Histogram(SECONDS_BOUNDS);

  /**
   * Runs a commit and counts it before the outcome is returned.
   *
   * @param writes number of writes in the commit
   * @param commit returns the new version, or null on a conflict
   */
  async counted(
    writes: number,
    commit: () => Promise<string | null>,
  ): Promise<string | null> {
    const startMs = performance.now();
    let end: keyof typeof this.commits = "failed";
    try {
      const version = await commit();
      end = version === null ? "lost" : "stored";
      return version;
    } finally {
      this.commits[end]++;
      this.isFailing = end === "failed";
      this.writes.observe(writes);
      this.seconds.observe((performance.now() - startMs) / 1_000);
    }
  }
}

/** Milliseconds after which the store removes a receipt; its process has ended or was idle. */
const EXPIRE_MS = 86_400_000;

/** The receipts of one process. */
export class Receipts {
  readonly #kv: Deno.Kv;
  readonly #process = newRowName();
  /** Receipts of no commit in flight. */
  readonly #free: Receipt[] = [];
  #count = 0;

  constructor(kv: Deno.Kv) {
    this.#kv = kv;
  }

  /**
   * Commits an operation together with a receipt.
   *
   * @returns the new version; null on a conflict, after which nothing is stored
   * @throws any error of the store; whether the operation was stored is then unknown
   */
  async commit(operation: Deno.AtomicOperation): Promise<string | null> {
    const receipt = this.#free.pop() ??
      new Receipt(this.#kv, keys.receipt(this.#process, this.#count++));
    try {
      return await receipt.commit(operation);
    } finally {
      this.#free.push(receipt);
    }
  }
}

/** One receipt, of one commit at a time. */
class Receipt {
  readonly #kv: Deno.Kv;
  readonly #key: Deno.KvKey;
  /** Its latest known version; null if it is absent. An older one only costs an attempt. */
  #version: string | null = null;

  constructor(kv: Deno.Kv, key: Deno.KvKey) {
    this.#kv = kv;
    this.#key = key;
  }

  async commit(operation: Deno.AtomicOperation): Promise<string | null> {
    const name = newRowName();
    const result = await operation
      .check({ key: this.#key, versionstamp: this.#version })
      .set(this.#key, name, { expireIn: EXPIRE_MS })
      .commit();
    if (result.ok) return this.#version = result.versionstamp;
    const stored = await this.#kv.get(this.#key);
    this.#version = stored.versionstamp;
    return stored.value === name ? stored.versionstamp : null;
  }
}
