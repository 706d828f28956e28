/** Streams generated on demand: their limits, without a server. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { BrokenOff, PacedStreams } from "../../routes/http/paced_streams.ts";

const STANDSTILL_MS = 30_000;

const ENCODER = new TextEncoder();

/** Endless lines, recording whether they were cancelled. */
class Lines implements AsyncIterator<Uint8Array> {
  made = 0;
  left = false;

  next(): Promise<IteratorResult<Uint8Array>> {
    return Promise.resolve({ done: false, value: ENCODER.encode(`${++this.made}\n`) });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.left = true;
    return Promise.resolve({ done: true, value: undefined });
  }
}

/** Advances the monotonic clock until disposed. */
function skip(ms: number): Disposable {
  const { now } = performance;
  return stub(performance, "now", () => now.call(performance) + ms);
}

Deno.test("streams: each part is generated on demand, one per pull", async () => {
  const lines = new Lines();
  let ended = 0;
  const reader = new PacedStreams().begin(lines, () => ended++).body.getReader();
  assertEquals(lines.made, 0);
  for (let n = 1; n <= 3; n++) {
    await reader.read();
    assertEquals(lines.made, n);
  }
  assertEquals(ended, 0);
  await reader.cancel();
  assert(lines.left);
  assertEquals(ended, 1);
});

Deno.test("streams: a client that reads nothing for 30 seconds is disconnected, the others continue", async () => {
  const streams = new PacedStreams();
  const [still, busy] = [new Lines(), new Lines()];
  const ended: Lines[] = [];
  const [first, second] = [still, busy].map((lines) =>
    streams.begin(lines, () => ended.push(lines)).body.getReader()
  );
  await first?.read();
  await second?.read();
  {
    using _ = skip(STANDSTILL_MS - 5_000);
    await second?.read();
  }
  {
    using _ = skip(STANDSTILL_MS + 1_000);
    await assertRejects(() => first?.closed ?? Promise.resolve(), BrokenOff, "too long");
  }
  assert(still.left && !busy.left);
  assertEquals(ended, [still]);
  await second?.cancel();
  assertEquals(ended, [still, busy]);
});

Deno.test("streams: empty parts are skipped, and an endless stream stops when its client disconnects", async () => {
  const streams = new PacedStreams();
  let createdCount = 0;
  const parts: AsyncIterator<Uint8Array> = {
    async next() {
      // Lets the client run.
      await new Promise((resolve) => setTimeout(resolve));
      return { done: false, value: ENCODER.encode(++createdCount === 5 ? "five" : "") };
    },
  };
  const reader = streams.begin(parts, () => {}).body.getReader();
  const { value } = await reader.read();
  assertEquals(new TextDecoder().decode(value), "five");
  const remainder = reader.read();
  await reader.cancel();
  await remainder;
  const end = createdCount;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert(createdCount <= end + 1, `${createdCount} parts`);
});
