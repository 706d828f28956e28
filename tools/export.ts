/** `deno task export`: writes a ledger into a file that any later version imports, into any store. */
import { isThere, MODE } from "../kv/base/files.ts";
import { openLocked } from "../kv/open.ts";
import { exportLines, TransferFailed } from "../kv/transfer/export.ts";
import { LEDGER_HELP, LEDGER_OPTIONS, withLedger } from "./ledger_file.ts";
import {
  createCounter,
  type Io,
  processIo,
  runCommand,
  ToolFailure,
  UsageError,
} from "./command.ts";

const HELP = [
  "deno task export FILE [--kv=LEDGER]",
  "Writes a ledger into a new file that `deno task import` of this or a later version reads.",
  "Stop its services first. docs/UPGRADE.md describes the file.",
  ...LEDGER_HELP,
  "Exit codes: 0 exported, 1 not exported, 2 invalid command line, 3 ledger missing or in use.",
];

/** Runs the command; returns its exit code. */
export function runExport(args: readonly string[], io: Io): Promise<number> {
  const config = { args: [...args], options: LEDGER_OPTIONS, allowPositionals: true as const };
  return runCommand(io, HELP, config, async ({ values, positionals }) => {
    const file = oneFile(positionals);
    if (await isThere(file)) throw new ToolFailure(`${file} exists: name a new file`);
    const location = await withLedger(values.kv, async (store, location) => {
      using lines = createCounter(io.screen, "lines");
      const count = () => lines.step();
      await asToolFailure(writeLines(file, exportLines(store), count));
      return location;
    }, openLocked);
    const { size } = await Deno.stat(file);
    io.out(`${file} is an export of ${location}: ${size.toLocaleString("en")} bytes`);
    return 0;
  });
}

/** Writes lines into a new file, which gets its name only when it is complete. */
async function writeLines(
  file: string,
  lines: AsyncIterable<string>,
  onLine: () => void,
): Promise<void> {
  const partial = `${file}.partial`;
  try {
    const options = { write: true, create: true, truncate: true, mode: MODE.file };
    const output = await Deno.open(partial, options);
    const ended = new TransformStream<string, string>({
      transform(line, controller) {
        onLine();
        controller.enqueue(`${line}\n`);
      },
    });
    await ReadableStream.from(lines).pipeThrough(ended).pipeThrough(new TextEncoderStream())
      .pipeThrough(new CompressionStream("gzip")).pipeTo(output.writable);
    {
      using written = await Deno.open(partial, { write: true });
      await written.sync();
    }
    await Deno.rename(partial, file);
  } catch (error) {
    await Deno.remove(partial).catch(() => {});
    throw error;
  }
}

/** Returns the one file that a command line names. */
export function oneFile(positionals: readonly string[]): string {
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError("Name one FILE: see --help");
  return file;
}

/** Turns a failed transfer into a failure of the tool. */
export function asToolFailure<T>(transfer: Promise<T>): Promise<T> {
  return transfer.catch((error) => {
    throw error instanceof TransferFailed ? new ToolFailure(error.message) : error;
  });
}

if (import.meta.main) Deno.exit(await runExport(Deno.args, processIo()));
