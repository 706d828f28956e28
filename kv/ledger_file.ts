/**
 * The file of a ledger: its lock, and the checks before it is opened.
 *
 * @module
 */
import { createPrivate, isThere, lockOf, logOf, MODE, restoringOf } from "./base/files.ts";
import { damaged, oneLine, refusal, StoreInUse, StoreRefused } from "./refused.ts";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Bytes of a file that is checked in full at start; a larger one would delay it by seconds. */
const QUICK_CHECK_BYTES_MAX = 268_435_456;

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
export async function inspect(location: string, path: string): Promise<void> {
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
