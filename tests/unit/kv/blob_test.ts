import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Blob, chunksOf, packBlob, unpackBlob } from "../../../kv/base/blob.ts";
import { CHUNK_BYTES_MAX } from "../../../kv/base/limits.ts";
import { newRowName } from "../../../kv/store.ts";
import { noise } from "../../support/harness/temp_store.ts";

const VALUE_BYTES_MAX = 65_536;
const COMPRESS_FROM_BYTES = 2_048;

/** Packs a text, checks the blob's invariants, and reads it back like a reader. */
function roundTrip(text: string): { text: string; blob: Blob } {
  const blob = packBlob(text, newRowName);
  const { name, count } = chunksOf(blob.head);
  assertEquals([name, count], [blob.name, blob.chunks.length]);
  for (const piece of [blob.head, ...blob.chunks]) assert(piece.length <= VALUE_BYTES_MAX);
  return { text: unpackBlob(blob.head, blob.chunks), blob };
}

Deno.test("blob: any text round-trips", () => {
  const repeated = fc.tuple(fc.string({ unit: "grapheme" }), fc.nat({ max: 3_000 }))
    .map(([text, times]) => text.repeat(times).slice(0, 200_000).toWellFormed());
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "grapheme" }), repeated), (text) => {
      assertEquals(roundTrip(text).text, text);
    }),
    { numRuns: 60 },
  );
});

Deno.test("blob: a text is compressed from 2,048 bytes on, if that makes it smaller", () => {
  for (const length of [COMPRESS_FROM_BYTES - 1, COMPRESS_FROM_BYTES]) {
    const { text, blob } = roundTrip("a".repeat(length));
    assertEquals(text.length, length);
    assertEquals(blob.head.length < length / 2, length >= COMPRESS_FROM_BYTES);
  }
});

Deno.test("blob: sizes are counted in bytes, not characters", () => {
  const { text, blob } = roundTrip("é".repeat(COMPRESS_FROM_BYTES / 2));
  assertEquals(text, "é".repeat(COMPRESS_FROM_BYTES / 2));
  assert(blob.head.length < COMPRESS_FROM_BYTES / 2);
});

Deno.test("blob: a text without further pieces needs no name", () => {
  const refuse = () => {
    throw new Error("no name is needed");
  };
  for (const text of ["", "{}", "a".repeat(1_000_000)]) {
    const blob = packBlob(text, refuse);
    assertEquals([blob.chunks.length, blob.name], [0, ""]);
  }
});

/** A text whose stored form has exactly `bytes` bytes. */
function packsTo(bytes: number): string {
  const sizeOf = (text: string) => {
    const { head, chunks, name } = packBlob(text, newRowName);
    return chunks.reduce((total, chunk) => total + chunk.length, head.length - 2 - name.length);
  };
  for (let chars = Math.floor(bytes * 1.2);; chars += bytes - sizeOf(noise(chars))) {
    const result = sizeOf(noise(chars));
    if (result === bytes) return noise(chars);
    if (result > bytes && result < bytes + 4) return `${noise(chars)}`.slice(0, chars - 1);
  }
}

Deno.test("blob: around the edge of each piece nothing is lost and no piece is empty", () => {
  for (const pieces of [1, 2, 3]) {
    const edge = packsTo(pieces * CHUNK_BYTES_MAX).length;
    const longest = noise(edge + 8);
    for (let chars = edge - 8; chars <= edge + 8; chars++) {
      const text = longest.slice(0, chars);
      const packed = roundTrip(text);
      assert(packed.text === text, `${chars} characters`);
      assert(packed.blob.chunks.every((chunk) => chunk.length > 0));
      assert(Math.abs(packed.blob.chunks.length - (pieces - 0.5)) === 0.5);
    }
  }
});

Deno.test("blob: two blobs never share pieces", () => {
  const text = noise(200_000);
  assert(packBlob(text, newRowName).name !== packBlob(text, newRowName).name);
});
