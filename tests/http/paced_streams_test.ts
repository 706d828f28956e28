/** Streams that are made as they are taken: what bounds them, without a server around. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { TeamId } from "../../domain/credentials.ts";
import { PacedStreams } from "../../routes/paced_streams.ts";

const TEAM = "team" as TeamId;
const MINUTE_MS = 60_000;

/** Lines without an end, and whether they were told that nobody wants more. */
class Lines implements AsyncIterator<string> {
  made = 0;
  left = false;

  next(): Promise<IteratorResult<string>> {
    return Promise.resolve({ done: false, value: `${++this.made}\n` });
  }

  return(): Promise<IteratorResult<string>> {
    this.left = true;
    return Promise.resolve({ done: true, value: undefined });
  }
}

function newStreams(): PacedStreams {
  return new PacedStreams({ draining: () => false, failed: () => {} });
}

/** Moves the monotonic clock on until disposed. */
function skip(ms: number): Disposable {
  const real = performance.now;
  performance.now = () => real.call(performance) + ms;
  return {
    [Symbol.dispose]() {
      performance.now = real;
    },
  };
}

Deno.test("streams: nothing is made before it is asked for, one part for each time", async () => {
  const lines = new Lines();
  const stream = newStreams().begin(TEAM, "1", lines);
  const reader = stream?.getReader();
  assertEquals(lines.made, 0);
  for (let n = 1; n <= 3; n++) {
    await reader?.read();
    assertEquals(lines.made, n);
  }
  await reader?.cancel();
  assert(lines.left);
});

Deno.test("streams: one whose client takes nothing for a minute breaks off and gives its place back", async () => {
  const streams = newStreams();
  const [still, busy] = [new Lines(), new Lines()];
  const readers = [still, busy].map((lines) => streams.begin(TEAM, "1", lines)?.getReader());
  for (const reader of readers) await reader?.read();
  {
    using _ = skip(MINUTE_MS - 5_000);
    await readers[1]?.read();
  }
  {
    using _ = skip(MINUTE_MS + 1_000);
    await assertRejects(() => readers[0]?.closed ?? Promise.resolve(), Error, "too long");
  }
  assert(still.left && !busy.left);
  const more = Array.from({ length: 4 }, () => streams.begin(TEAM, "1", new Lines()));
  assertEquals(more.map((stream) => stream !== null), [true, true, true, false]);
  await readers[1]?.cancel();
  for (const stream of more) await stream?.cancel();
});

Deno.test("streams: 32 at once over all teams", async () => {
  const streams = newStreams();
  const begin = (n: number) => streams.begin(`team${n}` as TeamId, "1", new Lines());
  const open = Array.from({ length: 33 }, (_, n) => begin(n));
  assertEquals(open.map((stream) => stream !== null), [...Array(32).fill(true), false]);
  await open[0]?.cancel();
  const next = begin(40);
  assert(next !== null);
  for (const stream of [...open.slice(1), next]) await stream?.cancel();
});

Deno.test("streams: empty parts are passed by, and one without an end stops when its client goes", async () => {
  const streams = newStreams();
  let made = 0;
  const parts: AsyncIterator<string> = {
    async next() {
      // Lets the client in between.
      await new Promise((resolve) => setTimeout(resolve));
      return { done: false, value: ++made < 5 ? "" : made === 5 ? "five" : "" };
    },
  };
  const reader = streams.begin(TEAM, "1", parts)?.getReader();
  const { value } = await reader?.read() ?? {};
  assertEquals(new TextDecoder().decode(value), "five");
  const rest = reader?.read();
  await reader?.cancel();
  await rest;
  const end = made;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert(made <= end + 1, `${made} parts`);
});
