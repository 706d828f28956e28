/**
 * Opening the store for one process: lock it, look at it, open it.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { basename, dirname, join } from "node:path";
import { Deadlines } from "../domain/core/deadlines.ts";
import { STORAGE_DEADLINE_MS } from "../domain/core/limits.ts";
import { Memory } from "../domain/core/memory.ts";
import { TIMERS } from "./base/deadline.ts";
import {
  createPrivate,
  fileBytesOf,
  isThere,
  lockOf,
  logOf,
  MODE,
  restoringOf,
  watchFiles,
} from "./base/files.ts";
import { keys, LEDGER_FORMAT } from "./base/keys.ts";
import { WorkerSignal } from "./writer/signal.ts";
import { BACK_ENDS, type BackEnd } from "./base/limits.ts";
import { createStore, type Store } from "./store.ts";

/** The store cannot be used; the message says why and what to do, in one line. */
export class StoreRefused extends Error {
  /** Tells this error from others in logs. */
  override readonly name: string = "StoreRefused";
}

/** Another process has the file. */
export class StoreInUse extends StoreRefused {
  /** Tells this error from others in logs. */
  override readonly name = "StoreInUse";

  /**
   * Says which.
   *
   * @param location the file
   * @param owner id of the process
   * @param advice what to do
   */
  constructor(
    location: string,
    readonly owner: string,
    advice = "stop it, or set RUNLEDGER_KV to another file",
  ) {
    super(`${location} is in use by process ${owner}: ${advice}`);
  }
}

/** A store that can be closed. */
export interface OpenStore extends Store {
  /** Waits for commits under way, then closes all handles and gives up the lock. */
  close(): Promise<void>;
}

/** Bytes of a file that is checked in full at start; a larger one would delay it by seconds. */
const QUICK_CHECK_BYTES_MAX = 268_435_456;

/** Milliseconds that a store just opened may take to answer. */
const ANSWER_MS_MAX = 10_000;

/**
 * Opens a store.
 *
 * @param location a path, `:memory:`, or the URL of a shared KV
 * @param limits what one commit may hold; only a benchmark chooses it
 * @param memory how many bytes its caches and queues may hold
 * @throws {StoreRefused} when another process has it, or it is damaged or cannot be written
 */
