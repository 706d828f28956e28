/**
 * Writes, which are committed as a whole, and their groups: one atomic operation for several.
 *
 * @module
 */
import { PENDING_LANES, type PendingLane, type PendingRun } from "../../domain/runs/stages.ts";
import { keys, newRowName } from "../base/keys.ts";
import type { BackEnd, WriteSize } from "../base/limits.ts";
import { judgeId, type RunId, type TeamId } from "../../domain/core/ids.ts";

/** Parts of a size, each with its own limit. */
const PARTS = ["checks", "mutations", "bytes", "keyBytes"] as const;

/** Returns a text that is unique to the key. */
export function keyText(key: Deno.KvKey): string {
  // No part contains a NUL: ids and slugs are checked, hashes join to digits and commas.
  return key.join("\0");
}

/** Returns the size of a write, with upper bounds of its bytes. */
export function sizeOf(
  { checks = [], sums = [], sets = [], deletes = [], pending = [] }: Write,
): WriteSize {
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
export class Group<Member extends { readonly write: Write; readonly size: WriteSize }> {
  readonly members: Member[] = [];
  readonly #limits: BackEnd;
  /** True if any write changed a run. */
  hasMarks = false;
  /** True if a call changed a run. */
  hasCalls = false;
  /** True if any write filed work that may be due: deadlines wait for others anyway. */
  hasWork = false;
  // The mutations are reserved for the rows of pending marks, one per lane.
  readonly #size = { checks: 0, mutations: PENDING_LANES.length as number, bytes: 0, keyBytes: 0 };

  constructor(limits: BackEnd) {
    this.#limits = limits;
  }

  /** Adds a write; returns false if it exceeds a limit. The first one always fits. */
  add(member: Member): boolean {
    if (this.members.length > 0 && !this.#fits(member.size)) return false;
    for (const part of PARTS) this.#size[part] += member.size[part];
    this.members.push(member);
    const hasMarks = (member.write.pending?.length ?? 0) > 0;
    this.hasMarks ||= hasMarks;
    this.hasCalls ||= hasMarks && member.write.isBackground !== true;
    this.hasWork ||= member.write.sets?.some(isDueWork) ?? false;
    return true;
  }

  #fits(size: WriteSize): boolean {
    for (const part of PARTS) {
      if (this.#size[part] + size[part] > this.#limits[part]) return false;
    }
    return true;
  }

  /**
   * Builds the operation. Sums come first, one per counter, and values last: a sum that the store
   * rejects does not undo the mutations before it in the same operation.
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
    // Sums wrap, so this also adds a negative amount.
    for (const { key, by } of sums.values()) operation.sum(key, BigInt.asUintN(64, by));
    for (const { write } of this.members) {
      for (const key of write.deletes ?? []) operation.delete(key);
      for (const { key, value, expireIn } of write.sets ?? []) {
        if (expireIn === undefined) operation.set(key, value);
        else operation.set(key, value, { expireIn });
      }
    }
    if (this.hasMarks) this.#mark(operation);
    return operation;
  }

  /** Adds the changed runs last, in one row per lane. */
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

/** Returns an upper bound: UTF-8 has at most 3 bytes per code unit, each part 2 framing bytes. */
function bytesOfKey(key: Deno.KvKey): number {
  let bytes = 0;
  for (const part of key) {
    if (typeof part === "string") bytes += part.length * 3 + 2;
    else bytes += part instanceof Uint8Array ? part.length * 2 + 2 : 10;
  }
  return bytes;
}

/** Returns an upper bound of a value's serialized size. */
function bytesOf(value: unknown): number {
  if (value instanceof Uint8Array) return value.length + 16;
  if (typeof value === "string") return value.length * 2 + 8;
  if (typeof value !== "object" || value === null) return 16;
  let bytes = 8;
  for (const [name, part] of Object.entries(value)) bytes += name.length + 4 + bytesOf(part);
  return bytes;
}

function isDueWork({ key: [family, lane] }: KvSet): boolean {
  return family === "work" && lane !== "settled";
}

/** One caller's mutations: all of them are stored, or none. */
export interface Write {
  /** Team whose turn in the queue it uses; writes without a team share one. */
  readonly team?: string;
  /** Keys that must still have these versions; `null` means absent. Never a counter. */
  readonly checks?: readonly Deno.AtomicCheck[];
  /** Amounts to add to sum counters. */
  readonly sums?: readonly { readonly key: Deno.KvKey; readonly by: bigint }[];
  /** Values to set. A checked key is also set: the check protects that value. */
  readonly sets?: readonly KvSet[];
  readonly deletes?: readonly Deno.KvKey[];
  /** Runs that the write changes. */
  readonly pending?: readonly PendingMark[];
  /** True if background work changes them, so that other work does not rest for it. */
  readonly isBackground?: boolean;
}

export interface KvSet {
  readonly key: Deno.KvKey;
  readonly value: unknown;
  /** Milliseconds after which the store removes the value; absent for never. */
  readonly expireIn?: number;
}

/** Maximum characters of a team's id, with a margin. */
const TEAM_CHARS_MAX = 64;

/** A run that a write changed. */
export interface PendingMark {
  /** Queue that the run joins. */
  readonly lane: PendingLane;
  /** The run, in the format of {@link pendingName}. */
  readonly name: string;
}

/** Encodes a run as text. */
export function pendingName(team: TeamId, run: RunId): string {
  return `${team} ${run}`;
}

/** Encodes the marks of one commit in one lane. */
export function encodePending(names: readonly string[]): string {
  return names.join("\n");
}

/**
 * Decodes the names of {@link encodePending}. Invalid names are skipped: a damaged row must not
 * block the rows after it.
 */
export function decodePending(value: unknown): string[] {
  return typeof value === "string" ? value.split("\n").filter(isName) : [];
}

/** Returns whether {@link pendingName} could have produced it; other text may not fit a key. */
function isName(text: string): boolean {
  const { team, run } = parsePendingName(text);
  return team.length > 0 && team.length <= TEAM_CHARS_MAX && judgeId("run", run) === "valid";
}

/** Decodes the text of {@link pendingName}. */
export function parsePendingName(name: string): PendingRun {
  const [team = "", run = ""] = name.split(" ");
  return { team: team as TeamId, run: run as RunId };
}
