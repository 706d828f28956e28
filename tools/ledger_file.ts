/** Opens the ledger that a tool works on, which a running service may have open. */
import { parseConfig } from "../app/config.ts";
import { StorageUnavailable } from "../domain/core/errors.ts";
import { CopyFailed } from "../kv/backup.ts";
import { type OpenStore, openUnlocked, withAccessToken } from "../kv/open.ts";
import { StoreRefused } from "../kv/refused.ts";
import { TransferFailed } from "../kv/transfer/export.ts";
import { type Io, runCommand, ToolFailure, UsageError } from "./command.ts";

/** Options of every tool that opens a ledger. */
export const LEDGER_OPTIONS = {
  kv: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Help lines for {@link LEDGER_OPTIONS}. */
export const LEDGER_HELP = [
  "  --kv=FILE    the ledger (default RUNLEDGER_KV, else ./data/runledger.kv)",
];

/** Exit code if there is no such ledger, or another process has it. */
const LEDGER_REFUSED = 3;

const FILE_HELP = [
  ...LEDGER_HELP,
  "Exit codes: 0 done, 1 not done, 2 invalid command line, 3 no such ledger, or it is in use.",
];

/**
 * Runs a command about a ledger and the one file that it names; returns its exit code.
 *
 * @param work does it; returns lines to print
 */
export function runFileCommand(
  args: readonly string[],
  io: Io,
  help: readonly string[],
  work: (file: string, kv: string | undefined) => Promise<readonly string[]>,
): Promise<number> {
  const config = { args: [...args], options: LEDGER_OPTIONS, allowPositionals: true as const };
  return runCommand(io, [...help, ...FILE_HELP], config, async ({ values, positionals }) => {
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new UsageError("Name one FILE: see --help");
    try {
      (await work(file, values.kv)).forEach((line) => io.out(line));
      return 0;
    } catch (error) {
      if (error instanceof StoreRefused) throw new ToolFailure(error.message, LEDGER_REFUSED);
      const isOfFile = error instanceof CopyFailed || error instanceof TransferFailed;
      throw isOfFile ? new ToolFailure(error.message) : error;
    }
  });
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
  const location = kv.name;
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
    if (error instanceof StoreRefused) throw new ToolFailure(error.message, LEDGER_REFUSED);
    if (!(error instanceof StorageUnavailable)) throw error;
    const advice = `${error.message}: is ${location} the ledger? Try again`;
    throw new ToolFailure(advice, LEDGER_REFUSED);
  }
}

/** Returns the ledger named on the command line, otherwise the service's setting. */
export function locationOf(named: string | undefined): string {
  return settingsOf(named).kv.name;
}

function settingsOf(named: string | undefined, token = "") {
  const location = named ?? Deno.env.get("RUNLEDGER_KV") ?? "";
  const parsed = parseConfig({ RUNLEDGER_KV: location, RUNLEDGER_KV_TOKEN: token }, []);
  if (!parsed.ok) throw new UsageError(parsed.problems.join("; "));
  return parsed.config;
}
