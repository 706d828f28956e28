/** One live stream and its team's reader, tested without a socket. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type {
  ChangePage,
  ChangeStore,
  LiveBatch,
  LiveFilters,
  RunChange,
} from "../../domain/feed/changes.ts";
import {
  LIVE_BUFFER_BYTES_MAX,
  LIVE_CHANGES_LAG_MAX,
  LIVE_KEEP_ALIVE_MS,
} from "../../domain/core/limits.ts";
import { listRowOf } from "../../domain/runs/list.ts";
import { LiveJob } from "../../jobs/live_feed.ts";
import { changeCursor } from "../../routes/api/feed/changes.ts";
import { BytesInFlight } from "../../routes/http/bytes_in_flight.ts";
import { LiveStream, type ReadPage } from "../../routes/api/feed/live_stream.ts";
import { ChangeNotifier } from "../../kv/summaries/team_commit.ts";
import { readHeads } from "../../kv/runs/heads.ts";
import { open, processAll, run, runsOf, TEAM } from "../support/builders/stored_runs.ts";
import { TempStore } from "../support/harness/temp_store.ts";
import { stub } from "@std/testing/mock";
import { BrokenOff, PacedStreams } from "../../routes/http/paced_streams.ts";

/** Changes `from` to `to`, each the opening of the same run. */
async function changes(from: number, to: number): Promise<RunChange[]> {
  await using temp = await TempStore.open();
  await open(runsOf(temp.store), 1);
  await processAll(temp.store);
  const [head] = await readHeads({ store: temp.store, team: TEAM.id }, [run(1)]);
  assert(head !== undefined);
  const row = listRowOf(head.id, head.head, head.summary);
  return Array.from({ length: to - from + 1 }, (_, i): RunChange => {
    const number = from + i;
    return {
      kind: "changed",
      number,
      numbers: { latest: number, opened: number, finished: 0, costFinal: 0 },
      row,
    };
  });
}

function batchOf(all: readonly RunChange[]): LiveBatch {
  const [first, last] = [all[0]?.number ?? 1, all.at(-1)?.number ?? 0];
  return { after: first - 1, changes: all, upTo: last };
}

const TEXT_BYTES_MAX = 1_000_000;

/** A stream of all changes, and the text queued for its client. */
function aStream(
  waiting = new BytesInFlight(4 * TEXT_BYTES_MAX),
  keepAliveMs: number = LIVE_KEEP_ALIVE_MS,
  filters: LiveFilters = {},
) {
  const mayGoOn = () => Promise.resolve(true);
  const stream = new LiveStream({ team: TEAM.id, filters, waiting, keepAliveMs, mayGoOn });
  return { stream, waiting };
}

/** Reads a feed that has these changes. */
function pagesOf(all: readonly RunChange[]): ReadPage {
  return (after) => {
    const changes = all.filter(({ number }) => number > after).slice(0, 2);
    const next = changes.at(-1)?.number ?? after;
    return Promise.resolve({ changes, next, hasMore: next < (all.at(-1)?.number ?? 0) });
  };
}

Deno.test("stream: a client that stops reading is disconnected, and nothing is buffered for it", async () => {
  const all = await changes(1, 2_000);
  const { stream, waiting } = aStream();
  let isLeft = false;
  stream.holds({ [Symbol.dispose]: () => void (isLeft = true) });
  stream.begin(0);
  await stream.catchUp(0, pagesOf([]));
  const started = waiting.bytes;
  let [taken, largest] = [0, 0];
  while (!isLeft) {
    const before = waiting.bytes;
    const after = 100 * taken++;
    stream.take(batchOf(all.slice(after, after + 100)));
    largest = Math.max(largest, waiting.bytes - before);
    assert(waiting.bytes <= LIVE_BUFFER_BYTES_MAX + largest, `${waiting.bytes} bytes are kept`);
    assert(taken < 20, "nothing stops it");
  }
  assert(started > 0 && largest > 0);
  assertEquals([waiting.bytes, await new Response(stream.body).text()], [0, ""]);
});

Deno.test("stream: a text shared by streams counts once, and one team has a quarter of the total", async () => {
  const all = await changes(1, 200);
  const { stream: first, waiting } = aStream();
  const streams = [first, ...Array.from({ length: 49 }, () => aStream(waiting).stream)];
  for (const stream of streams) {
    stream.begin(0);
    await stream.catchUp(0, pagesOf([]));
  }
  const started = waiting.bytes;
  const batch = batchOf(all.slice(0, 50));
  for (const stream of streams) stream.take(batch);
  const once = waiting.bytes - started;
  assert(once < 100_000, `${once} bytes for one text`);
  // Streams with separate texts.
  for (const stream of streams) stream.take(batchOf(all.slice(50)));
  assert(waiting.bytes > started + 2 * once && waiting.bytes <= TEXT_BYTES_MAX);
  for (const stream of streams) stream.end();
  await Promise.all(streams.map((stream) => new Response(stream.body).text()));
  assertEquals(waiting.bytes, 0);
});

