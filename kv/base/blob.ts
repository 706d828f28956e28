/**
 * Encodes text of any length as store values: compressed where that helps, split into chunks.
 *
 * The head is stored at the value's own key: a format byte, the number of further chunks, the name
 * they are stored under if there are any, then the first bytes.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { CHUNK_BYTES_MAX } from "./limits.ts";

/** A text ready to store. */
export interface Blob {
  readonly head: Uint8Array;
  /** Further chunks, stored under `name` and their index. */
  readonly chunks: readonly Uint8Array[];
  /** Name of the further chunks: unique, so that two writers of one key never share chunks. */
  readonly name: string;
}

/** Below this many bytes, compression costs more time than the saved bytes are worth. */
const COMPRESS_BYTES_MIN = 2_048;

/** The lowest level takes a fifth of the default's time; values are a few percent larger. */
const PARAMS = { [constants.ZSTD_c_compressionLevel]: 1 };

/** Bytes of the buffer for a compressed value: most are smaller. */
const CHUNK_SIZE = 4_096;

const PLAIN = 0, ZSTD = 1;
const NAME_BYTES = 26;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Bytes of one memory slab that small values share. */
const SLAB_BYTES = 65_536;

/** Maximum UTF-8 bytes per UTF-16 code unit. */
const UTF8_BYTES_MAX = 3;

const HEADER_BYTES = 2;

let slab = new Uint8Array(SLAB_BYTES);
let slabUsed = 0;

/** Packs a text; calls `newName` only when the text needs further chunks. */
export function packBlob(text: string, newName: () => string): Blob {
  const small = text.length < COMPRESS_BYTES_MIN ? packSmall(text) : null;
  if (small !== null) return { head: small, chunks: [], name: "" };
  const plain = encoder.encode(text);
  const packed = compress(plain);
  const smaller = packed.length < plain.length;
  const payload = smaller ? packed : plain;
  const cuts = Math.max(0, Math.ceil(payload.length / CHUNK_BYTES_MAX) - 1);
  const name = cuts > 0 ? newName() : "";

  const first = payload.subarray(0, CHUNK_BYTES_MAX);
  const head = new Uint8Array(HEADER_BYTES + name.length + first.length);
  head[0] = smaller ? ZSTD : PLAIN;
  head[1] = cuts;
  head.set(encoder.encode(name), HEADER_BYTES);
  head.set(first, HEADER_BYTES + name.length);
  const chunks = Array.from({ length: cuts }, (_, i) => {
    const start = (i + 1) * CHUNK_BYTES_MAX;
    return payload.subarray(start, start + CHUNK_BYTES_MAX);
  });
  return { head, chunks, name };
}

/** Packs JSON that one value can hold. */
export function packJson(value: unknown): Uint8Array {
  const { head, chunks } = packBlob(JSON.stringify(value), () => "");
  if (chunks.length > 0) throw new TypeError("The JSON is too large for one value");
  return head;
}

/** Returns what {@link packJson} packed. */
export function unpackJson<Json>(bytes: Uint8Array): Json {
  return JSON.parse(unpackBlob(bytes, []));
}

/** Returns what {@link packJson} packed in the value of a row; null for an absent row. */
export function storedJson<Json>(value: unknown): Json | null {
  return value instanceof Uint8Array ? unpackJson(value) : null;
}

/** Moves all bytes of a blob into chunks, so that its head has a few bytes only. */
export function intoChunks({ head, chunks, name }: Blob, newName: () => string): Blob {
  const first = head.subarray(HEADER_BYTES + name.length);
  const newNamed = name === "" ? newName() : name;
  const bare = new Uint8Array(HEADER_BYTES + NAME_BYTES);
  bare[0] = head[0] ?? PLAIN;
  bare[1] = chunks.length + 1;
  bare.set(encoder.encode(newNamed), HEADER_BYTES);
  return { head: bare, chunks: [first, ...chunks], name: newNamed };
}

/** Compresses bytes. Knowing their number in advance, zstd allocates a small context for them. */
function compress(plain: Uint8Array): Uint8Array {
  if (plain.length < COMPRESS_BYTES_MIN) return plain;
  const options = { params: PARAMS, chunkSize: CHUNK_SIZE, pledgedSrcSize: plain.length };
  return zstdCompressSync(plain, options);
}

/**
 * Packs a text that is neither compressed nor split; null if its bytes are too many. Allocating memory for each such value took
 * longer than encoding it; a full slab is freed once its last value is stored.
 */
function packSmall(text: string): Uint8Array | null {
  if (slabUsed + HEADER_BYTES + text.length * UTF8_BYTES_MAX > SLAB_BYTES) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  const start = slabUsed;
  const { written } = encoder.encodeInto(text, slab.subarray(start + HEADER_BYTES));
  if (written >= COMPRESS_BYTES_MIN) return null;
  // Plain, without further chunks. A longer text may have been written here before.
  slab.fill(PLAIN, start, start + HEADER_BYTES);
  slabUsed = start + HEADER_BYTES + written;
  return slab.subarray(start, slabUsed);
}

/** Returns the name and number of a head's further chunks. */
export function chunksOf(head: Uint8Array): { readonly name: string; readonly count: number } {
  const count = head[1] ?? 0;
  const name = count === 0 ? "" : decoder.decode(head.subarray(2, 2 + NAME_BYTES));
  return { name, count };
}

/** Decodes a text from its head and its further chunks in order. */
export function unpackBlob(head: Uint8Array, chunks: readonly Uint8Array[]): string {
  const first = head.subarray(2 + (chunks.length > 0 ? NAME_BYTES : 0));
  const payload = chunks.length === 0 ? first : Buffer.concat([first, ...chunks]);
  return decoder.decode(head[0] === ZSTD ? zstdDecompressSync(payload) : payload);
}
