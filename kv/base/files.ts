/**
 * Names of a ledger's files, and how they are made.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";

/** Returns the path of a ledger's write-ahead log. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** Returns the path of a ledger's lock file. */
export function lockOf(path: string): string {
  return `${path}.lock`;
}

/** Returns the path of the key of a ledger's sealed secrets. */
export function sealOf(path: string): string {
  return `${path}.seal`;
}

/** Returns the path that a ledger is restored into before it is renamed. */
export function restoringOf(path: string): string {
  return `${path}.restoring`;
}

/** Modes of created files and folders: only the owner may read a ledger. */
export const MODE = { file: 0o600, folder: 0o700 } as const;

/** Creates an empty file; throws if the file exists. */
export async function createPrivate(path: string): Promise<void> {
  (await Deno.open(path, { write: true, createNew: true, mode: MODE.file })).close();
}

/** Creates a folder, unless it exists. */
export async function makeFolder(path: string): Promise<void> {
  await Deno.mkdir(path, { recursive: true, mode: MODE.folder });
}

/** Returns whether the path exists; a dangling link counts. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Returns the bytes of a ledger's file and of its write-ahead log; null if they do not exist. */
export function fileBytesOf(path: string) {
  try {
    const { size } = Deno.statSync(path);
    return { file: size, log: Deno.statSync(logOf(path)).size };
  } catch {
    return null;
  }
}

/** A database; Deno 2.5 has none that can be disposed. */
export class Database extends DatabaseSync {
  override [Symbol.dispose](): void {
    this.close();
  }
}
