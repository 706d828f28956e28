/**
 * Refusals to open a ledger, each one line that says what to do.
 *
 * @module
 */
import { LEDGER_FORMAT } from "./base/keys.ts";

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

/** Refuses a ledger because of what the runtime or the disk reported. */
export function refusal(location: string, error: unknown): StoreRefused {
  const message = messageOf(error);
  if (/not a database|malformed/.test(message)) return damaged(location, message);
  return new StoreRefused(`Cannot open ${location}: ${message}: check its disk and RUNLEDGER_KV`);
}

/** Refuses a ledger of another format than this version writes; null is that of a ledger without one. */
export function otherFormat(location: string, format: unknown): StoreRefused {
  const found = format === null ? "no format" : `format ${format}`;
  return new StoreRefused(
    `${location} has ${found}, and this version reads format ${LEDGER_FORMAT} only: ` +
      "start with a new file, or start the version that wrote it",
  );
}

/** Refuses a ledger that is damaged. */
export function damaged(location: string, detail: string): StoreRefused {
  return new StoreRefused(
    `${location} is damaged (${detail}): restore a backup or set RUNLEDGER_KV to another file`,
  );
}

/** The message of whatever was thrown, as one line. */
export function messageOf(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error));
}

/** Joins the lines of a text. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
