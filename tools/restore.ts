/** `deno task restore`: replaces a ledger that no service has open by a backup. */
import { restore as restoreLedger } from "../kv/backup.ts";
import { runCopy } from "./backup.ts";
import { type Io, processIo } from "./command.ts";

const HELP = [
  "deno task restore FILE [--kv=LEDGER]",
  "Checks a backup and puts a copy of it in the ledger's place. Stop the service first. The files that",
  "were there get names with the time, and stay.",
];

/** Runs the command; returns its exit code. */
export function restore(args: readonly string[], io: Io): Promise<number> {
  return runCopy(args, io, HELP, async (file, location, watch) => {
    // The separators of an instant are no part of file names everywhere.
    const stamp = new Date().toISOString().replace(/\W/g, "");
    const { bytes, movedTo } = await restoreLedger(file, location, stamp, watch);
    const moved = movedTo.map((path) => `moved what was there to ${path}`);
    return { bytes, lines: [...moved, `${location} is now what ${file} holds`] };
  });
}

if (import.meta.main) Deno.exit(await restore(Deno.args, processIo()));