export async function openStore(
  location: string,
  limits: BackEnd = backEndOf(location),
  memory: Memory = new Memory(),
): Promise<OpenStore> {
  // A second handle on ":memory:" would be a second database, one on a URL a second connection.
  if (!isFile(location)) {
    const kv = await openAlone(location);
    return openHandles({ kv, ...ALONE }, limits, memory);
  }
  const { path, lock } = await lockLedger(location);
  const opened: { close(): void }[] = [lock];
  try {
    await inspect(location, path);
    const kv = await openKv(location, path);
    opened.push(kv);
    const reader = await openKv(location, path);
    opened.push(reader);
    await requireFormat(location, reader);
    const inPlace = watchFiles(location, path);
    const fileBytes = () => fileBytesOf(path);
    return openHandles({ kv, reader, lock, inPlace, fileBytes }, limits, memory);
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
  const kv = await openAlone(location);
  return openHandles({ kv, ...ALONE }, backEndOf(location), new Memory());
}

/** Opens a single handle, without the lock. */
async function openAlone(location: string): Promise<Deno.Kv> {
  const kv = await openKv(location, location);
  try {
    await requireFormat(location, kv);
    return kv;
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
  return await openStore(location);
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

interface Handles {
  readonly kv: Deno.Kv;
  readonly reader: Deno.Kv | null;
  readonly lock: Deno.FsFile | null;
  /** Whether the files that were opened are still the ledger's. */
  readonly inPlace: () => boolean;
  readonly fileBytes: Store["fileBytes"];
}

/** What goes with a single handle. */
const ALONE = { reader: null, lock: null, inPlace: () => true, fileBytes: () => null } as const;

function openHandles(
  { kv, reader, lock, inPlace, fileBytes }: Handles,
  limits: BackEnd,
  memory: Memory,
): OpenStore {
  const deadlines = new Deadlines(STORAGE_DEADLINE_MS, TIMERS);
  const workerSignal = new WorkerSignal();
  const back = reader ?? kv;
  const store = createStore(kv, back, limits, deadlines, workerSignal, inPlace, fileBytes, memory);
  return {
    ...store,
    async close() {
      await store.writer.idle();
      deadlines[Symbol.dispose]();
      reader?.close();
      kv.close();
      lock?.close();
    },
  };
}

/** A ledger's file by the one name that no link changes, and the lock on it. */
export interface LockedLedger {
  /** The file, which need not be there yet. */
  readonly path: string;
  /** Closing it gives up the lock. */
  readonly lock: Deno.FsFile;
}

/**
 * Takes the exclusive lock beside the file. A second process writing to one file makes commits
 * fail at random; the lock ends with its process, however that ends.
 *
 * @throws {StoreInUse} when another process has it
 * @throws {StoreRefused} when the lock file cannot be written
 */
export async function lockLedger(location: string): Promise<LockedLedger> {
  let path: string, lock: Deno.FsFile;
  try {
    path = await realPathOf(location);
    lock = await Deno.open(lockOf(path), {
      create: true,
      read: true,
      write: true,
      mode: MODE.file,
    });
  } catch (error) {
    throw refusal(location, error);
  }
  if (!await lock.tryLock(true)) {
    lock.close();
    const owner = (await Deno.readTextFile(lockOf(path))).trim();
    throw new StoreInUse(location, owner);
  }
  try {
    await lock.truncate();
    await lock.write(new TextEncoder().encode(`${Deno.pid}\n`));
  } catch (error) {
    lock.close();
    throw refusal(location, error);
  }
  return { path, lock };
}

/** Follows links, so that one file has one lock, and creates the folder of a file to come. */
async function realPathOf(location: string): Promise<string> {
  try {
    return await Deno.realPath(location);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const folder = dirname(location);
  await Deno.mkdir(folder, { recursive: true, mode: MODE.folder });
  if (await isThere(location)) throw new Error("it is a link to a file that is not there");
  return join(await Deno.realPath(folder), basename(location));
}

/**
 * Looks for damage and missing rights before anything is promised: a damaged page in the middle of
 * a file opens without complaint and fails later. Creates the file where there is none.
 */
async function inspect(location: string, path: string): Promise<void> {
  const found = await statOrNull(path).catch((error) => {
    throw refusal(location, error);
  });
  if (found === null || found.size === 0) await refuseLeftovers(location, path);
  if (found === null) return await createFile(location, path);
  if (found.isDirectory) throw refusal(location, new Error("it is a folder"));
  // Root may write to any file; a file without any write bit is meant to stay as it is.
  if (((found.mode ?? 0o200) & 0o222) === 0) {
    throw new StoreRefused(`${location} is read-only: make it writable or use another file`);
  }
  // Each name has a lock and a log of commits of its own, so two processes would not notice each other.
  if ((found.nlink ?? 1) > 1) {
    throw new StoreRefused(
      `${location} is one of ${found.nlink} names of its file (hard links): keep one name`,
    );
  }
  if (found.size === 0 || found.size > QUICK_CHECK_BYTES_MAX) return;
  const verdict = quickCheck(location, path);
  if (verdict !== "ok") throw damaged(location, verdict);
}

async function statOrNull(path: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** A new ledger beside what is left of another would be damaged by it, and hide that one is missing. */
async function refuseLeftovers(location: string, path: string): Promise<void> {
  for (const left of [logOf(path), restoringOf(path)]) {
    if (((await statOrNull(left))?.size ?? 0) === 0) continue;
    throw new StoreRefused(
      `${location} is not there, and ${left} is: put the ledger back, or restore a backup ` +
        "with deno task restore",
    );
  }
}

/** Creates the file, from which the database takes the mode of its log, too. */
async function createFile(location: string, path: string): Promise<void> {
  try {
    await createPrivate(path);
  } catch (error) {
    throw refusal(location, error);
  }
}

function quickCheck(location: string, path: string): string {
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    const row = database.prepare("PRAGMA quick_check(1)").get();
    return oneLine(String(Object.values(row ?? {})[0]));
  } catch (error) {
    // A disk that is full or fails says nothing about the file.
    throw refusal(location, error);
  }
}

async function openKv(location: string, path: string): Promise<Deno.Kv> {
  try {
    return await Deno.openKv(path);
  } catch (error) {
    throw refusal(location, error);
  }
}

/**
 * Refuses a ledger of a newer version. This is the first answer of the store: behind another program's
 * lock it never comes, and the runtime says nothing.
 */
async function requireFormat(location: string, kv: Deno.Kv): Promise<void> {
  using patience = new Deadlines(ANSWER_MS_MAX, TIMERS);
  const { value } = await patience.within(kv.get<number>(keys.format()), () => {
    const seconds = ANSWER_MS_MAX / 1_000;
    throw new Error(`no answer in ${seconds} s, as if another program held it`);
  }).catch((error) => {
    throw refusal(location, error);
  });
  if (value !== null && !isReadable(value)) throw newer(location, value);
}

function refusal(location: string, error: unknown): StoreRefused {
  const message = messageOf(error);
  if (/not a database|malformed/.test(message)) return damaged(location, message);
  return new StoreRefused(`Cannot open ${location}: ${message}: check its disk and RUNLEDGER_KV`);
}

/** Tells whether this version reads ledgers of a format. */
export function isReadable(format: unknown): boolean {
  return typeof format === "number" && format <= LEDGER_FORMAT;
}

/** Refuses a ledger whose format this version does not know. */
export function newer(location: string, format: unknown): StoreRefused {
  return new StoreRefused(
    `${location} has format ${format}, and this version reads formats up to ${LEDGER_FORMAT}: ` +
      "start the version that wrote it",
  );
}

function damaged(location: string, detail: string): StoreRefused {
  return new StoreRefused(
    `${location} is damaged (${detail}): restore a backup or set RUNLEDGER_KV to another file`,
  );
}

/** The message of whatever was thrown, as one line. */
export function messageOf(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
