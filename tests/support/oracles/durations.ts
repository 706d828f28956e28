/** Durations that a busy machine hardly changes: the processor's time of this thread. */

/** Measurements of something that takes too long: other work can only add to each. */
const ATTEMPTS = 10;

/**
 * Returns the milliseconds that the processor has worked for this thread. Other programs and the
 * threads of other tests do not count. Without Linux it is the time of the clock.
 */
export function cpuMs(): number {
  try {
    const [nanoseconds] = Deno.readTextFileSync("/proc/thread-self/schedstat").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return performance.now();
    throw error;
  }
}

/** Returns the milliseconds of the processor that work takes. */
export function cpuMsOf(work: () => void): number {
  const startMs = cpuMs();
  work();
  return cpuMs() - startMs;
}

/** Returns the least of some measurements. The first one below `enough` is the last. */
export function leastOf(enough: number, measure: () => number): number {
  let least = measure();
  for (let n = 1; n < ATTEMPTS && least >= enough; n++) least = Math.min(least, measure());
  return least;
}

/**
 * Runs work and measures the longest time that the event loop was held, in milliseconds of the
 * processor.
 */
export async function whileWatched<T>(
  work: () => Promise<T>,
): Promise<{ longestMs: number; value: T }> {
  let [longestMs, lastMs] = [0, cpuMs()];
  const timer = setInterval(() => {
    const nowMs = cpuMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 0);
  try {
    return { value: await work(), longestMs };
  } finally {
    clearInterval(timer);
  }
}
