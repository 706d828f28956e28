/**
 * The names of a ledger's files, and whether these are still where they were opened.
 *
 * A file that is deleted, moved away or replaced can still be written by whoever has it open: every
 * commit succeeds, and is gone with the process. The names tell, and looking takes microseconds.
 *
 * @module
 */

/** A file as it was found under a name. */
interface Found {
  readonly path: string;
  readonly dev: number;
  readonly ino: number | null;
}

/** Sizes of a ledger's files. */
export interface FileBytes {
  /** The file itself, bytes. */
  readonly file: number;
  /** The log of commits beside it, bytes. */
  readonly log: number;
}

/** Returns the log of commits of a ledger's file. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** Returns the file whose lock is that of a ledger. */
export function lockOf(path: string): string {
  return `${path}.lock`;
}

/** Returns the file that a ledger is restored into, before it gets the ledger's name. */
export function restoringOf(path: string): string {
  return `${path}.restoring`;
}

/** Modes of what is created: a ledger holds what its owner alone may read. */
export const MODE = { file: 0o600, folder: 0o700 } as const;

/** Creates an empty file, unless there is one. */
export async function createPrivate(path: string): Promise<void> {
  (await Deno.open(path, { write: true, createNew: true, mode: MODE.file })).close();
}

/** Tells whether there is something under a name, be it a link that leads nowhere. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Looks how large a ledger's files are; null when they are not there. */
export function fileBytesOf(path: string): FileBytes | null {
  try {
    const { size } = Deno.statSync(path);
    return { file: size, log: Deno.statSync(logOf(path)).size };
  } catch {
    return null;
  }
}

/**
 * Notes the files of a ledger that was just opened.
 *
 * @param location its name, which may be a link
 * @param path the file itself, beside which its log and its lock are
 * @returns whether the same files are still there
 */
export function watchFiles(location: string, path: string): () => boolean {
  const paths = [location, logOf(path), lockOf(path)];
  const opened = paths.map((path): Found => ({ path, ...identityOf(path) }));
  return () => opened.every(isInPlace);
}

function isInPlace({ path, dev, ino }: Found): boolean {
  try {
    const now = identityOf(path);
    return now.dev === dev && now.ino === ino;
  } catch {
    return false;
  }
}

/** What tells a file from any other; the same for as long as it exists. */
function identityOf(path: string): Pick<Found, "dev" | "ino"> {
  const { dev, ino } = Deno.statSync(path);
  return { dev, ino };
}
