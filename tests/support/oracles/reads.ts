/** The reads of a store, as a test sees them pass. */
import type { Store } from "../../../kv/store.ts";

/** Reads of keys of one family, from when it was made until it is disposed. */
export class ReadsOf implements Disposable {
  /** How many began. */
  count = 0;
  /** The most at once. */
  most = 0;
  #now = 0;
  readonly #reader: Deno.Kv;
  readonly #getMany: Deno.Kv["getMany"];

  /** @param before is waited for by each of them */
  constructor({ reader }: Store, family: string, before: () => Promise<void> = async () => {}) {
    this.#reader = reader;
    this.#getMany = reader.getMany;
    const getMany = async (wanted: readonly Deno.KvKey[]) => {
      if (wanted[0]?.[0] !== family) return await this.#getMany.call(reader, wanted);
      this.count++;
      this.most = Math.max(this.most, ++this.#now);
      try {
        await before();
        return await this.#getMany.call(reader, wanted);
      } finally {
        this.#now--;
      }
    };
    reader.getMany = getMany as Deno.Kv["getMany"];
  }

  [Symbol.dispose](): void {
    this.#reader.getMany = this.#getMany;
  }
}
