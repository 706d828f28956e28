/** Waits of tests for something that has no event, with an end. */
import { assert } from "@std/assert";

/** Milliseconds until a test gives up; far more than anything takes, also on a busy machine. */
const MS_MAX = 60_000;

/** Waits until `look` returns something; returns it. A test that it never does fails with `seen`. */
export async function until<T>(
  look: () => T | false | null | Promise<T | false | null>,
  seen: () => unknown = () => look.toString(),
  pollMs = 5,
): Promise<T> {
  const endMs = performance.now() + MS_MAX;
  for (;;) {
    const found = await look();
    if (found !== false && found !== null) return found;
    assert(performance.now() < endMs, `it never became so: ${seen()}`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
