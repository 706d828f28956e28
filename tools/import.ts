/** `deno task import`: stores the rows of an export in an empty store of any kind. */
import { Memory } from "../domain/core/memory.ts";
import { openStore } from "../kv/open.ts";
import { importLines } from "../kv/transfer.ts";
import { LEDGER_HELP, LEDGER_OPTIONS, withLedger } from "./ledger_file.ts";
import { createCounter, type Io, processIo, runCommand, ToolFailure } from "./command.ts";
import { asToolFailure, oneFile } from "./export.ts";

const HELP = [
  "deno task import FILE [--kv=LEDGER]",
  "Stores an export in a new file or an empty shared KV. Then start the service with it.",
  ...LEDGER_HELP,
  "Exit codes: 0 imported, 1 not imported, 2 invalid command line, 3 ledger in use.",
];

/** Maximum characters of a line: far more than a row of the store has as text. */
const LINE_CHARS_MAX = 1_000_000;

/** Runs the command; returns its exit code. */
export function runImport(args: readonly string[], io: Io): Promise<number> {
  const config = { args: [...args], options: LEDGER_OPTIONS, allowPositionals: true as const };
  return runCommand(io, HELP, config, async ({ values, positionals }) => {
    const file = oneFile(positionals);
    using input = await Deno.open(file).catch(() => {
      throw new ToolFailure(`There is no export at ${file}`);
    });
    const text = input.readable.pipeThrough(new DecompressionStream("gzip"))
      .pipeThrough(new TextDecoderStream());
    const location = await withLedger(
      values.kv,
      async (store, location) => {
        using rows = createCounter(io.screen, "rows");
        await asToolFailure(importLines(store, linesOf(text, file), () => rows.step()));
        return location;
      },
      (location) => openStore(location, new Memory()),
      { mayBeNew: true },
    );
    io.out(`${location} is imported from ${file}: check it with deno task verify`);
    return 0;
  });
}

/** Splits a text into its lines. */
async function* linesOf(text: ReadableStream<string>, file: string): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const part of text) {
      const lines = (rest + part).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > LINE_CHARS_MAX) throw damaged(file);
      yield* lines;
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw damaged(file);
  }
}

function damaged(file: string): ToolFailure {
  return new ToolFailure(`${file} is damaged or no export: export again`);
}

if (import.meta.main) Deno.exit(await runImport(Deno.args, processIo()));
