/**
 * Writes, which are committed as a whole, and their groups: one atomic operation for several. Its commit
 * has metrics, and a receipt where a client may send a commit twice.
 *
 * @module
 */
import { PENDING_LANES, type PendingLane, type PendingRun } from "../../domain/runs/stages.ts";
import { keys, newRowName } from "../base/keys.ts";
import { type BackEnd, LOCKED_RETRY, type WriteSize } from "../base/limits.ts";
import { judgeId, type RunId, type TeamId } from "../../domain/core/ids.ts";
import { lockOf, logOf } from "../base/files.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { Histogram, SECONDS_BOUNDS } from "../../runtime/metrics.ts";

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

/** Returns an upper bound of a value's serialized size, for plain objects; it allocates nothing. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return value.length * 2 + 8;
  if (typeof value !== "object" || value === null) return 16;
  if (value instanceof Uint8Array) return value.length + 16;
  let bytes = 8;
  if (Array.isArray(value)) {
    for (const part of value) bytes += 6 + bytesOf(part);
    return bytes;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) bytes += name.length + 4 + bytesOf(fields[name]);
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

/** Dependencies of commits. */
export interface CommitDeps {
  /** Handle for commits. */
  readonly kv: Deno.Kv;
  /** Limits of one commit. */
  readonly limits: BackEnd;
  /** Returns whether the ledger's files are in place; called before and after each commit. */
  readonly inPlace: () => boolean;
}

/** Writes that share a commit. */
interface Operation {
  build(kv: Deno.Kv): Deno.AtomicOperation;
}

/** Commits groups of writes. */
export class Commits {
  readonly #deps: CommitDeps;
  /** Null if the store never repeats a commit. */
  readonly #receipts: Receipts | null;

  constructor(deps: CommitDeps) {
    this.#deps = deps;
    this.#receipts = deps.limits.mayRepeat ? new Receipts(deps.kv) : null;
  }

  /**
   * Commits a group if the ledger's files are in place, and verifies that they still are. Without
   * its lock, another process may have the ledger, and expects to see all of its commits.
   *
   * @param isVerified true if another commit has just verified it, in the same turn of the event loop
   * @returns the new version; null on a conflict, after which nothing is stored
   * @throws any error of the store; whether the group was stored is then unknown
   */
  async commit(group: Operation, isVerified: boolean): Promise<string | null> {
    if (!isVerified) this.#requireFiles();
    const version = await this.#commitUnlocked(group);
    this.#requireFiles();
    return version;
  }

  /** Retries while another process holds the file lock: nothing was written by such a commit. */
  async #commitUnlocked(group: Operation): Promise<string | null> {
    for (let attempt = 1;; attempt++) {
      try {
        const operation = group.build(this.#deps.kv);
        if (this.#receipts !== null) return await this.#receipts.commit(operation);
        const result = await operation.commit();
        return result.ok ? result.versionstamp : null;
      } catch (error) {
        const locked = error instanceof Error && error.message.includes("database is locked");
        if (!locked || attempt === LOCKED_RETRY.attemptsMax) throw error;
        await sleep(LOCKED_RETRY.pauseMs);
      }
    }
  }

  #requireFiles(): void {
    if (!this.#deps.inPlace()) {
      throw new Error("the ledger's file, log or lock was moved, deleted or replaced");
    }
  }
}

/** Bucket bounds for writes per commit; the limit of 100 checks caps most commits. */
const WRITES_BOUNDS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200];

export class WriterMetrics {
  /** Commits by outcome: `lost` is a conflict with another write; `failed` is unknown. */
  readonly commits = { stored: 0, lost: 0, failed: 0 };
  /** True if the latest commit failed, or has not ended in time. */
  isFailing = false;
  /** Writes per commit. */
  readonly writes: Histogram = new Histogram(WRITES_BOUNDS);
  /** Seconds per commit, including the sync to disk. */
  readonly seconds: Histogram = new Histogram(SECONDS_BOUNDS);

  /**
   * Runs a commit and counts it before the outcome is returned.
   *
   * @param writes number of writes in the commit
   * @param commit returns the new version, or null on a conflict
   */
  async counted(
    writes: number,
    commit: () => Promise<string | null>,
  ): Promise<string | null> {
    const startMs = performance.now();
    let end: keyof typeof this.commits = "failed";
    try {
      const version = await commit();
      end = version === null ? "lost" : "stored";
      return version;
    } finally {
      this.commits[end]++;
      this.isFailing = end === "failed";
      this.writes.observe(writes);
      this.seconds.observe((performance.now() - startMs) / 1_000);
    }
  }
}

/** Milliseconds after which the store removes a receipt; its process has ended or was idle. */
const EXPIRE_MS = 86_400_000;

/** The receipts of one process. */
export class Receipts {
  readonly #kv: Deno.Kv;
  readonly #process = newRowName();
  /** Receipts of no commit in flight. */
  readonly #free: Receipt[] = [];
  #count = 0;

  constructor(kv: Deno.Kv) {
    this.#kv = kv;
  }

  /**
   * Commits an operation together with a receipt.
   *
   * @returns the new version; null on a conflict, after which nothing is stored
   * @throws any error of the store; whether the operation was stored is then unknown
   */
  async commit(operation: Deno.AtomicOperation): Promise<string | null> {
    const receipt = this.#free.pop() ??
      new Receipt(this.#kv, keys.receipt(this.#process, this.#count++));
    try {
      return await receipt.commit(operation);
    } finally {
      this.#free.push(receipt);
    }
  }
}

/** One receipt, of one commit at a time. */
class Receipt {
  readonly #kv: Deno.Kv;
  readonly #key: Deno.KvKey;
  /** Its latest known version; null if it is absent. An older one only costs an attempt. */
  #version: string | null = null;

  constructor(kv: Deno.Kv, key: Deno.KvKey) {
    this.#kv = kv;
    this.#key = key;
  }

  async commit(operation: Deno.AtomicOperation): Promise<string | null> {
    const name = newRowName();
    const result = await operation
      .check({ key: this.#key, versionstamp: this.#version })
      .set(this.#key, name, { expireIn: EXPIRE_MS })
      .commit();
    if (result.ok) return this.#version = result.versionstamp;
    const stored = await this.#kv.get(this.#key);
    this.#version = stored.versionstamp;
    return stored.value === name ? stored.versionstamp : null;
  }
}

/**
 * Records the identities of the files of a ledger that was just opened. A process can keep writing to
 * a file that was deleted, moved or replaced: every commit succeeds and is lost when the process ends.
 * Comparing the names with the open files takes microseconds.
 *
 * @param location the ledger's name, which may be a link
 * @param path the database file itself; the log and the lock file are next to it
 * @returns a check that the same files are still there
 */
export function watchFiles(location: string, path: string): () => boolean {
  const paths = [location, logOf(path), lockOf(path)];
  const opened = paths.map(identityOf);
  return () => {
    try {
      return paths.every((path, at) => identityOf(path) === opened[at]);
    } catch {
      return false;
    }
  };
}

/** Returns the identity of the file found under a path, constant for the file's lifetime. */
function identityOf(path: string): string {
  const { dev, ino } = Deno.statSync(path);
  return `${dev} ${ino}`;
}
