/** Sealed secrets: each opens at its own place, with its own key, and nowhere else. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { TeamId } from "../../../../domain/core/ids.ts";
import { createSealer, givenKey, keyFile, sealKeysOf } from "../../../../kv/channels/seal.ts";
import { withFolder } from "../../../support/harness/temp_store.ts";
import { PLATFORM_KV } from "../../../../kv/location.ts";

const RANDOM = { random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)) };
const KEY = new Uint8Array(32).fill(1);
const PLACE = { team: "t1" as TeamId, object: "channel/ops", field: "url" };
const SECRET = "https://hooks.example.org/ä/T0KEN";

Deno.test("sealed secrets: open at their place with their key alone", async () => {
  const sealer = createSealer(givenKey(KEY), RANDOM);
  const sealed = await sealer.seal(PLACE, SECRET);
  assert(sealed !== null);
  assertEquals([await sealer.open(PLACE, sealed), sealed.hint], [SECRET, "0KEN"]);
  assertNotEquals(await sealer.seal(PLACE, SECRET), sealed, "never the same bytes");
  const elsewhere = [
    { ...PLACE, team: "t2" as TeamId },
    { ...PLACE, object: "channel/chat" },
    { ...PLACE, field: "secret" },
  ];
  for (const place of elsewhere) assertEquals(await sealer.open(place, sealed), null);
  const other = createSealer(givenKey(new Uint8Array(32).fill(2)), RANDOM);
  assertEquals(await other.open(PLACE, sealed), null);
  for (const at of [0, 12, sealed.sealed.length - 1]) {
    const changed = sealed.sealed.slice();
    changed[at] = (changed[at] ?? 0) ^ 1;
    assertEquals(await sealer.open(PLACE, { ...sealed, sealed: changed }), null, `byte ${at}`);
  }
  for (const bytes of [new Uint8Array(0), new Uint8Array(12)]) {
    assertEquals(await sealer.open(PLACE, { ...sealed, sealed: bytes }), null);
  }
});

Deno.test("sealed secrets: a shared KV without a key seals nothing, and a ledger's file gets one key", async () => {
  const shared = createSealer(sealKeysOf(PLATFORM_KV, null), RANDOM);
  assertEquals(await shared.seal(PLACE, SECRET), null);
  await withFolder(async (folder) => {
    const ledger = `${folder}/a.kv`;
    const keys = keyFile(ledger);
    assertEquals(await keys.find(), null, "a read makes no key");
    const made = await Promise.all(Array.from({ length: 8 }, () => keys.make()));
    for (const key of made) assertEquals(key, made[0]);
    assertEquals(await keyFile(ledger).find(), made[0]);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["a.kv.seal"]);
    assertEquals(await sealKeysOf({ kind: "file", name: ledger }, KEY).make(), KEY);
  });
  await withFolder(async (folder) => {
    const keys = keyFile(`${folder}/missing/a.kv`);
    assertEquals(await keys.make(), null, "the disk refuses it");
  });
});
