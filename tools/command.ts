// deno-lint-ignore-file no-console -- the one place where the tools write: results on stdout, the rest on stderr
/** A command-line tool: its options, its help, and how it talks to its user. */
import { parseArgs } from "node:util";

/** Output of a tool. */
export interface Io {
  /** Takes one line of the result. */
  out(line: string): void;
  /** Takes one line about a failure. */
  fail(line: string): void;
  /** Screen that progress is drawn on. */
  readonly screen: Screen;
}

/** A place to draw progress on. */
export interface Screen {
  /** True where a line can be drawn over; otherwise each state is a line of its own. */
  readonly isTerminal: boolean;
  /** Takes text as it is. */
  write(text: string): void;
}

/** Something the user can act on: the message is one line that says what to do. */
export class ToolFailure extends Error {
  override readonly name: string = "ToolFailure";
  /** Exit code of the process. */
  readonly exitCode: number = 1;
}

/** The command line does not fit. */
export class UsageError extends ToolFailure {
  override readonly name = "UsageError";
  override readonly exitCode = 2;
}

/** Counts finished steps. Dispose it before anything else is written. */
export interface Progress extends Disposable {
  /** One more step is done. */
  step(): void;
}

const BAR_CHARS = 24;

/** Shows progress: one line redrawn on a terminal, a line for every tenth elsewhere. */
export function createProgress(screen: Screen, what: string, total: number): Progress {
  let done = 0;
  let drawn = -1;
  return {
    step() {
      done++;
      // A redraw a percent is smooth enough; one a step would cost more than some steps.
      const percent = Math.floor(100 * done / total);
      const mark = screen.isTerminal ? percent : Math.floor(percent / 10) * 10;
      if (mark === drawn || mark === 0) return;
      drawn = mark;
      const line = progressLine(what, done, total);
      screen.write(screen.isTerminal ? `\r${line}` : `${line}\n`);
    },
    [Symbol.dispose]() {
      if (screen.isTerminal && drawn >= 0) screen.write("\n");
    },
  };
}

/** A state of progress as text; every state of one total is equally long. */
export function progressLine(what: string, done: number, total: number): string {
  const filled = Math.floor(BAR_CHARS * done / total);
  const bar = "█".repeat(filled) + "░".repeat(BAR_CHARS - filled);
  const percent = `${Math.floor(100 * done / total)}`.padStart(3);
  return `${what} ${bar} ${percent} % (${`${done}`.padStart(`${total}`.length)}/${total})`;
}

/** Counts things of an unknown total. Dispose it before anything else is written. */
export interface Counter extends Disposable {
  /** So many more are done. */
  add(count: number): void;
}

/** Things between two counts shown, where they cannot be drawn over each other. */
const THINGS_PER_LINE = { terminal: 100, elsewhere: 10_000 } as const;

/** Shows a count: one line redrawn on a terminal, a line now and then elsewhere. */
export function createCounter(screen: Screen, things: string): Counter {
  const every = screen.isTerminal ? THINGS_PER_LINE.terminal : THINGS_PER_LINE.elsewhere;
  let [done, drawn] = [0, 0];
  return {
    add(count) {
      done += count;
      const mark = Math.floor(done / every);
      if (mark === drawn) return;
      drawn = mark;
      screen.write(screen.isTerminal ? `\r${done} ${things}` : `${done} ${things}\n`);
    },
    [Symbol.dispose]() {
      if (screen.isTerminal && drawn > 0) screen.write("\n");
    },
  };
}

/** A number of things in words. */
export function countText(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** Runs a tool and answers its exit code; a failure becomes one line. */
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

/** Reads a command line; what does not fit becomes a line that points to `--help`. */
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

/** Reads a tool's command line, prints its help where that is wanted, and else does its work. */
export function runCommand<T extends Config>(
  io: Io,
  help: readonly string[],
  config: T,
  work: (parsed: ReturnType<typeof parseArgs<T>>) => Promise<number>,
): Promise<number> {
  return runTool(io, async () => {
    const parsed = parseOptions(config);
    const { help: wantsHelp } = parsed.values as { readonly help?: boolean };
    if (!wantsHelp) return await work(parsed);
    help.forEach((line) => io.out(line));
    return 0;
  });
}

/** The streams of this process. */
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
