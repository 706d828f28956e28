/**
 * Reads of rows. Those of requests are bounded in number, fair between teams, and ended by their
 * deadline. The scope of a read is carried in async context, so that it is counted and ends with its
 * request without passing the scope through every function.
 *
 * @module
 */
import type { Deadlines } from "../../runtime/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";
import { FairSlots, type SlotLimits } from "../../runtime/fair_slots.ts";
import { ReadScope, type ReadScopes } from "../../domain/core/read_scope.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { type BackEnd, GET_MANY_KEYS_MAX } from "./limits.ts";

const WAITING = { waiting: 5_000, teamWaiting: 1_000 } as const;

/**
 * Limits of concurrent reads. One thread reads and decodes a file, so more would only use memory;
 * reads of a shared KV wait for round trips most of the time. A team gets several because one dashboard page
 * makes several requests.
 */
export const READS = {
  file: { all: 6, team: 2, ...WAITING },
  shared: { all: 24, team: 8, ...WAITING },
} as const satisfies Record<string, SlotLimits>;

/**
 * Limits of concurrent searches of runs, which scan for up to a second. They have slots of their
 * own, so that the searches of a team leave the slots of its other reads free.
 */
export const SEARCHES: SlotLimits = { all: 3, team: 1, waiting: 500, teamWaiting: 8 };

/** A scope whose work already has a slot; nested reads need no second one. */
class SlotScope extends ReadScope {}

/** Limits concurrent reads with fair slots. */
export class Reads {
  readonly #deadlines: Deadlines;
  readonly #slots: FairSlots;

  /** Creates a limiter whose reads share one deadline length. */
  constructor(deadlines: Deadlines, limits: SlotLimits) {
    [this.#deadlines, this.#slots] = [deadlines, new FairSlots(limits)];
  }

  /**
   * Runs a team's read in a slot. The work aborts at its next read after the deadline or when the
   * client disconnects; its slot is released when it ends.
   *
   * @throws {StorageUnavailable} when the deadline passes first
   * @throws {Overloaded} when too many reads wait, or no slot was free in time
   */
  async run<T>(team: string, work: () => Promise<T>): Promise<T> {
    const outer = currentScope();
    if (outer instanceof SlotScope) return await work();
    const end = new AbortController();
    const onOuterAbort = () => end.abort(outer?.signal.reason);
    outer?.signal.addEventListener("abort", onOuterAbort);
    if (outer?.signal.aborted) onOuterAbort();
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    end.signal.addEventListener("abort", () => aborted.reject(end.signal.reason));
    let isWaiting = true;
    const wait = this.#deadlines.watch(() =>
      end.abort(
        isWaiting
          ? new Overloaded("The read waited too long in the queue")
          : new StorageUnavailable("The store did not answer in time"),
      )
    );
    try {
      const release = await this.#slots.take(team, end.signal);
      isWaiting = false;
      const working = Promise.try(() => readScopes.run(new SlotScope(end.signal, outer), work))
        .finally(release);
      working.catch(() => {});
      return await Promise.race([working, aborted.promise]);
    } finally {
      this.#deadlines.done(wait);
      outer?.signal.removeEventListener("abort", onOuterAbort);
    }
  }
}

const current = new AsyncLocalStorage<ReadScope | null>();

export const readScopes: ReadScopes = { run: (scope, work) => current.run(scope, work) };

/** Returns the current scope; null outside a request's reads. */
export function currentScope(): ReadScope | null {
  return current.getStore() ?? null;
}

/** Runs work outside any scope: work shared by several requests must not end with one of them. */
export function outsideScope<T>(work: () => T): T {
  // `AsyncLocalStorage.exit` does not clear the scope on this runtime.
  return current.run(null, work);
}

/** Returns whether the current work was aborted. */
function isEnded(): boolean {
  return current.getStore()?.signal.aborted ?? false;
}

/** Throws the abort reason if the current work was aborted. */
export function throwIfEnded(): void {
  current.getStore()?.signal.throwIfAborted();
}

/** Counts the rows of a read and the bytes of their values. */
function countRead(entries: readonly { readonly value: unknown }[]): void {
  const scope = currentScope();
  if (scope === null) return;
  let bytes = 0;
  for (const { value } of entries) if (value instanceof Uint8Array) bytes += value.length;
  scope.count(entries.length, bytes);
}

/** Counts the bytes of a decompressed value. */
export function countBytes(bytes: number): void {
  current.getStore()?.count(0, bytes);
}

/** Handle for reads, and the limits that they depend on. */
export interface ReadHandles {
  readonly reader: Deno.Kv;
  readonly limits: Pick<BackEnd, "mayRepeat">;
}

/** Reads at most 10 keys from one snapshot. */
export async function getMany(
  store: ReadHandles,
  keysToRead: readonly Deno.KvKey[],
): Promise<Deno.KvEntryMaybe<unknown>[]> {
  throwIfEnded();
  try {
    const entries = await store.reader.getMany(keysToRead);
    countRead(entries);
    return entries;
  } catch (error) {
    throw unavailable("read", error);
  }
}

