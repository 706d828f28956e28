/**
 * Backs up and restores a ledger's file. A backup gets its name only when complete and checked.
 *
 * Both operations copy one snapshot. A backup can be taken while the service runs. A restore needs
 * the ledger's lock, and moves the old file away together with its write-ahead log: otherwise the
 * database would replay the old log into the restored file and damage it.
 *
 * @module
 */
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { CopyJob, CopyMessage } from "./copy_worker.ts";
import { createPrivate, isThere, restoringOf, sealOf } from "./base/files.ts";
import { parseLocation } from "./location.ts";
import { refusing, requireLedger } from "./open.ts";
import { messageOf, otherFormat, StoreRefused } from "./refused.ts";
import { lockLedger } from "./ledger_file.ts";

/** A file could not be copied, or its copy is not a valid ledger. */
export class CopyFailed extends Error {
  override readonly name = "CopyFailed";
}

/** Receives the progress of a copy. */
export interface CopyWatch {
  /** Cancels the copy. */
  readonly signal?: AbortSignal;
  /** Called periodically with the number of copied pages and of all pages. */
  readonly onPages?: (pages: number, pagesOfAll: number) => void;
  /** Called when the copy is complete and its check begins. */
  readonly onCopied?: () => void;
}

const CANCELLED = "it was cancelled";

type Files = Pick<CopyJob, "from" | "to">;

/**
 * Backs up a ledger while a service may be writing to it, with the key of its sealed secrets.
 *
 * @param target path of the new file
 * @returns the bytes of the backup, and the path of the copied key; null if there is none
 * @throws {StoreRefused} when there is no ledger
 * @throws {CopyFailed} when the target exists or cannot be written, or the ledger is damaged
 */
export async function backUp(
  location: string,
  target: string,
  watch: CopyWatch = {},
): Promise<{ readonly bytes: number; readonly key: string | null }> {
  if (parseLocation(location).kind !== "file") throw notAFile(location);
  await requireLedger(location);
  // Reserve the name first, so that one of two concurrent backups to one name is refused.
  await create(target);
  const partial = `${target}.partial`;
  try {
    await removeCopy(partial);
    const bytes = await copyLedger(location, partial, watch);
    // After the ledger: a key that is made meanwhile is copied too.
    const key = await copyKey(location, target);
    await Deno.rename(partial, target);
    await syncFolder(target);
    return { bytes, key };
  } catch (error) {
    await removeCopy(partial);
    await removeIfThere(target);
    throw asCopyFailed(error);
  }
}

/**
 * Replaces a ledger with a backup.
 *
 * @param stamp suffix for the names of the replaced files
 * @returns the bytes of the restored ledger, and the new paths of the replaced files
 * @throws {StoreRefused} when a service or another program has the ledger open
 * @throws {CopyFailed} when the backup is not valid; the ledger is then unchanged
 */
export async function restore(
  backup: string,
  location: string,
  stamp: string,
  watch: CopyWatch = {},
) {
  if (parseLocation(location).kind !== "file") throw notAFile(location);
  if (!await isThere(backup)) throw new CopyFailed(`There is no backup at ${backup}`);
  const { path, lock } = await refusing(parseLocation(location), () => lockLedger(location));
  const restoring = restoringOf(path);
  let isCopied = false;
  try {
    await removeCopy(restoring);
    const bytes = await copyLedger(backup, restoring, watch);
    isCopied = true;
    const movedTo = await moveAside(path, `${path}.before-restore-${stamp}`);
    const moved = await restoreKey(backup, path, stamp);
    await Deno.rename(restoring, path);
    await syncFolder(path);
    return { bytes, movedTo: [...movedTo, ...moved] };
  } catch (error) {
    // After the ledger has moved, this file is the only sign that it is missing.
    if (!isCopied || await isThere(path)) await removeCopy(restoring);
    throw asCopyFailed(error);
  } finally {
    lock[Symbol.dispose]();
  }
}

/** Copies the key of a ledger; returns the path of the copy, or null if there is no key. */
async function copyKey(from: string, to: string): Promise<string | null> {
  const [key, target] = [sealOf(from), sealOf(to)];
  if (!await isThere(key)) return null;
  await create(target);
  await Deno.writeFile(target, await Deno.readFile(key));
  using file = await Deno.open(target, { write: true });
  await file.sync();
  return target;
}

/**
 * Copies the key of a backup to the ledger, and moves a replaced key. Without a key in the backup the
 * ledger's stays: its secrets may be sealed with it.
 */
