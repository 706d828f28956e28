/** `deno task backup`: copies a ledger while the service runs, and checks the copy. */
import { backUp, type CopyWatch } from "../kv/backup.ts";
import { locationOf, runFileCommand } from "./ledger_file.ts";
import { createProgress, type Io, processIo, type Progress } from "./command.ts";

const HELP = [
  "deno task backup FILE [--kv=LEDGER]",
  "Copies a snapshot of a ledger into a new file and checks the copy. Services keep running. The key",
  "of the secrets of channels, LEDGER.seal, is copied to FILE.seal.",
];

/** Copies from or to `file`; returns its size, and lines to print. */
type Copy = (
  file: string,
  location: string,
  watch: CopyWatch,
) => Promise<{ readonly bytes: number; readonly lines: readonly string[] }>;

/** Minimum pages to draw progress: a ledger of less than 64 MB is copied too quickly. */
const PROGRESS_PAGES_MIN = 16_000;

/** Signals that cancel the copy, so that no partial file stays. */
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Runs a command that copies a ledger from or to the one file it names; returns its exit code. */
export function runCopy(
  args: readonly string[],
  io: Io,
  help: readonly string[],
  copy: Copy,
): Promise<number> {
  return runFileCommand(args, io, help, async (file, kv) => {
    const startedMs = performance.now();
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    for (const signal of SIGNALS) Deno.addSignalListener(signal, stop);
    let [progress, shown] = [null as Progress | null, 0];
    const watch: CopyWatch = {
      signal: stopping.signal,
      onPages(pages, pagesOfAll) {
        if (pagesOfAll < PROGRESS_PAGES_MIN) return;
        progress ??= createProgress(io.screen, "copied, pages", pagesOfAll);
        progress.step(pages - shown);
        shown = pages;
      },
      onCopied() {
        progress?.[Symbol.dispose]();
        if (progress !== null) io.screen.write("checking the copy\n");
      },
    };
    try {
      const { bytes, lines } = await copy(file, locationOf(kv), watch);
      const seconds = (performance.now() - startedMs) / 1_000;
      return [...lines, `${bytes.toLocaleString("en")} bytes in ${seconds.toFixed(1)} s`];
    } finally {
      progress?.[Symbol.dispose]();
      for (const signal of SIGNALS) Deno.removeSignalListener(signal, stop);
    }
  });
}

/** Runs the command; returns its exit code. */
export function backup(args: readonly string[], io: Io): Promise<number> {
  return runCopy(args, io, HELP, async (file, location, watch) => {
    const { bytes, key } = await backUp(location, file, watch);
    const keyLines = key === null ? [] : [`${key} is the key of its channels' secrets: keep both`];
    return { bytes, lines: [`${file} is a sound copy of ${location}`, ...keyLines] };
  });
}

if (import.meta.main) Deno.exit(await backup(Deno.args, processIo()));
