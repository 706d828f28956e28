/**
 * From the signal to stop to the end of the process.
 *
 * @module
 */
import { DRAIN_MS_MAX } from "../domain/core/limits.ts";
import { FLUSH_MS_MAX } from "./request_log.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Ctrl-C reaches this process from the terminal and again from whatever started it. */
const SAME_SIGNAL_MS = 500;

/** True if the process has been told to stop. */
interface Shutdown {
  /** True from the first signal on. */
  begun(): boolean;
}

/**
 * Runs `drain` at the first SIGINT or SIGTERM. The process then ends by itself, or after the limit; a
 * later signal ends it at once.
 *
 * @param exit ends the process with a code, after its last words
 */
export function stopOnSignals(
  drain: () => Promise<void>,
  exit: (code: number) => unknown,
): Shutdown {
  let sinceMs: number | null = null;

  async function stop(): Promise<void> {
    if (sinceMs !== null) {
      if (performance.now() - sinceMs > SAME_SIGNAL_MS) exit(1);
      return;
    }
    sinceMs = performance.now();
    // Does not hold the process: without stuck clients it ends by itself, which `--watch` needs.
    Deno.unrefTimer(setTimeout(exit, DRAIN_MS_MAX - FLUSH_MS_MAX, 0));
    await drain();
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, stop);
  }

  for (const signal of SIGNALS) Deno.addSignalListener(signal, stop);
  return { begun: () => sinceMs !== null };
}
