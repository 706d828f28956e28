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

const times = (...calls: number[]) => longestRepeat(calls).times;

Deno.test("longest repeat: repetitions of a cycle of up to four calls", () => {
  assertEquals(longestRepeat([]), { times: 0, start: 0, length: 0 });
  assertEquals(longestRepeat([7]), { times: 1, start: 0, length: 1 });
  assertEquals(times(1, 2, 3), 1);
  assertEquals(longestRepeat([9, 1, 1, 1, 2]), { times: 3, start: 1, length: 1 });
  // Three equal pairs are 3, with a part of a fourth too.
  assertEquals(longestRepeat([9, 1, 2, 1, 2, 1, 2, 1]), { times: 3, start: 1, length: 2 });
  assertEquals(longestRepeat([1, 2, 3, 4, 1, 2, 3, 4]), { times: 2, start: 0, length: 4 });
  assertEquals(times(1, 2, 3, 4, 5, 1, 2, 3, 4, 5), 1);
});

Deno.test("longest repeat: the most repetitions, then the shorter cycle, then the first", () => {
  assertEquals(longestRepeat([1, 2, 1, 2, 1, 2, 3, 3]), { times: 3, start: 0, length: 2 });
  assertEquals(longestRepeat([1, 2, 1, 2, 3, 3]), { times: 2, start: 4, length: 1 });
  assertEquals(longestRepeat([5, 5, 6, 6]), { times: 2, start: 0, length: 1 });
});

Deno.test("longest repeat: it finds what a search of all cycles finds", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 40 }), (calls) => {
      assertEquals(longestRepeat(calls), naive(calls));
    }),
    { numRuns: 500 },
  );
});
