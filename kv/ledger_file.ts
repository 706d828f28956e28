/**
 * Locks a ledger's file and checks it before it is opened.
 *
 * @module
 */
import {
  createPrivate,
  Database,
  isThere,
  lockOf,
  logOf,
  MODE,
  restoringOf,
} from "./base/files.ts";
import { damaged, oneLine, StoreInUse, StoreRefused } from "./refused.ts";
import { basename, dirname, join } from "node:path";

/** Maximum bytes of a file that is fully checked at start; larger ones would delay it. */
const QUICK_CHECK_BYTES_MAX = 268_435_456;

/** Maximum milliseconds to wait for a lock of the file. */
const LOCK_MS_MAX = 10_000;

/** Milliseconds after which a lock counts as held by another process. */
const TRY_LOCK_MS = 500;

/** The store's index by expiry, and the condition of the rows that it needs: they expire. */
const EXPIRY_INDEX = { name: "kv_expiration_ms_idx", rows: "expiration_ms >= 0" } as const;

/**
 * Takes the exclusive lock next to the file: commits fail at random if two processes write to one
 * file. The lock is released when the process ends, however it ends.
 *
 * @returns the file's resolved path, and the lock; disposing of it releases it
 * @throws {StoreInUse} when another process holds the lock
 */
export async function lockLedger(location: string) {
  const path = await realPathOf(location);
  const options = { create: true, read: true, write: true, mode: MODE.file };
  const lock = await Deno.open(lockOf(path), options);
  if (!await tryLock(lock)) {
    lock.close();
    const owner = (await Deno.readTextFile(lockOf(path))).trim();
    throw new StoreInUse(location, owner);
  }
  try {
    await lock.truncate();
    await lock.write(new TextEncoder().encode(`${Deno.pid}\n`));
  } catch (error) {
    lock.close();
    throw error;
  }
  const release = () => {
    // A process that is being started has the open file too for a moment, so closing is not enough.
    lock.unlockSync();
    lock.close();
  };
  return { path, lock: { [Symbol.dispose]: release } };
}

/** Takes an exclusive lock unless another process holds it. */
async function tryLock(file: Deno.FsFile): Promise<boolean> {
  if (Reflect.has(file, "tryLock")) return await file.tryLock(true);
  // Deno 2.5 can only wait for a lock.
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, TRY_LOCK_MS, false);
  const locked = await Promise.race([file.lock(true).then(() => true), late]);
  clearTimeout(timer);
  return locked;
}

/** Resolves links, so that one file has one lock. A missing folder is a disk that is not mounted. */
async function realPathOf(location: string): Promise<string> {
  try {
    return await Deno.realPath(location);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const folder = dirname(location);
  if (!await isThere(folder)) {
    throw new StoreRefused(
      `The folder of ${location} does not exist: mount its disk, or create the folder`,
    );
  }
  if (await isThere(location)) {
    throw new StoreRefused(`${location} is a link to a file that does not exist: remove it`);
  }
  return join(await Deno.realPath(folder), basename(location));
}

/**
 * Checks a file for damage and missing permissions: a damaged page in the middle of a file opens
 * without an error and fails later. Creates the file if it does not exist.
 */
export async function inspect(location: string, path: string): Promise<void> {
  const info = await statOrNull(path);
  if (info === null || info.size === 0) await refuseLeftovers(location, path);
  // The database gives its log the same mode.
  if (info === null) return await createPrivate(path);
  if (info.isDirectory) throw new StoreRefused(`${location} is a folder: name a file in it`);
  // Root may write to any file; a file without any write bit must stay unchanged.
  if (((info.mode ?? 0o200) & 0o222) === 0) {
    throw new StoreRefused(`${location} is read-only: make it writable or use another file`);
  }
  // Each name has its own lock and write-ahead log, so two processes would not notice each other.
  if ((info.nlink ?? 1) > 1) {
    throw new StoreRefused(
      `${location} is one of ${info.nlink} names of its file (hard links): keep one name`,
    );
  }
  if (info.size === 0 || info.size > QUICK_CHECK_BYTES_MAX) return;
  using database = new Database(path, { readOnly: true });
  const row = database.prepare("PRAGMA quick_check(1)").get();
  const verdict = oneLine(String(Object.values(row ?? {})[0]));
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

/** Refuses files left from a missing ledger: they would damage a new ledger. */
async function refuseLeftovers(location: string, path: string): Promise<void> {
  for (const leftover of [logOf(path), restoringOf(path)]) {
    if (((await statOrNull(leftover))?.size ?? 0) === 0) continue;
    throw new StoreRefused(
      `${location} is missing, but ${leftover} exists: put the ledger back, or restore a backup ` +
        "with deno task restore",
    );
  }
}

/**
 * Removes rows that never expire from the store's index by expiry, which the runtime fills with all
 * rows. The ledger has no row that expires, so each new key would change a second page of the file.
 * The runtime's own queries use the smaller index as well: they ask for this condition.
 *
 * @param path an open store
 */
export function shrinkExpiryIndex(path: string): void {
  const { name, rows } = EXPIRY_INDEX;
  using database = new Database(path, { timeout: LOCK_MS_MAX });
  const index = database.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").get(name);
  if (typeof index?.["sql"] !== "string" || index["sql"].endsWith(rows)) return;
  database.exec(
    `BEGIN; DROP INDEX ${name}; CREATE INDEX ${name} ON kv (expiration_ms) WHERE ${rows}; COMMIT`,
  );
}
