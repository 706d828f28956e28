/**
 * Opens the store for one process: locks, checks and opens it.
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
import { inspect, lockLedger, shrinkExpiryIndex } from "./ledger_file.ts";

/** A store that can be closed. */
export interface OpenStore extends Store {
  /** Waits for commits in flight, then closes all handles and releases the lock. */
  close(): Promise<void>;
}

/** Maximum milliseconds until a newly opened store answers its first read. */
const ANSWER_MS_MAX = 10_000;

/**
 * Opens a store.
 *
 * @param location a path, `:memory:`, or the URL of a shared KV
 * @param memory budget of its caches and queues
 * @param limits limits of one commit; only a benchmark sets them
 * @throws {StoreRefused} when another process has it open, or it is damaged or not writable
 */
export async function openStore(
  location: string,
  memory: Memory,
  limits: BackEnd = backEndOf(location),
): Promise<OpenStore> {
  // A second handle on ":memory:" would be a second database; on a URL, a second connection.
  if (!isFile(location)) return await openSingleHandle(location, memory, limits);
  using opened = new DisposableStack();
  const { path, lock } = await lockLedger(location);
  opened.use(lock);
  await inspect(location, path);
  const kv = opened.use(await openKv(location, path));
  const reader = opened.use(await openKv(location, path));
  await requireFormat(location, reader, opened);
  shrinkExpiryIndex(location, path);
  const files = { inPlace: watchFiles(location, path), fileBytes: () => fileBytesOf(path) };
  return openHandles({ kv, reader, limits, memory, ...files }, opened.move());
}

/**
 * Opens an existing store without the lock, for reads and small writes while a service may have it
 * open. Writes wait while the service holds the file.
 *
 * @throws {StoreRefused} when it does not exist or cannot be opened
 */
export async function openUnlocked(location: string): Promise<OpenStore> {
  await requireLedger(location);
  return await openSingleHandle(location, new Memory(), backEndOf(location));
}

/** Opens a single handle, without the lock. */
async function openSingleHandle(
  location: string,
  memory: Memory,
  limits: BackEnd,
): Promise<OpenStore> {
  using opened = new DisposableStack();
  const kv = opened.use(await openKv(location, location));
  await requireFormat(location, kv, opened);
  const files = { inPlace: () => true, fileBytes: () => null };
  return openHandles({ kv, reader: kv, limits, memory, ...files }, opened.move());
}

/**
 * Opens an existing store with the lock.
 *
 * @throws {StoreInUse} when another process has it open
 * @throws {StoreRefused} when it does not exist or cannot be opened
 */
export async function openLocked(location: string): Promise<OpenStore> {
  await requireLedger(location);
  return await openStore(location, new Memory());
}

/**
 * Requires an existing ledger.
 *
 * @throws {StoreRefused}
 */
export async function requireLedger(location: string): Promise<void> {
  if (location === ":memory:") {
    throw new StoreRefused("A ledger in memory is lost with its process: name a file or a URL");
  }
  const found = isShared(location) || await Deno.stat(location).catch(() => null);
  if (found === null) {
    throw new StoreRefused(`There is no ledger at ${location}: name the file of RUNLEDGER_KV`);
  }
}

/** Returns the limits of a location; a shared KV gets the smallest because its type is unknown. */
function backEndOf(location: string): BackEnd {
  return isFile(location) || location === ":memory:" ? BACK_ENDS.embedded : BACK_ENDS.remote;
}

/** Returns whether a location is a local file. */
export function isFile(location: string): boolean {
  return location !== ":memory:" && !isShared(location);
}

/** Returns whether other instances may use the same store. */
export function isShared(location: string): boolean {
  return /^https?:\/\//.test(location);
}

/** Variable in which the runtime looks for the access token when it opens a URL. */
const TOKEN_VARIABLE = "DENO_KV_ACCESS_TOKEN";

/**
 * Opens a store with an access token. The token is in the environment only meanwhile; hosting
 * platforms reserve the runtime's variable, so users set one of the service's own.
 *
 * @param token null to leave the environment as it is
 */
export async function withAccessToken<T>(
  token: string | null,
  open: () => Promise<T>,
): Promise<T> {
  if (token === null) return await open();
  Deno.env.set(TOKEN_VARIABLE, token);
  try {
    return await open();
  } finally {
    Deno.env.delete(TOKEN_VARIABLE);
  }
}

/** Builds a store over handles; closing it closes `opened`. */
function openHandles(
  handles: Omit<StoreDeps, "deadlines" | "workerSignal">,
  opened: DisposableStack,
): OpenStore {
  const deadlines = new Deadlines(STORAGE_DEADLINE_MS, TIMERS);
  const store = createStore({ ...handles, deadlines, workerSignal: new WorkerSignal() });
  return {
    ...store,
    async close() {
      await store.writer.idle();
      deadlines[Symbol.dispose]();
      opened.dispose();
    },
  };
}

/** What to check when a shared KV cannot be opened. */
const URL_ADVICE = "check RUNLEDGER_KV and RUNLEDGER_KV_TOKEN";

async function openKv(location: string, path: string): Promise<Deno.Kv> {
  try {
    return await Deno.openKv(path);
  } catch (error) {
    throw refusal(location, error, isShared(location) ? URL_ADVICE : undefined);
  }
}

/**
 * Refuses a ledger of another format. This is the first read of the store: it hangs without an
 * error while another program holds the file's lock. Then `opened` is left open, because closing a
 * handle waits for its reads.
 */
async function requireFormat(
  location: string,
  kv: Deno.Kv,
  opened: DisposableStack,
): Promise<void> {
  using deadlines = new Deadlines(ANSWER_MS_MAX, TIMERS);
  const reading = kv.getMany<[number, string]>([keys.format(), keys.firstTeam()]);
  const [format, team] = await deadlines.within(reading, () => {
    opened.move();
    const seconds = ANSWER_MS_MAX / 1_000;
    throw new Error(`no answer in ${seconds} s; another program may hold its lock`);
  }).catch((error) => {
    throw refusal(location, error);
  });
  // One commit writes both keys: if both are missing, the ledger is new.
  const isNew = format.value === null && team.value === null;
  if (!isNew && format.value !== LEDGER_FORMAT) throw otherFormat(location, format.value);
}
