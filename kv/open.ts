/**
 * Opening the store for one process: lock it, look at it, open it.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { dirname } from "node:path";
import { Deadlines } from "../domain/deadlines.ts";
import { STORAGE_DEADLINE_MS } from "../domain/limits.ts";
import { Memory } from "../domain/memory.ts";
import { TIMERS } from "./deadline.ts";
import { fileBytesOf, watchFiles } from "./files.ts";
import { keys } from "./keys.ts";
import { Doorbell } from "./writer/doorbell.ts";
import { BACK_ENDS, type BackEnd } from "./kv_limits.ts";
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
 * @param queue whether commits ring by queue messages too; a shared KV has no queues
 * @param memory how many bytes its caches and queues may hold
 * @throws {StoreRefused} when another process has it, or it is damaged or cannot be written
 */
export async function openStore(
  location: string,
  limits: BackEnd = backEndOf(location),
  queue = false,
  memory: Memory = new Memory(),
): Promise<OpenStore> {
  // A second handle on ":memory:" would be a second database, one on a URL a second connection.
  if (!isFile(location)) {
    const kv = await openKv(location);
    return openHandles({ kv, ...ALONE }, limits, queue && !isShared(location), memory);
  }
  const lock = await lockFile(location);
  try {
    await inspect(location);
    const kv = await openKv(location);
    const reader = await openKv(location);
    await answers(location, reader);
    const inPlace = watchFiles(location);
    const fileBytes = () => fileBytesOf(location);
    return openHandles({ kv, reader, lock, inPlace, fileBytes }, limits, queue, memory);
  } catch (error) {
    lock.close();
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
  const kv = await openKv(location);
  if (isFile(location)) await answers(location, kv);
  return openHandles({ kv, ...ALONE }, backEndOf(location), false, new Memory());
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

async function requireLedger(location: string): Promise<void> {
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
function isFile(location: string): boolean {
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
  queue: boolean,
  memory: Memory,
): OpenStore {
  const deadlines = new Deadlines(STORAGE_DEADLINE_MS, TIMERS);
  const doorbell = new Doorbell(queue ? kv : null);
  const back = reader ?? kv;
  const store = createStore(kv, back, limits, deadlines, doorbell, inPlace, fileBytes, memory);
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

/**
 * Takes the exclusive lock beside the file. A second process writing to one file makes commits
 * fail at random; the lock ends with its process, however that ends.
 */
async function lockFile(location: string): Promise<Deno.FsFile> {
  const path = `${location}.lock`;
  let file: Deno.FsFile;
  try {
    await Deno.mkdir(dirname(location), { recursive: true });
    file = await Deno.open(path, { create: true, read: true, write: true });
  } catch (error) {
    throw refusal(location, error);
  }
  if (!await file.tryLock(true)) {
    file.close();
    const owner = (await Deno.readTextFile(path)).trim();
    throw new StoreInUse(location, owner);
  }
  try {
    await file.truncate();
    await file.write(new TextEncoder().encode(`${Deno.pid}\n`));
  } catch (error) {
    file.close();
    throw refusal(location, error);
  }
  return file;
}

/**
 * Looks for damage and missing rights before anything is promised: a damaged page in the middle of
 * a file opens without complaint and fails later.
 */
async function inspect(location: string): Promise<void> {
  let found: Deno.FileInfo;
  try {
    found = await Deno.stat(location);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw refusal(location, error);
  }
  if (found.isDirectory) throw refusal(location, new Error("it is a folder"));
  // Root may write to any file; a file without any write bit is meant to stay as it is.
  if (((found.mode ?? 0o200) & 0o222) === 0) {
    throw new StoreRefused(`${location} is read-only: make it writable or use another file`);
  }
  if (found.size === 0 || found.size > QUICK_CHECK_BYTES_MAX) return;
  const verdict = quickCheck(location);
  if (verdict !== "ok") throw damaged(location, verdict);
}

function quickCheck(location: string): string {
  try {
    using database = new DatabaseSync(location, { readOnly: true });
    const row = database.prepare("PRAGMA quick_check(1)").get();
    return oneLine(String(Object.values(row ?? {})[0]));
  } catch (error) {
    // A disk that is full or fails says nothing about the file.
    throw refusal(location, error);
  }
}

async function openKv(location: string): Promise<Deno.Kv> {
  try {
    return await Deno.openKv(location);
  } catch (error) {
    throw refusal(location, error);
  }
}

/** Waits for a first answer: behind somebody else's lock it never comes, and the runtime says nothing. */
async function answers(location: string, kv: Deno.Kv): Promise<void> {
  using patience = new Deadlines(ANSWER_MS_MAX, TIMERS);
  try {
    await patience.within(kv.get(keys.firstTeam()), () => {
      const seconds = ANSWER_MS_MAX / 1_000;
      throw new Error(`no answer in ${seconds} s, as if another program held it`);
    });
  } catch (error) {
    throw refusal(location, error);
  }
}

function refusal(location: string, error: unknown): StoreRefused {
  const message = messageOf(error);
  if (/not a database|malformed/.test(message)) return damaged(location, message);
  return new StoreRefused(`Cannot open ${location}: ${message}: check its disk and RUNLEDGER_KV`);
}

function damaged(location: string, detail: string): StoreRefused {
  return new StoreRefused(
    `${location} is damaged (${detail}): restore a backup or set RUNLEDGER_KV to another file`,
  );
}

function messageOf(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
