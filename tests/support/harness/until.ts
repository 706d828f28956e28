/** Waits of tests for something that has no event, with an end. */
import { assert } from "@std/assert";

/** Milliseconds until a test gives up; far more than anything takes, also on a busy machine. */
const MS_MAX = 60_000;

/** Waits until `read` returns something; returns it. A test that it never does fails with `seen`. */
export async function until<T>(
  read: () => T | false | null | Promise<T | false | null>,
  seen: () => unknown = () => read.toString(),
  pollMs = 5,
): Promise<T> {
  const endMs = performance.now() + MS_MAX;
  for (;;) {
    const value = await read();
    if (value !== false && value !== null) return value;
    assert(performance.now() < endMs, `it never became so: ${seen()}`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