Deno.test("stream: changes before its start are read from the feed, and known changes are not repeated", async () => {
  const all = await changes(1, 8);
  const { stream } = aStream();
  stream.take(batchOf(all.slice(2, 4)));
  stream.take(batchOf(all.slice(4, 6)));
  stream.begin(3);
  const text = new Response(stream.body).text();
  await stream.catchUp(3, pagesOf(all.slice(0, 6)));
  stream.take(batchOf(all.slice(4)));
  stream.end();
  const ids = [...(await text).matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
  assertEquals(ids, [3, 4, 5, 6, 7, 8].map(changeCursor));
  assertEquals((await text).match(/^event: run.opened$/gm)?.length, 5);
  assert(!(await text).includes("skipped"));
});

Deno.test("stream: a stream that starts in the past buffers one page until its client reads it", async () => {
  const all = await changes(1, 20);
  const { stream, waiting } = aStream();
  stream.begin(0);
  let reads = 0;
  const pages = pagesOf(all);
  const caughtUp = stream.catchUp(20, (after) => {
    reads++;
    return pages(after);
  });
  const reader = stream.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let most = 0;
  for (let chunk = 0; chunk < 11; chunk++) {
    assert(reads <= chunk + 1, `${reads} pages were read for ${chunk} that were taken`);
    most = Math.max(most, waiting.bytes);
    text += decoder.decode((await reader.read()).value);
  }
  await caughtUp;
  assertEquals([reads, text.match(/^event: run.opened$/gm)?.length], [10, 20]);
  assert(most < text.length / 5, `${most} of ${text.length} bytes at once`);
  stream.end();
  assert((await reader.read()).done);
});

Deno.test("stream: dropped changes are reported with the feed positions between which they are", async () => {
  const { stream } = aStream();
  stream.begin(3);
  await stream.catchUp(3, pagesOf([]));
  stream.take({ after: 2_000, changes: [], upTo: 2_000 });
  stream.take(batchOf(await changes(2_001, 2_001)));
  stream.end();
  const text = await new Response(stream.body).text();
  const [, data = ""] = /^event: changes.skipped\n.*\ndata: (.*)$/m.exec(text) ?? [];
  assertEquals(JSON.parse(data), { after: changeCursor(3), up_to: changeCursor(2_000) });
  assertEquals(text.match(/changes.skipped/g)?.length, 1);
  assert(text.includes(`event: run.opened\nid: ${changeCursor(2_001)}\n`));
});

/** Requires that a quiet stream sends a keep-alive with its position once in an interval. */
async function keepsAlive(keepAliveMs: number): Promise<void> {
  using time = new FakeTime();
  const { stream } = aStream(undefined, keepAliveMs);
  stream.begin(3);
  await stream.catchUp(3, pagesOf([]));
  const seconds = async (count: number) => {
    for (let n = 0; n < count; n++) await time.tickAsync(1_000);
  };
  await seconds(keepAliveMs / 1_000 - 1);
  stream.take(batchOf(await changes(4, 4)));
  await seconds(keepAliveMs / 1_000 - 1);
  stream.take(batchOf(await changes(5, 5)));
  await seconds(2 * keepAliveMs / 1_000);
  stream.end();
  const text = await new Response(stream.body).text();
  const [, ...kept] = text.split(": keep-alive\n");
  assertEquals(kept, Array(2).fill(`id: ${changeCursor(5)}\n\n`));
}

Deno.test("stream: a quiet stream sends a keep-alive every 15 seconds, or sooner where silence ends it", async () => {
  for (const ms of [LIVE_KEEP_ALIVE_MS, 4_000]) await keepsAlive(ms);
});

/** A feed whose changes up to `last` are committed, and its reader. */
class Feed implements AsyncDisposable {
  last = 0;
  reads = 0;
  isDown = false;
  /** Numbers of changes whose run changes again while they are read: no page has them. */
  readonly moved = new Set<number>();
  readonly log: string[] = [];
  readonly notifier = new ChangeNotifier();
  readonly job: LiveJob;

  constructor(readonly all: readonly RunChange[]) {
    const changes: ChangeStore = {
      last: () => Promise.resolve(this.last),
      page: (_, after, limit) => this.#page(after, limit),
      version: () => Promise.resolve(""),
      listen: (...listener) => this.notifier.listen(...listener),
    };
    const log = (line: string) => void this.log.push(line);
    this.job = new LiveJob({ changes, calls: { raised: 0 }, now: () => Date.now(), log });
  }

  #page(after: number, limit: number): Promise<ChangePage> {
    this.reads++;
    if (this.isDown) return Promise.reject(new StorageUnavailable("The test lets it fail"));
    const rows = this.all.slice(after, Math.min(this.last, after + limit));
    const hasMore = rows.length === limit;
    const changes = rows.filter(({ number }) => !this.moved.has(number));
    return Promise.resolve({ changes, next: hasMore ? after + limit : this.last, hasMore });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.job.stop();
  }
}

