/**
 * Seals secrets with AES-256-GCM (decision 52). Team, object and field are authenticated with each
 * one, so that a sealed secret opens at its own place only.
 *
 * @module
 */
import type { Environment } from "../../domain/core/environment.ts";
import type { Sealer, SecretPlace } from "../../domain/channels/secrets.ts";

/** Bytes of a key. */
export const SEAL_KEY_BYTES = 32;

/** Bytes of an initialization vector, which precedes the ciphertext. */
const IV_BYTES = 12;

/** Characters of a secret that reads show. */
const HINT_CHARS = 4;

/** Finds the key. */
export interface SealKeys {
  /** Returns the key; null if there is none. */
  find(): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Returns the key, and makes one if there is none; null if it cannot be made here. */
  make(): Promise<Uint8Array<ArrayBuffer> | null>;
}

/** Creates a sealer. The key is read when it is needed. */
export function createSealer(keys: SealKeys, { random }: Pick<Environment, "random">): Sealer {
  return {
    async seal(place, secret) {
      const key = await imported(await keys.make());
      if (key === null) return null;
      const iv = new Uint8Array(random(IV_BYTES));
      const text = new TextEncoder().encode(secret);
      const sealed = await crypto.subtle.encrypt(parametersOf(place, iv), key, text);
      const bytes = new Uint8Array(IV_BYTES + sealed.byteLength);
      bytes.set(iv);
      bytes.set(new Uint8Array(sealed), IV_BYTES);
      return { sealed: bytes, hint: secret.slice(-HINT_CHARS) };
    },
    async open(place, { sealed }) {
      const key = await imported(await keys.find());
      if (key === null) return null;
      const iv = new Uint8Array(sealed.subarray(0, IV_BYTES));
      const ciphertext = new Uint8Array(sealed.subarray(IV_BYTES));
      try {
        const text = await crypto.subtle.decrypt(parametersOf(place, iv), key, ciphertext);
        return new TextDecoder().decode(text);
      } catch {
        // Another key, another place, or changed bytes.
        return null;
      }
    },
  };
}

/** Returns keys that are the one that is set. */
export function givenKey(key: Uint8Array<ArrayBuffer> | null): SealKeys {
  return { find: () => Promise.resolve(key), make: () => Promise.resolve(key) };
}

/** Parses the base64 of a key; null for any other text. */
export function parseSealKey(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const key = Uint8Array.fromBase64(text);
    return key.length === SEAL_KEY_BYTES ? key : null;
  } catch {
    return null;
  }
}

async function imported(key: Uint8Array<ArrayBuffer> | null): Promise<CryptoKey | null> {
  return key && await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
}

function parametersOf({ team, object, field }: SecretPlace, iv: Uint8Array<ArrayBuffer>) {
  const additionalData = new TextEncoder().encode(JSON.stringify([team, object, field]));
  return { name: "AES-GCM", iv, additionalData };
}
