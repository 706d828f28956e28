/**
 * Copies a ledger's file and checks the copy in a worker thread. Both block their thread; the main
 * thread shows progress and handles signals meanwhile.
 *
 * @module
 */
import { backup } from "node:sqlite";
import { deserialize } from "node:v8";
import { Database } from "./base/files.ts";

export interface CopyJob {
  /** The ledger's file, which services may have open. */
  readonly from: string;
  /** An empty file. */
  readonly to: string;
  /** Cancels the copy once nonzero; shared memory, because a copy blocks messages. */
  readonly stop: Int32Array;
}

/** Messages of the thread: its progress and its result. */
export type CopyMessage =
  | { readonly kind: "copying"; readonly pages: number; readonly pagesOfAll: number }
  | { readonly kind: "copied" }
  | { readonly kind: "checked"; readonly verdict: string; readonly format: unknown }
  | { readonly kind: "failed"; readonly message: string };

/** Key of a ledger's format, as the runtime encodes it. */
const FORMAT_KEY = new TextEncoder().encode("\x02format\x00");

/** Milliseconds to wait for another program's lock. */
const LOCKED_MS_MAX = 10_000;

/** Pages copied between two progress messages, 4 MB. */
const PAGES_PER_PROGRESS_MESSAGE = 1_000;

// In a worker the global object has this method, but the types are those of the main thread.
const main = globalThis as unknown as { postMessage(news: CopyMessage): void };

globalThis.addEventListener("message", async (event) => {
  const job = (event as MessageEvent<CopyJob>).data;
  try {
    await copy(job);
    main.postMessage({ kind: "copied" });
    main.postMessage({ kind: "checked", ...check(job.to) });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    main.postMessage({ kind: "failed", message });
  }
});

async function copy({ from, to, stop }: CopyJob): Promise<void> {
  using database = new Database(from, { readOnly: true, timeout: LOCKED_MS_MAX });
  // Reads one snapshot, so that a commit of the service does not restart the copy. Writers
  // continue: a reader blocks only the truncation of their log.
  database.exec("BEGIN; SELECT count(*) FROM sqlite_master");
  await backup(database, to, {
    rate: PAGES_PER_PROGRESS_MESSAGE,
    progress: ({ totalPages, remainingPages }) => {
      const pages = totalPages - remainingPages;
      main.postMessage({ kind: "copying", pages, pagesOfAll: totalPages });
      throwIfStopped(stop);
    },
  });
  seal(to);
  throwIfStopped(stop);
}

/** Turns the copy into a single file without a write-ahead log. */
function seal(path: string): void {
  using database = new Database(path);
  database.exec("PRAGMA journal_mode = DELETE");
}

function throwIfStopped(stop: Int32Array): void {
  if (Atomics.load(stop, 0) !== 0) throw new Error("it was cancelled");
}

function check(path: string): Omit<CopyMessage & { kind: "checked" }, "kind"> {
  // Read-only: a cancelled copy is removed while this runs and must not be recreated.
  using database = new Database(path, { readOnly: true });
  const row = database.prepare("PRAGMA integrity_check(1)").get();
  const verdict = String(Object.values(row ?? {})[0]);
  const formatRow = database.prepare("SELECT v FROM kv WHERE k = ?").get(FORMAT_KEY);
  const format = formatRow?.v instanceof Uint8Array ? deserialize(formatRow.v) : null;
  return { verdict, format };
}
