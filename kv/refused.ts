/**
 * Errors for a ledger that cannot be opened; each is one line that says what to do.
 *
 * @module
 */
import { VERSION } from "../domain/core/version.ts";
import { LEDGER_FORMAT, type LedgerFormat } from "./base/keys.ts";

/** The store cannot be used; the message says why and what to do, in one line. */
export class StoreRefused extends Error {
  override readonly name: string = "StoreRefused";
}

/** The store does not work now and may work later, such as on a full disk or over a network. */
export class StoreOffline extends StoreRefused {
  override readonly name = "StoreOffline";
}

/** Another process has locked the file. */
export class StoreInUse extends StoreRefused {
  override readonly name = "StoreInUse";

  /**
   * Creates the error.
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

/** Creates the error for a failure reported by the runtime or the disk. */
export function refusal(
  location: string,
  error: unknown,
  advice = "check its disk and RUNLEDGER_KV",
): StoreRefused {
  const message = messageOf(error);
  if (error instanceof StoreRefused) return error;
  if (error instanceof Deno.errors.NotCapable) {
    const [reason] = message.split(", run again");
    return new StoreRefused(`Cannot open ${location}: ${reason}: name its folder in -R and -W`);
  }
  if (/not a database|malformed/.test(message)) return damaged(location, message);
  const text = `Cannot open ${location}: ${message}: ${advice}`;
  const isDenied = error instanceof Deno.errors.PermissionDenied;
  return isDenied ? new StoreRefused(text) : new StoreOffline(text);
}

/**
 * Returns why a ledger with this first row cannot be used; null if it can.
 *
 * @param row value of the row of the format; null if it is missing
 */
export function otherFormat(
  location: string,
  row: unknown,
  advice = "export it with that version, then import it with this one, see docs/UPGRADE.md",
): StoreRefused | null {
  const { format, version } = (row instanceof Object ? row : { format: row }) as LedgerFormat;
  if (format === LEDGER_FORMAT) return null;
  if (format === "importing") {
    return new StoreRefused(
      `${location} is a part of a ledger, because its import did not end: import into a new one`,
    );
  }
  const contents = version === undefined
    ? `${format === null ? "no format" : `format ${format}`}, as written before version 0.1.0`
    : `format ${format}, written by version ${version}`;
  const way = version === undefined ? "start with a new one, see docs/UPGRADE.md" : advice;
  return new StoreRefused(
    `${location} has ${contents}, but version ${VERSION} reads only format ${LEDGER_FORMAT}: ${way}`,
  );
}

/** Creates the error for a damaged ledger. */
export function damaged(location: string, detail: string): StoreRefused {
  return new StoreRefused(
    `${location} is damaged (${detail}): restore a backup or set RUNLEDGER_KV to another file`,
  );
}

/** Returns the message of any thrown value, as one line. */
export function messageOf(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error));
}

/** Joins the lines of a text with spaces. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
