/**
 * Several writes as one atomic operation.
 *
 * @module
 */
import { PENDING_LANES } from "../../domain/runs/processing.ts";
import { encodePending } from "./pending_mark.ts";
import { keys } from "../base/keys.ts";
import type { BackEnd } from "../base/limits.ts";
import { newRowName } from "../base/names.ts";
import type { Write } from "./write.ts";

/** What a write takes of a back end's limits. */
export interface Cost {
  /** Checks. */
  readonly checks: number;
  /** Sets, deletes and sums. */
  readonly mutations: number;
  /** Bytes of keys and values, estimated from above. */
  readonly bytes: number;
  /** Bytes of keys, estimated from above. */
  readonly keyBytes: number;
}

/** A key as text that is different for different keys. */
export function keyText(key: Deno.KvKey): string {
  // No part holds a NUL: ids and slugs are checked, hashes join to digits and commas.
  return key.join("\0");
}

/** What a write costs. */
export function costOf(
  { checks = [], sums = [], sets = [], deletes = [], pending = [] }: Write,
): Cost {
  let bytes = 0;
  let keyBytes = 0;
  for (const { key } of checks) keyBytes += bytesOfKey(key);
  for (const { key } of sums) keyBytes += bytesOfKey(key);
  for (const key of deletes) keyBytes += bytesOfKey(key);
  for (const { key, value } of sets) {
    keyBytes += bytesOfKey(key);
    bytes += bytesOf(value);
  }
  for (const { name } of pending) bytes += name.length + 1;
  const mutations = sums.length + sets.length + deletes.length;
  return { checks: checks.length, mutations, bytes: bytes + keyBytes, keyBytes };
}

/** Fills one atomic operation until a limit is reached. */
export class Group<Member extends { readonly write: Write; readonly cost: Cost }> {
  /** The writes in it. */
  readonly members: Member[] = [];
  readonly #limits: BackEnd;
  /** Whether any of its writes changed a run. */
  hasMarks = false;
  #checks = 0;
  // Kept free for the rows of marks, one a lane.
  #mutations: number = PENDING_LANES.length;
  #bytes = 0;
  #keyBytes = 0;

  /** An empty group. */
  constructor(limits: BackEnd) {
    this.#limits = limits;
  }

  /** Takes a write in, or answers false when there is no room. The first one always fits. */
  add(member: Member): boolean {
    const { checks, mutations, bytes, keyBytes } = member.cost;
    const fits = this.#checks + checks <= this.#limits.checksMax &&
      this.#mutations + mutations <= this.#limits.mutationsMax &&
      this.#bytes + bytes <= this.#limits.bytesMax &&
      this.#keyBytes + keyBytes <= this.#limits.keyBytesMax;
    if (!fits && this.members.length > 0) return false;
    this.#checks += checks;
    this.#mutations += mutations;
    this.#bytes += bytes;
    this.#keyBytes += keyBytes;
    this.members.push(member);
    this.hasMarks ||= (member.write.pending?.length ?? 0) > 0;
    return true;
  }

  /**
   * Builds the operation. Sums go first, one for each counter, and values last: a sum that the
   * store refuses does not undo what stands before it in the same operation.
   */
  build(kv: Deno.Kv): Deno.AtomicOperation {
    const operation = kv.atomic();
    const sums = new Map<string, { readonly key: Deno.KvKey; by: bigint }>();
    for (const { write } of this.members) {
      if (write.checks !== undefined) { for (const check of write.checks) operation.check(check); }
      for (const { key, by } of write.sums ?? []) {
        const text = keyText(key);
        const sum = sums.get(text);
        if (sum === undefined) sums.set(text, { key, by });
        else sum.by += by;
      }
    }
    for (const { key, by } of sums.values()) operation.sum(key, by);
    for (const { write } of this.members) {
      for (const key of write.deletes ?? []) operation.delete(key);
      for (const { key, value } of write.sets ?? []) operation.set(key, value);
    }
    if (this.hasMarks) this.#mark(operation);
    return operation;
  }

  /** Names the changed runs last, in one row a lane. */
  #mark(operation: Deno.AtomicOperation): void {
    for (const lane of PENDING_LANES) {
      const names: string[] = [];
      for (const { write } of this.members) {
        for (const mark of write.pending ?? []) if (mark.lane === lane) names.push(mark.name);
      }
      if (names.length > 0) operation.set(keys.pending(lane, newRowName()), encodePending(names));
    }
  }
}

/** UTF-8 takes at most 3 bytes a unit; each part has 2 bytes around it. */
function bytesOfKey(key: Deno.KvKey): number {
  let bytes = 0;
  for (const part of key) {
    if (typeof part === "string") bytes += part.length * 3 + 2;
    else bytes += part instanceof Uint8Array ? part.length * 2 + 2 : 10;
  }
  return bytes;
}

/** The size of a value as the store serialises it, from above. */
function bytesOf(value: unknown): number {
  if (value instanceof Uint8Array) return value.length + 16;
  if (typeof value === "string") return value.length * 2 + 8;
  if (typeof value !== "object" || value === null) return 16;
  let bytes = 8;
  for (const [name, part] of Object.entries(value)) bytes += name.length + 4 + bytesOf(part);
  return bytes;
}
