/**
 * Opening the store for one process: lock it, look at it, open it.
 *
 * @module
 */
import { Deadlines } from "../domain/core/deadlines.ts";
import { STORAGE_DEADLINE_MS } from "../domain/core/limits.ts";
import { Memory } from "../domain/core/memory.ts";
import { TIMERS } from "./base/deadline.ts";
import { fileBytesOf, watchFiles } from "./base/files.ts";
import { keys, LEDGER_FORMAT } from "./base/keys.ts";
import { WorkerSignal } from "./writer/signal.ts";
import { BACK_ENDS, type BackEnd } from "./base/limits.ts";
import { createStore, type Store, type StoreDeps } from "./store.ts";
import { otherFormat, refusal, StoreRefused } from "./refused.ts";
import { inspect, lockLedger } from "./ledger_file.ts";

/** A store that can be closed. */
export interface OpenStore extends Store {
  /** Waits for commits under way, then closes all handles and gives up the lock. */
  close(): Promise<void>;
}

/** Milliseconds that a store just opened may take to answer. */
const ANSWER_MS_MAX = 10_000;

/**
 * Opens a store.
 *
 * @param location a path, `:memory:`, or the URL of a shared KV
 * @param memory how many bytes its caches and queues may hold
 * @param limits what one commit may hold; only a benchmark chooses it
 * @throws {StoreRefused} when another process has it, or it is damaged or cannot be written
 */
export async function openStore(
  location: string,
  memory: Memory,
  limits: BackEnd = backEndOf(location),
): Promise<OpenStore> {
  // A second handle on ":memory:" would be a second database, one on a URL a second connection.
  if (!isFile(location)) return await openAlone(location, memory, limits);
  const { path, lock } = await lockLedger(location);
  const opened: { close(): void }[] = [lock];
  try {
    await inspect(location, path);
    const kv = await openKv(location, path);
    opened.push(kv);
    const reader = await openKv(location, path);
    opened.push(reader);
    await requireFormat(location, reader);
    const files = { inPlace: watchFiles(location, path), fileBytes: () => fileBytesOf(path) };
    return openHandles({ kv, reader, limits, memory, ...files }, opened);
  } catch (error) {
    for (const each of opened.reverse()) each.close();
    throw error;
  }
}

/**
 * Opens a store beside the service that may have it, to look at it and to write a little: without the
 * lock, and never a file that is not there. Writes wait while the service has the file.
 *
 * @throws {StoreRefused} when there is none, or it cannot be opened
 */
export async function openBeside(location: string): Promise<OpenStore> {
  await requireLedger(location);
  return await openAlone(location, new Memory(), backEndOf(location));
}

/** Opens a single handle, without the lock. */
async function openAlone(location: string, memory: Memory, limits: BackEnd): Promise<OpenStore> {
  const kv = await openKv(location, location);
  try {
    await requireFormat(location, kv);
    const files = { inPlace: () => true, fileBytes: () => null };
    return openHandles({ kv, reader: kv, limits, memory, ...files }, [kv]);
  } catch (error) {
    kv.close();
    throw error;
  }
}

/**
 * Opens a store that is there as its owner, with the lock.
 *
 * @throws {StoreInUse} when another process has it
 * @throws {StoreRefused} when there is none, or it cannot be opened
 */
export async function openOwned(location: string): Promise<OpenStore> {
  await requireLedger(location);
  return await openStore(location, new Memory());
}

/**
 * Refuses what is no ledger that is there.
 *
 * @throws {StoreRefused}
 */
export async function requireLedger(location: string): Promise<void> {
  if (location === ":memory:") {
    throw new StoreRefused("A ledger in memory ends with its process: name a file or a URL");
  }
  const found = isShared(location) || await Deno.stat(location).catch(() => null);
  if (found === null) {
    throw new StoreRefused(`There is no ledger at ${location}: name the file of RUNLEDGER_KV`);
  }
}

/** A shared KV may be the back end with the smallest limits; nothing tells which it is. */
function backEndOf(location: string): BackEnd {
  return isFile(location) || location === ":memory:" ? BACK_ENDS.embedded : BACK_ENDS.remote;
}

/** Whether a location is a file of this machine. */
export function isFile(location: string): boolean {
  return location !== ":memory:" && !isShared(location);
}

/** Whether other instances may use the same store. */
export function isShared(location: string): boolean {
  return /^https?:\/\//.test(location);
}

/** Builds a store over handles; closing it closes `opened` in reverse. */
function openHandles(
  handles: Omit<StoreDeps, "deadlines" | "workerSignal">,
  opened: readonly { close(): void }[],
): OpenStore {
  const deadlines = new Deadlines(STORAGE_DEADLINE_MS, TIMERS);
  const store = createStore({ ...handles, deadlines, workerSignal: new WorkerSignal() });
  return {
    ...store,
    async close() {
      await store.writer.idle();
      deadlines[Symbol.dispose]();
      for (const each of opened.toReversed()) each.close();
    },
  };
}

async function openKv(location: string, path: string): Promise<Deno.Kv> {
  try {
    return await Deno.openKv(path);
  } catch (error) {
    throw refusal(location, error);
  }
}

/**
 * Refuses a ledger of another format. This is the first answer of the store: behind another program's
 * lock it never comes, and the runtime says nothing.
 */
async function requireFormat(location: string, kv: Deno.Kv): Promise<void> {
  using patience = new Deadlines(ANSWER_MS_MAX, TIMERS);
  const reading = kv.getMany<[number, string]>([keys.format(), keys.firstTeam()]);
  const [format, team] = await patience.within(reading, () => {
    const seconds = ANSWER_MS_MAX / 1_000;
    throw new Error(`no answer in ${seconds} s, as if another program held it`);
  }).catch((error) => {
    throw refusal(location, error);
  });
  // Both are written by one commit: without either the ledger is new.
  const isNew = format.value === null && team.value === null;
  if (!isNew && format.value !== LEDGER_FORMAT) throw otherFormat(location, format.value);
}
