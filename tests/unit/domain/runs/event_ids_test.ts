import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  addToPage,
  EventIdSet,
  HASH_NUMBERS,
  packEventIds,
  unpackEventIds,
} from "../../../../domain/runs/event_ids.ts";
import type { EventId } from "../../../../domain/core/ids.ts";

/**
 * A few different ids, and ids that differ in one position only: the first hex digits, or the last.
 */
const id = fc.tuple(
  fc.constantFrom("eu", "us"),
  fc.oneof(
    fc.nat({ max: 60 }).map((n) => n.toString(16).padStart(32, "0")),
    fc.nat({ max: 60 }).map((n) => n.toString(16).padEnd(32, "0")),
    fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => bytes.toHex()),
  ),
).map(([region, hex]) => `evt_${region}_${hex}` as EventId);

function merge(page: readonly EventId[], sent: readonly EventId[]): EventId[] {
  const before = new Set(page);
  return [...new Set(sent)].filter((each) => !before.has(each));
}

Deno.test("a page takes each id once, with its first event, in sent order", () => {
  const input = fc.tuple(fc.uniqueArray(id, { maxLength: 60 }), fc.array(id, { maxLength: 60 }));
  fc.assert(fc.property(input, ([stored, batch]) => {
    const before = packEventIds(stored);
    const { page, fresh } = addToPage(before, batch.map((id, place) => ({ id, place })));
    const expected = merge(stored, batch);
    assertEquals(fresh.map(({ id }) => id), expected);
    assertEquals(fresh.map(({ place }) => place), expected.map((each) => batch.indexOf(each)));
    assertEquals(unpackEventIds(page), [...stored, ...expected]);
    assertEquals(page.buffer.byteLength, page.length, "nothing else is stored with it");
    assertEquals(unpackEventIds(before), stored);
  }));
});

Deno.test("more ids than fit a page are still distinguished", () => {
  const all = Array.from(
    { length: 3_000 },
    (_, n) => ({ id: `evt_eu_${(n % 2_000).toString(16).padStart(32, "0")}` as EventId }),
  );
  const first = addToPage(new Uint8Array(), all.slice(0, 700));
  const { page, fresh } = addToPage(first.page, all);
  assertEquals(fresh, all.slice(700, 2_000));
  assertEquals(page.length, 2_000 * 17);
});

Deno.test("a set of ids contains exactly those of its pages, even if all hashes collide", () => {
  const pages = fc.uniqueArray(id, { maxLength: 120 });
  const random = Uint32Array.from({ length: HASH_NUMBERS }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
  const numbers = fc.constantFrom(random, new Uint32Array(HASH_NUMBERS));
  fc.assert(
    fc.property(pages, fc.nat({ max: 120 }), numbers, (all, cut, numbers) => {
      const set = new EventIdSet(numbers);
      const [stored, others] = [all.slice(0, cut), all.slice(cut)];
      assertEquals([set.isEmpty, set.has("evt_eu_".padEnd(39, "0") as EventId)], [true, false]);
      for (let at = 0; at < stored.length; at += 7) {
        set.addPage(packEventIds(stored.slice(at, at + 7)));
      }
      assertEquals(stored.filter((each) => !set.has(each)), []);
      assertEquals(others.filter((each) => set.has(each)), []);
      assertEquals(set.isEmpty, stored.length === 0);
    }),
    { numRuns: 50 },
  );
});

Deno.test("a set of ids uses at most 60 bytes per id", () => {
  const set = new EventIdSet(
    new Uint32Array(HASH_NUMBERS).map((_, i) => Math.imul(i + 1, 0x9e3779b1)),
  );
  for (let page = 0; page < 8; page++) {
    const ids = Array.from(
      { length: 300 },
      (_, i) => `evt_eu_${(page * 300 + i).toString(16).padStart(32, "0")}` as EventId,
    );
    set.addPage(packEventIds(ids));
  }
  assertEquals(set.bytes <= 60 * 2_400, true, `${set.bytes} bytes`);
});
