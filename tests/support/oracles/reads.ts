/** Observes the reads of a store. */
import type { Store } from "../../../kv/store.ts";

/** Counts reads of keys of one family until it is disposed. */
export class ReadsOf implements Disposable {
  count = 0;
  /** Maximum reads in parallel. */
  most = 0;
  #now = 0;
  readonly #reader: Deno.Kv;
  readonly #getMany: Deno.Kv["getMany"];

  /** @param before runs before each read */
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
