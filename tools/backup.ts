/** `deno task backup`: copies a ledger beside the running service, and checks the copy. */
import { backUp } from "../kv/backup.ts";
import { copyTool } from "./copy.ts";
import { type Io, processIo } from "./progress.ts";

const HELP = [
  "deno task backup FILE [--kv=LEDGER]",
  "Copies a ledger as it is at one moment into one new file, and checks the copy. Services go on.",
];

/** Runs the command; answers its exit code. */
export function backup(args: readonly string[], io: Io): Promise<number> {
  return copyTool(args, io, HELP, async (file, location, watch) => {
    const bytes = await backUp(location, file, watch);
    return { bytes, lines: [`${file} is a sound copy of ${location}`] };
  });
}

if (import.meta.main) Deno.exit(await backup(Deno.args, processIo()));
