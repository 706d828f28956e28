/** `deno task backup`: copies a ledger while the service runs, and checks the copy. */
import { backUp, CopyFailed, type CopyWatch } from "../kv/backup.ts";
import { StoreRefused } from "../kv/refused.ts";
import { LEDGER_HELP, LEDGER_OPTIONS, LedgerRefused, locationOf } from "./ledger_file.ts";
import {
  createProgress,
  type Io,
  processIo,
  type Progress,
  runCommand,
  ToolFailure,
  UsageError,
} from "./command.ts";

const HELP = [
  "deno task backup FILE [--kv=LEDGER]",
  "Copies a snapshot of a ledger into a new file and checks the copy. Services keep running.",
];

/** Result of a copy. */
interface Copied {
  readonly bytes: number;
  /** Lines to print. */
  readonly lines: readonly string[];
}

/** Copies from or to `file`. */
type Copy = (file: string, location: string, watch: CopyWatch) => Promise<Copied>;

/** Minimum pages to draw progress: a ledger of less than 64 MB is copied too quickly. */
const PROGRESS_PAGES_MIN = 16_000;

const EXIT_HELP =
  "Exit codes: 0 copied, 1 not copied, 2 invalid command line, 3 ledger missing or in use.";

/** Runs a command that copies a ledger from or to the one file it names; returns its exit code. */
export function runCopy(
  args: readonly string[],
  io: Io,
  help: readonly string[],
  copy: Copy,
): Promise<number> {
  const config = { args: [...args], options: LEDGER_OPTIONS, allowPositionals: true as const };
  const lines = [...help, ...LEDGER_HELP, EXIT_HELP];
  return runCommand(io, lines, config, async ({ values, positionals }) => {
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new UsageError("Name one FILE: see --help");
    const startedMs = performance.now();
    using progress = new ShownProgress(io);
    using signals = new StopSignals();
    const { onPages, onCopied } = progress;
    const watch = { onPages, onCopied, signal: signals.signal };
    const { bytes, lines } = await copy(file, locationOf(values.kv), watch).catch(asToolFailure);
    const seconds = (performance.now() - startedMs) / 1_000;
    lines.forEach((line) => io.out(line));
    io.out(`${bytes.toLocaleString("en")} bytes in ${seconds.toFixed(1)} s`);
    return 0;
  });
}

/** Runs the command; returns its exit code. */
export function backup(args: readonly string[], io: Io): Promise<number> {
  return runCopy(args, io, HELP, async (file, location, watch) => {
    const bytes = await backUp(location, file, watch);
    return { bytes, lines: [`${file} is a sound copy of ${location}`] };
  });
}

function asToolFailure(error: unknown): never {
  if (error instanceof StoreRefused) throw new LedgerRefused(error.message);
  if (error instanceof CopyFailed) throw new ToolFailure(error.message);
  throw error;
}

/** Draws the progress of a long copy. */
class ShownProgress implements Disposable {
  readonly #io: Io;
  #progress: Progress | null = null;
  #steps = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  readonly onPages = (pages: number, pagesOfAll: number): void => {
    if (pagesOfAll < PROGRESS_PAGES_MIN) return;
    this.#progress ??= createProgress(this.#io.screen, "copied, pages", pagesOfAll);
    for (; this.#steps < pages; this.#steps++) this.#progress.step();
  };

  readonly onCopied = (): void => {
    if (this.#progress === null) return;
    this[Symbol.dispose]();
    this.#io.screen.write("checking the copy\n");
  };

  [Symbol.dispose](): void {
    this.#progress?.[Symbol.dispose]();
    this.#progress = null;
  }
}

/** Cancels the copy on SIGINT or SIGTERM, so that no partial file stays. */
class StopSignals implements Disposable {
  readonly #stopping = new AbortController();
  readonly #stop = () => this.#stopping.abort();

  constructor() {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, this.#stop);
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  [Symbol.dispose](): void {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      Deno.removeSignalListener(signal, this.#stop);
    }
  }
}

if (import.meta.main) Deno.exit(await backup(Deno.args, processIo()));
