/** The ledger that a tool works on: the file of a service that may be running. */
import { parseConfig } from "../app/config.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import { openBeside, openOwned, type OpenStore } from "../kv/open.ts";
import { StoreInUse, StoreRefused } from "../kv/refused.ts";
import { ToolFailure, UsageError } from "./command.ts";

/** Options of every tool that works on a ledger. */
export const LEDGER_OPTIONS = {
  kv: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Lines of help about {@link LEDGER_OPTIONS}. */
export const LEDGER_HELP = [
  "  --kv=FILE    the ledger (default RUNLEDGER_KV, else ./data/runledger.kv)",
];

/** The ledger cannot be used. */
export class LedgerRefused extends ToolFailure {
  override readonly name = "LedgerRefused";
  override readonly exitCode = 3;
}

/** Opens a ledger for as long as a tool works on it, also beside a running service. */
export async function withLedger<T>(
  named: string | undefined,
  work: (store: OpenStore, location: string) => Promise<T>,
  open: (location: string) => Promise<OpenStore> = openBeside,
): Promise<T> {
  const location = locationOf(named);
  try {
    const store = await open(location);
    try {
      return await work(store, location);
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof StoreRefused) throw new LedgerRefused(error.message);
    if (error instanceof StorageUnavailable) {
      throw new LedgerRefused(`${error.message}: is ${location} the ledger? Try again`);
    }
    throw error;
  }
}

/**
 * The same for a tool that must be alone on the file.
 *
 * @param advice what to do where a service has it
 */
export function withOwnLedger<T>(
  named: string | undefined,
  advice: string,
  work: (store: OpenStore, location: string) => Promise<T>,
): Promise<T> {
  return withLedger(named, work, async (location) => {
    try {
      return await openOwned(location);
    } catch (error) {
      throw error instanceof StoreInUse ? new StoreInUse(location, error.owner, advice) : error;
    }
  });
}

/** The ledger that a command line names, else the setting as the service reads it. */
export function locationOf(named: string | undefined): string {
  const sent = named ?? Deno.env.get("RUNLEDGER_KV");
  const parsed = parseConfig(sent === undefined ? {} : { RUNLEDGER_KV: sent }, []);
  if (!parsed.ok) throw new UsageError(parsed.problems.join("; "));
  return parsed.config.kv;
}
