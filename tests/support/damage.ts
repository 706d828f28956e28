/** Damage to a ledger behind the service's back, and what the audit says of it. */
import { assert } from "@std/assert";
import type { RunId } from "../../domain/run/ids.ts";
import { auditStore } from "../../kv/audit/audit.ts";
import { runId } from "./builders.ts";
import type { Harness } from "./harness.ts";

/** The run that damage is done to. */
export const RUN = runId(1) as RunId;

/** Values to write and keys to remove behind the service's back. */
export interface Damage {
  readonly sets?: { key: Deno.KvKey; value: unknown }[];
  readonly deletes?: Deno.KvKey[];
}

/** Does damage, audits, and mends it again. */
export async function auditDamaged(h: Harness, { sets = [], deletes = [] }: Damage) {
  const touched = [...sets.map(({ key }) => key), ...deletes];
  const before = await Promise.all(touched.map((key) => h.store.reader.get(key)));
  await h.store.writer.commit({ sets, deletes });
  const result = await auditStore(h.store);
  await h.store.writer.commit({
    sets: before.filter(({ versionstamp }) => versionstamp !== null),
    deletes: before.filter(({ versionstamp }) => versionstamp === null).map(({ key }) => key),
  });
  return result;
}

/** What is stored at a key. */
export async function valueOf(h: Harness, key: Deno.KvKey): Promise<unknown> {
  const { value, versionstamp } = await h.store.reader.get(key);
  assert(versionstamp !== null, `nothing at ${key.join(" ")}`);
  return value;
}

/** The first roll-up of a kind. */
export async function aRollup(h: Harness, kind: string) {
  const prefix = ["rollup", h.team.id, kind];
  const [entry] = await Array.fromAsync(h.store.reader.list<Uint8Array>({ prefix }, { limit: 1 }));
  assert(entry !== undefined);
  const row = JSON.parse(new TextDecoder().decode(entry.value));
  return { key: entry.key, row, write: (to: unknown) => new TextEncoder().encode(json(to)) };
}

/** A value as text. */
export function json(value: unknown): string {
  return JSON.stringify(value);
}
