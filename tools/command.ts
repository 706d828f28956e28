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

  /** @param exitCode exit code of the process */
  constructor(message: string, readonly exitCode = 1) {
    super(message);
  }
}

/** The command line is invalid. */
export class UsageError extends ToolFailure {
  override readonly name = "UsageError";

  constructor(message: string) {
    super(message, 2);
  }
}

/** Counts finished steps. Dispose it before anything else is written. */
export interface Progress extends Disposable {
  /** Counts finished steps; one by default. */
  step(count?: number): void;
}

/** Steps between two states of a count without a total. */
const STEPS_PER_LINE = { terminal: 100, elsewhere: 10_000 } as const;

/**
 * Shows progress: one line, redrawn at each percent, on a terminal, and a line for every tenth
 * elsewhere. Without a total it shows a count now and then.
 */
export function createProgress(screen: Screen, what: string, total?: number): Progress {
  const { isTerminal, write } = screen;
  const [parts, steps] = total === undefined
    ? [1, STEPS_PER_LINE[isTerminal ? "terminal" : "elsewhere"]]
    : [isTerminal ? 100 : 10, total];
  let [done, drawn] = [0, 0];
  return {
    step(count = 1) {
      done += count;
      const mark = Math.floor(parts * done / steps);
      if (mark === drawn) return;
      drawn = mark;
      const line = total === undefined ? `${done} ${what}` : progressLine(what, done, total);
      write(isTerminal ? `\r${line}` : `${line}\n`);
    },
    [Symbol.dispose]() {
      if (isTerminal && drawn > 0) write("\n");
      drawn = 0;
    },
  };
}

const BAR_CHARS = 24;

/** Formats a state of progress; all states of one total have the same length. */
export function progressLine(what: string, done: number, total: number): string {
  const bar = "█".repeat(Math.floor(BAR_CHARS * done / total)).padEnd(BAR_CHARS, "░");
  const percent = `${Math.floor(100 * done / total)}`.padStart(3);
  return `${what} ${bar} ${percent} % (${`${done}`.padStart(`${total}`.length)}/${total})`;
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
