/**
 * Keeps the key of sealed secrets in a file next to the ledger. The file is made when the first secret
 * is sealed. A file that cannot be read is never replaced: its key may be needed again.
 *
 * @module
 */
import { dirname } from "node:path";
import { createPrivate, isThere, sealOf } from "../base/files.ts";
import { isShared, type KvLocation } from "../location.ts";
import { givenKey, parseSealKey, SEAL_KEY_BYTES, type SealKeys } from "./seal.ts";

/**
 * Returns the key of a service: the one that is set, else that of its ledger. A shared KV has none of
 * its own, because its instances would make different ones.
 */
export function sealKeysOf(
  ledger: KvLocation,
  setKey: Uint8Array<ArrayBuffer> | null,
): SealKeys {
  if (setKey !== null || isShared(ledger)) return givenKey(setKey);
  return ledger.kind === "file" ? keyFile(ledger.name) : givenKey(newKey());
}

function newKey(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(SEAL_KEY_BYTES));
}

/** Returns the key in the file of a ledger. */
export function keyFile(ledger: string): SealKeys {
  const path = sealOf(ledger);
  let making: Promise<Uint8Array<ArrayBuffer> | null> | null = null;
  const find = () => readKey(path);
  const make = async () => {
    const key = await readKey(path);
    if (key !== null || await isThere(path)) return key;
    return await makeKey(path);
  };
  return {
    find,
    make() {
      // Two calls at once must not make two keys.
      making ??= make().finally(() => making = null);
      return making;
    },
  };
}

async function readKey(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return parseSealKey((await Deno.readTextFile(path)).trim());
  } catch {
    return null;
  }
}

/** Makes a key that is on the disk before anything is sealed with it; null if the disk refuses it. */
async function makeKey(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const key = newKey();
  const partial = `${path}.partial`;
  try {
    if (await isThere(partial)) await Deno.remove(partial);
    await createPrivate(partial);
    {
      using file = await Deno.open(partial, { write: true });
      await file.write(new TextEncoder().encode(`${key.toBase64()}\n`));
      await file.sync();
    }
    await Deno.rename(partial, path);
    using folder = await Deno.open(dirname(path));
    await folder.sync();
    return key;
  } catch {
    return null;
  }
}
