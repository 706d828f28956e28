/** `deno task import`: makes a new ledger of an export, in a store of any kind. */
import { Memory } from "../runtime/memory.ts";
import { openStore } from "../kv/open.ts";
import { type Imported, importLines } from "../kv/transfer/import.ts";
import { runFileCommand, withLedger } from "./ledger_file.ts";
import { countText, createProgress, type Io, processIo, ToolFailure } from "./command.ts";

const HELP = [
  "deno task import FILE [--kv=LEDGER]",
  "Makes a ledger of an export in a new file or an empty shared KV, and derives its sums and lists.",
  "It sends no message. Then start the service with it.",
];

/** Maximum characters of a line: more than the largest batch of events has. */
const LINE_CHARS_MAX = 33_554_432;

/** Runs the command; returns its exit code. */
export function runImport(args: readonly string[], io: Io): Promise<number> {
  return runFileCommand(args, io, HELP, async (file, kv) => {
    using input = await Deno.open(file).catch(() => {
      throw new ToolFailure(`There is no export at ${file}`);
    });
    const text = input.readable.pipeThrough(new DecompressionStream("gzip"))
      .pipeThrough(new TextDecoderStream());
    const open = (location: string) => openStore(location, new Memory());
    return await withLedger(
      kv,
      async (store, location) => {
        using runs = createProgress(io.screen, "runs");
        const imported = await importLines(store, linesOf(text, file), () => runs.step());
        return summaryOf(imported, location, file);
      },
      open,
      { mayBeNew: true },
    );
  });
}

function summaryOf({ runs, events, pending }: Imported, location: string, file: string): string[] {
  const stored = `${countText(runs, "run")} and ${countText(events, "event")} of ${file}`;
  const waiting = `${countText(pending, "run")} had not been processed: the service does it`;
  return [
    `${location} has ${stored}, with all sums and lists`,
    ...pending === 0 ? [] : [waiting],
    "Check it with deno task verify, then start the service with it",
  ];
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
  if (rest !== "") yield rest;
}

function damaged(file: string): ToolFailure {
  return new ToolFailure(`${file} is damaged or no export: export again`);
}

if (import.meta.main) Deno.exit(await runImport(Deno.args, processIo()));