/** Reads the entry at a key. */
export async function getEntry(
  store: ReadHandles,
  key: Deno.KvKey,
): Promise<Deno.KvEntryMaybe<unknown>> {
  return (await getMany(store, [key]))[0]!;
}

/** Reads the entry at a key; null if there is none. */
export async function findEntry<T>(
  store: ReadHandles,
  key: Deno.KvKey,
): Promise<Deno.KvEntry<T> | null> {
  const entry = await getEntry(store, key);
  return entry.versionstamp === null ? null : entry as Deno.KvEntry<T>;
}

/** Reads the value at a key; null if there is none. */
export async function getValue<T>(store: ReadHandles, key: Deno.KvKey): Promise<T | null> {
  return (await getEntry(store, key)).value as T | null;
}

/** Returns the value of a counter entry. */
export function countOf({ value }: Deno.KvEntryMaybe<unknown>): number {
  return value instanceof Deno.KvU64 ? Number(value.value) : 0;
}

/**
 * Concurrent reads of one caller, of 10 keys each; each read is one snapshot. A file reads one at a
 * time; from a distant store they arrive together.
 */
const READS_AT_ONCE = { file: 5, shared: 30 } as const;

/** Splits a list into groups of `length` items; the last one may be shorter. */
export function groupsOf<Item>(items: readonly Item[], length: number): (readonly Item[])[] {
  const groups: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += length) groups.push(items.slice(at, at + length));
  return groups;
}

/** Reads any number of keys, in their order; more than 10 are not one snapshot. */
export async function getAll(
  store: ReadHandles,
  keysToRead: readonly Deno.KvKey[],
): Promise<Deno.KvEntryMaybe<unknown>[]> {
  const entries: Deno.KvEntryMaybe<unknown>[] = [];
  const atOnce = READS_AT_ONCE[store.limits.mayRepeat ? "shared" : "file"];
  for (const group of groupsOf(keysToRead, atOnce * GET_MANY_KEYS_MAX)) {
    const reads = groupsOf(group, GET_MANY_KEYS_MAX).map((batch) => getMany(store, batch));
    entries.push(...(await Promise.all(reads)).flat());
  }
  return entries;
}

/** Selects the rows of a prefix after a row; all of them if it is null. */
export function rowsAfter(prefix: Deno.KvKey, row: Deno.KvKey | null): Deno.KvListSelector {
  // `true` sorts after every other key part.
  return row === null ? { prefix } : { prefix, start: [...row, true] };
}

/** Maximum rows per read of the runtime; each read is one snapshot. */
const ROWS_PER_READ_MAX = 500;

/** Reads the rows of a range in key order; up to 500 rows are one snapshot. */
export async function listRows<T = unknown>(
  store: ReadHandles,
  range: Deno.KvListSelector,
  options: Pick<Deno.KvListOptions, "limit" | "reverse"> = {},
): Promise<Deno.KvEntry<T>[]> {
  throwIfEnded();
  const rows: Deno.KvEntry<T>[] = [];
  try {
    for await (const row of store.reader.list<T>(range, batched(options))) {
      // Check for an abort between two reads of the runtime.
      if (rows.push(row) % ROWS_PER_READ_MAX === 0 && isEnded()) break;
    }
  } catch (error) {
    throw unavailable("list", error);
  }
  countRead(rows);
  throwIfEnded();
  return rows;
}

/** Iterates over the rows of a range, for ranges that may exceed memory. */
export async function* eachRow<T = unknown>(
  store: ReadHandles,
  range: Deno.KvListSelector,
): AsyncGenerator<Deno.KvEntry<T>> {
  try {
    yield* store.reader.list<T>(range, batched({}));
  } catch (error) {
    throw unavailable("list", error);
  }
}

/**
 * Yields the distinct key prefixes that are `parts` longer than `prefix`: one read each, however
 * many keys there are.
 */
export async function* namesBelow(
  store: ReadHandles,
  prefix: Deno.KvKey,
  parts: number,
): AsyncGenerator<Deno.KvKey> {
  // `true` sorts after every other key part.
  const end = [...prefix, true];
  let start: Deno.KvKey = prefix;
  while (true) {
    const [first] = await listRows(store, { start, end }, { limit: 1 });
    if (first === undefined) return;
    const name = first.key.slice(0, prefix.length + parts);
    yield name;
    start = [...name, true];
  }
}

function batched(options: Deno.KvListOptions): Deno.KvListOptions {
  return { ...options, batchSize: Math.min(options.limit ?? Infinity, ROWS_PER_READ_MAX) };
}

/** Wraps an error of the store. */
export function unavailable(action: string, error: unknown): StorageUnavailable {
  const message = error instanceof Error ? error.message : String(error);
  return new StorageUnavailable(`Cannot ${action}: ${message}`, { cause: error });
}
