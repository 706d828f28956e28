/** Waits between the tries of work that fails. */
import { assertEquals } from "@std/assert";
import { RETRIES, retryAt, type RetryName } from "../../../../domain/work/work.ts";

const NOW = 1_000_000;

/** Returns the waits after the first tries, in seconds. */
function waitsOf(retry: RetryName, count: number): (number | "dead")[] {
  return Array.from({ length: count }, (_, i) => {
    const at = retryAt(retry, i + 1, NOW);
    return at === "dead" ? at : (at - NOW) / 1_000;
  });
}

Deno.test("retries: each schedule doubles its waits up to its bounds", () => {
  assertEquals(waitsOf("run", 9), [1, 2, 4, 8, 16, 32, 64, "dead", "dead"]);
  assertEquals(waitsOf("soon", 6), [0, 0, 1, 2, 4, 8]);
  assertEquals(waitsOf("later", 8), [60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
});

Deno.test("retries: no number of tries exceeds the longest wait", () => {
  for (const retry of ["soon", "later"] as const) {
    assertEquals(retryAt(retry, 2_000, NOW), NOW + RETRIES[retry].maxMs);
  }
  // Work that an operator asked for again has no failed tries.
  assertEquals(retryAt("run", 0, NOW), NOW);
});
