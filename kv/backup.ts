/**
 * Backups of a ledger's file: consistent, checked, and under their name only when they are complete.
 *
 * Both ways are one copy of one moment. A backup is taken beside the running service; to restore one, the
 * ledger must be nobody's, and what was there moves aside with its log of commits: the database would
 * play a log that stayed behind into the file that was put back, and damage it.
 *
 * @module
 */
import { dirname } from "node:path";
import type { CopyJob, CopyNews } from "./copy_worker.ts";
import { LEDGER_FORMAT } from "./base/keys.ts";
import { createPrivate, isThere, restoringOf } from "./base/files.ts";
import { isFile, requireLedger } from "./open.ts";
import { messageOf, otherFormat, StoreRefused } from "./refused.ts";
import { lockLedger } from "./ledger_file.ts";

/** A file could not be copied, or its copy is no sound ledger. */
export class CopyFailed extends Error {
  /** Tells this error from others in logs. */
  override readonly name = "CopyFailed";
}

/** Hears how far a copy is. */
export interface CopyWatch {
  /** Ends the copy when aborted. */
  readonly signal?: AbortSignal;
  /** Called now and then with the pages copied, and those that there are. */
  readonly onPages?: (pages: number, pagesOfAll: number) => void;
  /** Called when all is copied and the copy is being checked. */
  readonly onCopied?: () => void;
}

/** Why a copy that was told to stop failed. */
const BROKEN_OFF = "it was broken off";

/** A file, and its copy to be. */
type Files = Pick<CopyJob, "from" | "to">;

/** What was restored. */
export interface Restored {
  /** Bytes of the ledger now. */
  readonly bytes: number;
  /** Where the files that were there are now. */
  readonly movedTo: readonly string[];
}

/**
 * Copies a ledger, which a service may be writing to.
 *
 * @param target the new file
 * @returns its bytes
 * @throws {StoreRefused} when there is no ledger
 * @throws {CopyFailed} when the target exists or cannot be written, or the ledger is damaged
 */
export async function backUp(
  location: string,
  target: string,
  watch: CopyWatch = {},
): Promise<number> {
  if (!isFile(location)) throw new StoreRefused(`${location} is no file: use its own tools`);
  await requireLedger(location);
  // The name is taken first, so that of two backups to one name one is refused.
  await create(target);
  const partial = `${target}.partial`;
  try {
    await removeCopy(partial);
    const bytes = await copyLedger(location, partial, watch);
    await Deno.rename(partial, target);
    await syncFolder(target);
    return bytes;
  } catch (error) {
    await removeCopy(partial);
    await removeIfThere(target);
    throw asCopyFailed(error);
  }
}

/**
 * Puts a backup in a ledger's place.
 *
 * @param stamp a text for the names of the files that move aside
 * @throws {StoreInUse} when a service has the ledger
 * @throws {CopyFailed} when the backup is not sound; the ledger is then as it was
 */
export async function restore(
  backup: string,
  location: string,
  stamp: string,
  watch: CopyWatch = {},
): Promise<Restored> {
  if (!isFile(location)) throw new StoreRefused(`${location} is no file: use its own tools`);
  if (!await isThere(backup)) throw new CopyFailed(`There is no backup at ${backup}`);
  const { path, lock } = await lockLedger(location);
  const restoring = restoringOf(path);
  try {
    await removeCopy(restoring);
    const bytes = await copyLedger(backup, restoring, watch);
    const movedTo = await moveAside(path, `${path}.before-restore-${stamp}`);
    await Deno.rename(restoring, path);
    await syncFolder(path);
    return { bytes, movedTo };
  } catch (error) {
    // Once the ledger has moved, only this file says that one is missing.
    if (await isThere(path)) await removeCopy(restoring);
    throw asCopyFailed(error);
  } finally {
    lock.close();
  }
}

/** The log goes last: until the end it or the restored file keeps a service from a new, empty ledger. */
async function moveAside(path: string, aside: string): Promise<string[]> {
  const moved: string[] = [];
  for (const suffix of ["", "-shm", "-wal"]) {
    if (!await isThere(path + suffix)) continue;
    await Deno.rename(path + suffix, aside + suffix);
    moved.push(aside + suffix);
  }
  return moved;
}

/** Copies a ledger into a file that is not there yet, checks it, and has it reach the disk. */
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
  const judge = (news: CopyNews): void => {
    switch (news.kind) {
      case "copying":
        return onPages?.(news.pages, news.pagesOfAll);
      case "copied":
        isCopied = true;
        return signal?.aborted ? abort() : onCopied?.();
      case "checked":
        if (news.verdict !== "ok") return fail(`it is damaged: ${news.verdict}`);
        if (news.format === null) return fail("it is no ledger of this service");
        if (news.format !== LEDGER_FORMAT) return reject(otherFormat(job.from, news.format));
        return resolve();
      case "failed":
        return fail(news.message);
    }
  };
  // A copy under way ends by itself and takes its journal with it; a check is left alone.
  const abort = () => isCopied ? fail(BROKEN_OFF) : void Atomics.store(job.stop, 0, 1);
  worker.onmessage = (event: MessageEvent<CopyNews>) => judge(event.data);
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

/** Gives what the disk said the form of other failures. */
function asCopyFailed(error: unknown): unknown {
  const isKnown = error instanceof CopyFailed || error instanceof StoreRefused;
  return isKnown ? error : new CopyFailed(`Cannot copy: ${messageOf(error)}: check the disk`);
}

async function create(path: string): Promise<void> {
  try {
    await createPrivate(path);
  } catch (error) {
    const isTaken = error instanceof Deno.errors.AlreadyExists;
    const why = isTaken ? "it is there already: choose another name" : messageOf(error);
    throw new CopyFailed(`Cannot create ${path}: ${why}`);
  }
}

/** Removes a copy under way, which has a journal of its own until it is complete. */
async function removeCopy(path: string): Promise<void> {
  await removeIfThere(path);
  await removeIfThere(`${path}-journal`);
}

async function removeIfThere(path: string): Promise<void> {
  if (await isThere(path)) await Deno.remove(path);
}

/** A new name is on the disk once its folder is. */
async function syncFolder(path: string): Promise<void> {
  using folder = await Deno.open(dirname(path));
  await folder.sync();
}
