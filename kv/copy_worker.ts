/**
 * Copies a ledger's file and checks the copy, in a thread of its own: the database keeps its thread busy
 * with both, and the main thread shows progress and takes signals meanwhile.
 *
 * @module
 */
import { backup, DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";

/** What to copy. */
export interface CopyJob {
  /** A ledger's file, which services may have open. */
  readonly from: string;
  /** An empty file. */
  readonly to: string;
  /** Ends the copy once it is not 0; shared, because the database does not let messages in. */
  readonly stop: Int32Array;
}

/** What the thread says: how far it is, and how it ended. */
export type CopyNews =
  | { readonly kind: "copying"; readonly pages: number; readonly pagesOfAll: number }
  | { readonly kind: "copied" }
  | { readonly kind: "checked"; readonly verdict: string; readonly format: unknown }
  | { readonly kind: "failed"; readonly message: string };

/** The key of a ledger's format as the runtime stores it. */
const FORMAT_KEY = new TextEncoder().encode("\x02format\x00");

/** Milliseconds to wait for another program's lock. */
const LOCKED_MS_MAX = 10_000;

/** Pages copied from one news to the next, 4 MB. */
const PAGES_PER_NEWS = 1_000;

// In a worker the global object has the method; the types are those of the main thread.
const main = globalThis as unknown as { postMessage(news: CopyNews): void };

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
  using database = new DatabaseSync(from, { readOnly: true, timeout: LOCKED_MS_MAX });
  // One moment is read, so that a commit of the service does not begin the copy again. Writers go on: a
  // reader holds up only the shrinking of their log.
  database.exec("BEGIN; SELECT count(*) FROM sqlite_master");
  await backup(database, to, {
    rate: PAGES_PER_NEWS,
    progress: ({ totalPages, remainingPages }) => {
      const pages = totalPages - remainingPages;
      main.postMessage({ kind: "copying", pages, pagesOfAll: totalPages });
      goOnUnless(stop);
    },
  });
  seal(to);
  goOnUnless(stop);
}

/** Makes one file the whole copy, without a log of its own. */
function seal(path: string): void {
  using database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = DELETE");
}

function goOnUnless(stop: Int32Array): void {
  if (Atomics.load(stop, 0) !== 0) throw new Error("it was broken off");
}

function check(path: string): Omit<CopyNews & { kind: "checked" }, "kind"> {
  // Only to read: a copy that is broken off is removed while this runs, and must not come back.
  using database = new DatabaseSync(path, { readOnly: true });
  const row = database.prepare("PRAGMA integrity_check(1)").get();
  const verdict = String(Object.values(row ?? {})[0]);
  const found = database.prepare("SELECT v FROM kv WHERE k = ?").get(FORMAT_KEY);
  const format = found?.v instanceof Uint8Array ? deserialize(found.v) : null;
  return { verdict, format };
}
