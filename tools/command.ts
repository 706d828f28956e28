// deno-lint-ignore-file no-console -- the one place where the tools write: results on stdout, the rest on stderr
/** Runs command-line tools: options, help and output. */
import { parseArgs } from "node:util";
import { VERSION } from "../domain/core/version.ts";

/** Output of a tool. */
export interface Io {
  /** Writes one line of the result. */
  out(line: string): void;
  /** Writes one line about a failure. */
  fail(line: string): void;
  readonly screen: Screen;
}

/** Output stream for progress. */
export interface Screen {
  /** True if a line can be redrawn; otherwise each state is a new line. */
  readonly isTerminal: boolean;
  /** Writes text unchanged. */
  write(text: string): void;
}

/** A failure that the user can fix; the message is one line that says how. */
export class ToolFailure extends Error {
  override readonly name: string = "ToolFailure";
  /** Exit code of the process. */
  readonly exitCode: number = 1;
}

/** The command line is invalid. */
export class UsageError extends ToolFailure {
  override readonly name = "UsageError";
  override readonly exitCode = 2;
}

/** Counts finished steps. Dispose it before anything else is written. */
export interface Progress extends Disposable {
  /** Counts finished steps; one by default. */
  step(count?: number): void;
}

const BAR_CHARS = 24;

/** Shows progress: one line redrawn on a terminal, a line for every tenth elsewhere. */
export function createProgress(screen: Screen, what: string, total: number): Progress {
  // One redraw for each percent is enough; one for each step would cost more than some steps.
  const parts = screen.isTerminal ? 100 : 10;
  return drawSteps(
    screen,
    (done) => Math.floor(parts * done / total),
    (done) => progressLine(what, done, total),
  );
}

/** Formats a state of progress; all states of one total have the same length. */
export function progressLine(what: string, done: number, total: number): string {
  const filled = Math.floor(BAR_CHARS * done / total);
  const bar = "█".repeat(filled) + "░".repeat(BAR_CHARS - filled);
  const percent = `${Math.floor(100 * done / total)}`.padStart(3);
  return `${what} ${bar} ${percent} % (${`${done}`.padStart(`${total}`.length)}/${total})`;
}

/** Items between two displayed counts. */
const ITEMS_PER_LINE = { terminal: 100, elsewhere: 10_000 } as const;

/** Shows a count without a total: one line redrawn on a terminal, a line now and then elsewhere. */
export function createCounter(screen: Screen, things: string): Progress {
  const every = screen.isTerminal ? ITEMS_PER_LINE.terminal : ITEMS_PER_LINE.elsewhere;
  return drawSteps(screen, (done) => Math.floor(done / every), (done) => `${done} ${things}`);
}

/** Draws a line whenever the mark of the finished steps changes. */
function drawSteps(
  { isTerminal, write }: Screen,
  markOf: (done: number) => number,
  lineOf: (done: number) => string,
): Progress {
  let [done, drawn] = [0, 0];
  return {
    step(count = 1) {
      done += count;
      const mark = markOf(done);
      if (mark === drawn) return;
      drawn = mark;
      write(isTerminal ? `\r${lineOf(done)}` : `${lineOf(done)}\n`);
    },
    [Symbol.dispose]() {
      if (isTerminal && drawn > 0) write("\n");
      drawn = 0;
    },
  };
}

/** Formats a count with its noun. */
export function countText(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** Runs a tool and returns its exit code; prints a failure as one line. */
export async function runTool(io: Io, tool: () => Promise<number>): Promise<number> {
  try {
    return await tool();
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error;
    io.fail(error.message);
    return error.exitCode;
  }
}

type Config = NonNullable<Parameters<typeof parseArgs>[0]>;

/** Parses a command line; an error refers to `--help`. */
export function parseOptions<T extends Config>(config: T) {
  try {
    return parseArgs(config);
  } catch (error) {
    if (error instanceof TypeError) {
      throw new UsageError(`${error.message.split("\n")[0]}: --help lists the options`);
    }
    throw error;
  }
}

/** Parses a tool's command line, then prints its help or the version, or runs it. */
export function runCommand<T extends Config>(
  io: Io,
  help: readonly string[],
  config: T,
  work: (parsed: ReturnType<typeof parseArgs<T>>) => Promise<number>,
): Promise<number> {
  return runTool(io, async () => {
    if (config.args?.includes("--version")) {
      io.out(`Runledger ${VERSION}`);
      return 0;
    }
    const parsed = parseOptions(config);
    const { help: wantsHelp } = parsed.values as { readonly help?: boolean };
    if (!wantsHelp) return await work(parsed);
    help.forEach((line) => io.out(line));
    return 0;
  });
}

/** Output streams of this process. */
export function processIo(): Io {
  const encoder = new TextEncoder();
  return {
    out: (line) => console.log(line),
    fail: (line) => console.error(line),
    screen: {
      isTerminal: Deno.stderr.isTerminal(),
      write: (text) => void Deno.stderr.writeSync(encoder.encode(text)),
    },
  };
}