async function restoreKey(backup: string, path: string, stamp: string): Promise<string[]> {
  if (!await isThere(sealOf(backup))) return [];
  const key = sealOf(path);
  const aside = `${key}.before-restore-${stamp}`;
  const isReplaced = await isThere(key);
  if (isReplaced) await Deno.rename(key, aside);
  await copyKey(backup, path);
  return isReplaced ? [aside] : [];
}

function notAFile(location: string): StoreRefused {
  return new StoreRefused(
    `${location} is not a file: name the file of its server with --kv, or use deno task export`,
  );
}

/**
 * Moves the files of a ledger.
 *
 * Moves the log last: until then, the log or the restored file prevents a new, empty ledger.
 *
 * @throws {StoreRefused} when another program has the file open; nothing is moved then
 */
async function moveAside(path: string, aside: string): Promise<string[]> {
  const moved: string[] = [];
  for (const suffix of ["", "-shm", "-wal"]) {
    if (!await isThere(path + suffix)) continue;
    await Deno.rename(path + suffix, aside + suffix);
    if (suffix === "" && isOpen(aside)) {
      await Deno.rename(aside, path);
      throw new StoreRefused(`${path} is in use by another program: stop it`);
    }
    moved.push(aside + suffix);
  }
  return moved;
}

/**
 * Returns whether any program has a database open. A server of a shared KV has no lock of this
 * service; it would keep writing to the moved file, and lose that when it ends.
 *
 * @param path the database without its log, which would otherwise be merged into it
 */
function isOpen(path: string): boolean {
  try {
    using database = new DatabaseSync(path);
    // An open database has a shared lock, which an exclusive one does not tolerate.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN; SELECT count(*) FROM sqlite_master");
    return false;
  } catch (error) {
    // Other errors are those of a damaged file, which a restore replaces.
    return /locked/.test(messageOf(error));
  }
}

/** Copies a ledger into a new file, checks the copy and syncs it to disk. */
async function copyLedger(from: string, to: string, watch: CopyWatch): Promise<number> {
  await create(to);
  await copyInThread({ from, to }, watch);
  using file = await Deno.open(to, { read: true, write: true });
  await file.sync();
  return (await file.stat()).size;
}

async function copyInThread(files: Files, { signal, onPages, onCopied }: CopyWatch): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const worker = new Worker(new URL("./copy_worker.ts", import.meta.url), { type: "module" });
  const job: CopyJob = { ...files, stop: new Int32Array(new SharedArrayBuffer(4)) };
  let isCopied = false;
  const fail = (why: string) =>
    reject(new CopyFailed(`Cannot copy ${job.from} to ${job.to}: ${why}`));
  const finish = (refused: StoreRefused | null) => refused === null ? resolve() : reject(refused);
  const judge = (news: CopyMessage): void => {
    switch (news.kind) {
      case "copying":
        return onPages?.(news.pages, news.pagesOfAll);
      case "copied":
        isCopied = true;
        return signal?.aborted ? abort() : onCopied?.();
      case "checked":
        if (news.verdict !== "ok") return fail(`it is damaged: ${news.verdict}`);
        if (news.format === null) return fail("it is not a ledger of this service");
        return finish(otherFormat(job.from, news.format));
      case "failed":
        return fail(news.message);
    }
  };
  // A running copy stops itself and removes its journal; a running check is abandoned.
  const abort = () => isCopied ? fail(CANCELLED) : void Atomics.store(job.stop, 0, 1);
  worker.onmessage = (event: MessageEvent<CopyMessage>) => judge(event.data);
  worker.onerror = (event) => {
    event.preventDefault();
    fail(event.message);
  };
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  try {
    worker.postMessage(job);
    await promise;
  } finally {
    signal?.removeEventListener("abort", abort);
    worker.terminate();
  }
}

/** Converts disk errors to {@link CopyFailed}. */
function asCopyFailed(error: unknown): unknown {
  const isKnown = error instanceof CopyFailed || error instanceof StoreRefused;
  return isKnown ? error : new CopyFailed(`Cannot copy: ${messageOf(error)}: check the disk`);
}

async function create(path: string): Promise<void> {
  try {
    await createPrivate(path);
  } catch (error) {
    const isTaken = error instanceof Deno.errors.AlreadyExists;
    const why = isTaken ? "it already exists: choose another name" : messageOf(error);
    throw new CopyFailed(`Cannot create ${path}: ${why}`);
  }
}

/** Removes an incomplete copy and its journal. */
async function removeCopy(path: string): Promise<void> {
  await removeIfThere(path);
  await removeIfThere(`${path}-journal`);
}

async function removeIfThere(path: string): Promise<void> {
  if (await isThere(path)) await Deno.remove(path);
}

/** Syncs the folder, which makes a new name durable. */
async function syncFolder(path: string): Promise<void> {
  using folder = await Deno.open(dirname(path));
  await folder.sync();
}
