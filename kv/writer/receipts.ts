/**
 * Receipts: rows that show whether a commit was stored when its answer was lost.
 *
 * The client of a shared KV sends a commit again when its answer is lost. If the first one was
 * stored, the second conflicts with it, and the client reports a conflict. So every commit also
 * checks and sets a receipt: after a conflict, the receipt shows what became of the commit. It also
 * makes a repeated commit conflict that checks nothing else, so that none is stored twice.
 *
 * @module
 */
import { keys } from "../base/keys.ts";
import { newRowName } from "../base/names.ts";

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
