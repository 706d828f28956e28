/** `deno task restore`: replaces a ledger with a backup, while no service has it open. */
import { restore as restoreLedger } from "../kv/backup.ts";
import { runCopy } from "./backup.ts";
import { type Io, processIo } from "./command.ts";

const HELP = [
  "deno task restore FILE [--kv=LEDGER]",
  "Checks a backup and replaces the ledger with a copy of it. Stop the service first. The replaced",
  "files are kept under names with the time. FILE.seal, if it is there, becomes LEDGER.seal.",
];

/** Runs the command; returns its exit code. */
export function runRestore(args: readonly string[], io: Io): Promise<number> {
  return runCopy(args, io, HELP, async (file, location, watch) => {
    // The separators of an instant are not valid in all file names.
    const stamp = new Date().toISOString().replace(/\W/g, "");
    const { bytes, movedTo } = await restoreLedger(file, location, stamp, watch);
    const moved = movedTo.map((path) => `moved the previous file to ${path}`);
    return { bytes, lines: [...moved, `${location} is restored from ${file}`] };
  });
}

if (import.meta.main) Deno.exit(await runRestore(Deno.args, processIo()));
