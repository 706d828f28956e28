/** Damage to a ledger outside of the service, and the findings of the integrity check. */
import { assert, assertEquals } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { decodeSums, encodeSums } from "../../../kv/base/codec_sums.ts";
import { keyParts } from "../../../kv/base/keys.ts";
import { decodeRollup, encodeRollup } from "../../../kv/spend/rollups.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { runId } from "../builders/requests.ts";
import type { Harness } from "../harness/harness.ts";

export const RUN = runId(1) as RunId;

/** Values to write and keys to remove outside of the service. */
export interface Damage {
  readonly sets?: { key: Deno.KvKey; value: unknown }[];
  readonly deletes?: Deno.KvKey[];
}

/** Kinds of damage by name, each with a text that its finding must contain. */
export type Damages = Readonly<
  Record<string, { readonly says: string; readonly make: (h: Harness) => Promise<Damage> }>
>;

type Sums = Parameters<typeof encodeSums>[0];
type Made<T> = T | Promise<T>;
type KeyOf = (h: Harness) => Made<Deno.KvKey>;

export function gone(says: string, keyOf: KeyOf): Damages[string] {
  return { says, make: async (h) => ({ deletes: [await keyOf(h)] }) };
}

export function put(
  says: string,
  keyOf: KeyOf,
  make: (h: Harness) => Made<unknown>,
): Damages[string] {
  return { says, make: async (h) => ({ sets: [{ key: await keyOf(h), value: await make(h) }] }) };
}

export function changed<T>(
  says: string,
  keyOf: KeyOf,
  change: (value: T) => unknown,
): Damages[string] {
  return put(says, keyOf, async (h) => change(await valueOf(h, await keyOf(h)) as T));
}

/** Changes the sums of a row, such as a summary. */
export function changedSums<T extends Sums>(
  says: string,
  keyOf: KeyOf,
  change: (sums: T) => Sums,
): Damages[string] {
  return changed<Uint8Array>(says, keyOf, (value) => encodeSums(change(decodeSums<T>(value))));
}

/** Damages the first team in each way; fails unless the integrity check finds exactly that. */
export async function assertAllFound(
  h: Harness,
  t: Deno.TestContext,
  damages: Damages,
): Promise<void> {
  for (const [name, { says, make }] of Object.entries(damages)) {
    await t.step(name, async () => {
      const result = await verifyDamaged(h, await make(h));
      const whats = result.differences.map(({ what }) => what);
      assert(whats.some((what) => what.includes(says)), `${says} is not in ${json(whats)}`);
      assertEquals(result.differenceCount, whats.length);
      assertEquals(new Set(result.differences.map(({ team }) => team)), new Set([h.team.id]));
      const states = result.teams.map(({ team, state }) => [team === h.team.id, state]);
      assertEquals(new Set(states.map(json)), new Set(['[true,"different"]', '[false,"exact"]']));
    });
  }
  assertEquals((await verifyStore(h.store)).differences, []);
}

/** Damages the ledger, runs the integrity check, and repairs the ledger. */
export async function verifyDamaged(h: Harness, { sets = [], deletes = [] }: Damage) {
  const touched = [...sets.map(({ key }) => key), ...deletes];
  const before = await Promise.all(touched.map((key) => h.store.reader.get(key)));
  await h.store.writer.commit({ sets, deletes });
  const result = await verifyStore(h.store);
  await h.store.writer.commit({
    sets: before.filter(({ versionstamp }) => versionstamp !== null),
    deletes: before.filter(({ versionstamp }) => versionstamp === null).map(({ key }) => key),
  });
  return result;
}

export async function valueOf(h: Harness, key: Deno.KvKey): Promise<unknown> {
  const { value, versionstamp } = await h.store.reader.get(key);
  assert(versionstamp !== null, `nothing at ${key.join(" ")}`);
  return value;
}

/** Returns the first roll-up of a kind. */
export async function aRollup(h: Harness, kind: string) {
  const prefix = ["rollup", h.team.id, kind];
  const [entry] = await Array.fromAsync(h.store.reader.list<Uint8Array>({ prefix }, { limit: 1 }));
  assert(entry !== undefined);
  const row = decodeRollup(keyParts.day(entry.key), entry.value);
  return { key: entry.key, row, write: encodeRollup };
}

export function json(value: unknown): string {
  return JSON.stringify(value);
}
