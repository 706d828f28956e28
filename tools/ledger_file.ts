/** Opens the ledger that a tool works on, which a running service may have open. */
import { parseConfig } from "../app/config.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import { nameOf } from "../kv/location.ts";
import { type OpenStore, openUnlocked, withAccessToken } from "../kv/open.ts";
import { StoreRefused } from "../kv/refused.ts";
import { ToolFailure, UsageError } from "./command.ts";

/** Options of every tool that opens a ledger. */
export const LEDGER_OPTIONS = {
  kv: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Help lines for {@link LEDGER_OPTIONS}. */
export const LEDGER_HELP = [
  "  --kv=FILE    the ledger (default RUNLEDGER_KV, else ./data/runledger.kv)",
];

export class LedgerRefused extends ToolFailure {
  override readonly name = "LedgerRefused";
  override readonly exitCode = 3;
}

/**
 * Opens a ledger while a tool works on it.
 *
 * @param open how to open it; by default also next to a running service
 * @param options `mayBeNew` for a tool that creates a ledger
 */
export async function withLedger<T>(
  named: string | undefined,
  work: (store: OpenStore, location: string) => Promise<T>,
  open: (location: string) => Promise<OpenStore> = openUnlocked,
  options: { readonly mayBeNew?: true } = {},
): Promise<T> {
  const { kv, kvToken } = settingsOf(named, Deno.env.get("RUNLEDGER_KV_TOKEN"));
  const location = nameOf(kv);
  try {
    const store = await withAccessToken(kvToken, () => open(location));
    try {
      if (store.isNew && !options.mayBeNew) {
        throw new StoreRefused(`${location} holds no ledger: name the one of RUNLEDGER_KV`);
      }
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

/** Returns the ledger named on the command line, otherwise the service's setting. */
export function locationOf(named: string | undefined): string {
  return nameOf(settingsOf(named).kv);
}

function settingsOf(named: string | undefined, token = "") {
  const location = named ?? Deno.env.get("RUNLEDGER_KV") ?? "";
  const parsed = parseConfig({ RUNLEDGER_KV: location, RUNLEDGER_KV_TOKEN: token }, []);
  if (!parsed.ok) throw new UsageError(parsed.problems.join("; "));
  return parsed.config;
}
