/** Runs work and measures the longest time that the event loop was blocked, in milliseconds. */
export async function whileWatched<T>(
  work: () => Promise<T>,
): Promise<{ longestMs: number; value: T }> {
  let [longestMs, lastMs] = [0, performance.now()];
  const timer = setInterval(() => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 0);
  try {
    return { value: await work(), longestMs };
  } finally {
    clearInterval(timer);
  }
}
