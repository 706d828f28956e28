import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { longestRepeat, type Repeat } from "../../../../domain/checks/calls.ts";

/** Tries each cycle at each place, and counts how often it follows itself. */
function naive(calls: readonly number[]): Repeat {
  let best: Repeat = { times: 0, start: 0, length: 0 };
  for (let length = 1; length <= 4; length++) {
    for (let start = 0; start + length <= calls.length; start++) {
      const cycle = calls.slice(start, start + length).join();
      let times = 1;
      while (calls.slice(start + times * length, start + (times + 1) * length).join() === cycle) {
        times++;
      }
      if (times > best.times) best = { times, start, length };
    }
  }
  return best;
}

Deno.test("longest repeat: it finds what a search of all cycles finds", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 40 }), (calls) => {
      assertEquals(longestRepeat(calls), naive(calls));
    }),
    { numRuns: 500 },
  );
  // Five calls are no cycle.
  assertEquals(longestRepeat([1, 2, 3, 4, 5, 1, 2, 3, 4, 5]).times, 1);
});
