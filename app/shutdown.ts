/**
 * Graceful shutdown, from the stop signal to the end of the process.
 *
 * @module
 */
import { FLUSH_MS_MAX } from "./request_log.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Milliseconds within which signals count as one: Ctrl-C arrives from the terminal and from the
 * parent process.
 */
const SAME_SIGNAL_MS = 500;

/**
 * Runs `drain` at the first SIGINT or SIGTERM. The process then ends once it is idle, or after the
 * limit; a later signal ends it immediately.
 *
 * @param drainMs maximum milliseconds until the process ends
 * @param exit flushes the last messages and ends the process with a code
 * @returns whether the process is stopping, and a function that stops it with a code
 */
export function stopOnSignals(
  drainMs: number,
  drain: () => Promise<void>,
  exit: (code: number) => unknown,
) {
  let sinceMs: number | null = null;

  function receive(): void {
    if (sinceMs === null) void stop(0);
    else if (performance.now() - sinceMs > SAME_SIGNAL_MS) exit(1);
  }

  async function stop(code: number): Promise<void> {
    if (sinceMs !== null) return;
    sinceMs = performance.now();
    Deno.exitCode = code;
    // Unreferenced: without stuck clients the process ends as soon as it is idle, which `--watch`
    // needs.
    Deno.unrefTimer(setTimeout(exit, drainMs - FLUSH_MS_MAX, code));
    await drain();
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, receive);
  }

  for (const signal of SIGNALS) Deno.addSignalListener(signal, receive);
  return { begun: () => sinceMs !== null, stop };
}