Deno.test("reader: it delivers every change in order, and drops the excess", async () => {
  await using feed = new Feed(await changes(1, 3_000));
  const { all } = feed;
  const batches: LiveBatch[] = [];
  const done = Promise.withResolvers<void>();
  using _listening = await feed.job.listen(TEAM.id, (batch) => {
    batches.push(batch);
    if (batch.upTo === 3_000) done.resolve();
  });
  feed.last = 3_000;
  feed.notifier.notify(TEAM.id, []);
  await done.promise;
  assertEquals(batches.map(({ after, upTo }) => [after, upTo]), [[0, 50], [3_000, 3_000]]);
  assertEquals(
    batches[0]?.changes.map((change) => change.number),
    all.slice(0, 50).map((c) => c.number),
  );
  assert(3_000 - 50 > LIVE_CHANGES_LAG_MAX);
});

Deno.test("reader: a run that changes while the feed is read brings both events, once", async () => {
  const [opened, finished, final] = await changes(1, 3) as [RunChange, RunChange, RunChange];
  assert(finished.kind === "changed" && final.kind === "changed");
  const numbers = { latest: 2, opened: 1, finished: 2, costFinal: 0 };
  await using feed = new Feed([
    opened,
    { ...finished, numbers },
    { ...final, numbers: { ...numbers, latest: 3, costFinal: 3 } },
  ]);
  feed.moved.add(1);
  const filters = [{}, {}, { agent: "nobody" }];
  const streams = filters.map((each) => aStream(undefined, undefined, each).stream);
  const delivered = [1, 2, 3].map(() => Promise.withResolvers<void>());
  for (const stream of streams) {
    stream.begin(0);
    await stream.catchUp(0, pagesOf([]));
    stream.holds(await feed.job.listen(TEAM.id, (batch) => stream.take(batch)));
  }
  // One that begins later knows what was before.
  const late = aStream().stream;
  using _last = await feed.job.listen(TEAM.id, ({ upTo }) => delivered[upTo - 1]?.resolve());
  for (const [i, { promise }] of delivered.entries()) {
    feed.last = i + 1;
    feed.notifier.notify(TEAM.id, []);
    await promise;
    if (i > 0) continue;
    late.begin(1);
    await late.catchUp(1, pagesOf([]));
    late.holds(await feed.job.listen(TEAM.id, (batch) => late.take(batch)));
  }
  const texts = [...streams, late].map((stream) => {
    stream.end();
    return new Response(stream.body).text();
  });
  const events = (await Promise.all(texts)).map((text) =>
    [...text.matchAll(/^event: (.*)$/gm)].map(([, event]) => event)
  );
  const both = ["run.opened", "run.finished", "run.cost_final"];
  assertEquals(events, [both, both, [], both.slice(1)]);
});

/** Lets the time pass from one timer to the next until a condition is true. */
async function passUntil(time: FakeTime, isSo: () => boolean): Promise<void> {
  for (await time.runMicrotasks(); !isSo(); await time.runMicrotasks()) {
    assert(time.next(), "nothing waits for the time");
  }
}

Deno.test("reader: it reads once a second for all listeners of a team, for none without listeners", async () => {
  const commits = 10;
  const all = await changes(1, 1 + commits);
  using time = new FakeTime();
  await using feed = new Feed(all);
  const received: number[] = [];
  const startMs = time.now;
  const listeners = await Promise.all(
    Array.from({ length: 20 }, () =>
      feed.job.listen(TEAM.id, ({ upTo }) => {
        received.push(upTo);
      })),
  );
  await passUntil(time, () => feed.reads >= 3);
  assert(time.now - startMs > 1_900, `3 reads in ${time.now - startMs} ms`);
  // The commit of another process: nobody is notified.
  feed.last = 1;
  await passUntil(time, () => received.length === 20);
  // The commits of this one are read before the next look.
  const { reads } = feed;
  const notifiedMs = time.now;
  while (feed.last <= commits) {
    feed.last++;
    feed.notifier.notify(TEAM.id, []);
    await passUntil(time, () => received.length === 20 * feed.last);
  }
  assert(time.now - notifiedMs < 1_000);
  assertEquals(feed.reads, reads + commits);
  assertEquals(received, feed.all.flatMap((_, n) => Array(20).fill(n + 1)));
  for (const listener of listeners) listener[Symbol.dispose]();
  feed.notifier.notify(TEAM.id, []);
  await feed.job.stop();
  assertEquals(feed.reads, reads + commits);
});

Deno.test("reader: an outage of the store is logged once, and its changes arrive after it", async () => {
  const all = await changes(1, 1);
  using time = new FakeTime();
  await using feed = new Feed(all);
  const received: number[] = [];
  using _listening = await feed.job.listen(TEAM.id, ({ upTo }) => received.push(upTo));
  feed.isDown = true;
  feed.last = 1;
  await passUntil(time, () => feed.reads >= 3);
  feed.isDown = false;
  await passUntil(time, () => received.length > 0);
  assertEquals([received, feed.log.length], [[1], 1]);
});

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
