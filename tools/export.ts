/** `deno task export`: writes a ledger into a file that any later version imports, into any store. */
import { isThere, MODE } from "../kv/base/files.ts";
import { openLocked } from "../kv/open.ts";
import { exportLines } from "../kv/transfer/export.ts";
import { runFileCommand, withLedger } from "./ledger_file.ts";
import { createProgress, type Io, processIo, ToolFailure } from "./command.ts";

const HELP = [
  "deno task export FILE [--kv=LEDGER]",
  "Writes a ledger into a new file that `deno task import` of this or a later version reads.",
  "Stop its services first. kv/transfer/README.md describes the file.",
];

/** Runs the command; returns its exit code. */
export function runExport(args: readonly string[], io: Io): Promise<number> {
  return runFileCommand(args, io, HELP, async (file, kv) => {
    if (await isThere(file)) throw new ToolFailure(`${file} exists: name a new file`);
    const location = await withLedger(kv, async (store, location) => {
      using lines = createProgress(io.screen, "lines");
      await writeLines(file, exportLines(store), () => lines.step());
      return location;
    }, openLocked);
    const { size } = await Deno.stat(file);
    return [`${file} is an export of ${location}: ${size.toLocaleString("en")} bytes`];
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

if (import.meta.main) Deno.exit(await runExport(Deno.args, processIo()));
