/** Stores for tests below the HTTP stack: in a separate folder, or left by a process. */
import { Memory } from "../../../runtime/memory.ts";
import { assert } from "@std/assert";
import type { TeamId } from "../../../domain/core/ids.ts";
import { keys } from "../../../kv/base/keys.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { makeMemoryFolder } from "./memory_folder.ts";
import { fixture } from "./fixture.ts";

/** Options of stores of tests that are not about deadlines: a machine may be busy for seconds. */
export const PATIENT = { deadlineMs: 30_000 } as const;

/** An open store. Always `await using`. */
export class TempStore implements AsyncDisposable {
  static readonly test = fixture(() => TempStore.open());

  readonly path: string;
  readonly folder: string;
  #store: OpenStore;

  private constructor(folder: string, path: string, store: OpenStore) {
    this.folder = folder;
    this.path = path;
    this.#store = store;
  }

  /** Opens a store on a new file, or on a copy of another store's closed file. */
  static async open(
    copied?: Uint8Array,
    { hasBell = false }: { readonly hasBell?: boolean } = {},
  ): Promise<TempStore> {
    const folder = await makeMemoryFolder();
    const path = `${folder}/test.kv`;
    if (copied !== undefined) await Deno.writeFile(path, copied);
    return new TempStore(
      folder,
      path,
      await openStore(path, new Memory(), { hasBell, ...PATIENT }),
    );
  }

  get store(): OpenStore {
    return this.#store;
  }

  /** Closes the store and returns the bytes of its file. */
  async close(): Promise<Uint8Array> {
    await this.#store.close();
    return await Deno.readFile(this.path);
  }

  /** Closes the store and reopens it on the same file. */
  async reopen(): Promise<OpenStore> {
    await this.#store.close();
    return this.#store = await openStore(this.path, new Memory(), PATIENT);
  }

  async keysBelow(prefix: Deno.KvKey): Promise<Deno.KvKey[]> {
    return await Array.fromAsync(this.#store.reader.list({ prefix }), ({ key }) => key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Returns the declaration of tests of what `make` returns over an empty store. */
export function overStore<P>(make: (store: OpenStore) => P | Promise<P>) {
  return (name: string, body: (process: P) => void | Promise<void>): void =>
    TempStore.test(name, async ({ store }) => await body(await make(store)));
}

/** Returns ASCII text that compresses as badly as JSON text can, the same for the same seed. */
export function noise(chars: number, seed = 1): string {
  let state = seed;
  const codes = Array.from({ length: chars }, () => {
    // The low bits of this generator repeat early, the high ones do not.
    state = Math.imul(state, 1_664_525) + 1_013_904_223 | 0;
    const code = 35 + (state >>> 16) % 91;
    return code === 92 ? 33 : code;
  });
  const chunks: string[] = [];
  for (let at = 0; at < codes.length; at += 10_000) {
    chunks.push(String.fromCharCode(...codes.slice(at, at + 10_000)));
  }
  return chunks.join("");
}

export async function withFolder<T>(test: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "runledger-" });
  try {
    return await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Declares tests with a new folder. */
export const inFolder = {
  test: (name: string, test: (folder: string) => Promise<void>): void =>
    Deno.test(name, () => withFolder(test)),
};

/** Runs `work` on a store that no process has open. */
export async function onStore<T>(path: string, work: (store: OpenStore) => Promise<T>): Promise<T> {
  const store = await openStore(path, new Memory(), PATIENT);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Runs `work` on a store that no process has open, and on its first team. */
export function withStore<T>(
  path: string,
  work: (store: OpenStore, team: TeamId) => Promise<T>,
): Promise<T> {
  return onStore(path, async (store) => {
    const { value } = await store.reader.get<TeamId>(keys.firstTeam());
    assert(value !== null);
    return await work(store, value);
  });
}

/** Range of bytes near the middle of a filled store's file. */
export const MIDDLE = { from: 100_000, to: 200_000 } as const;

/** Writes a store of many pages and closes it, so that everything is in its one file. */
export async function fillStore(path: string): Promise<void> {
  const store = await openStore(path, new Memory(), PATIENT);
  for (let n = 0; n < 40; n++) {
    const sets = Array.from({ length: 10 }, (_, i) => ({
      key: ["filler", n, i],
      value: new Uint8Array(2_000).fill(n),
    }));
    await store.writer.commit({ sets });
  }
  await store.close();
}
