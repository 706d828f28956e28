/** Concurrent commits: two on a file, more on a store whose commits take long. */
import { assert, assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { faultKv } from "../../support/fakes/fault_kv.ts";
import { openRemote } from "../../support/fakes/kv_client.ts";
import { type CommitAnswer, KvServer } from "../../support/fakes/kv_server.ts";
import { writerOver } from "../../support/harness/stores.ts";

function insert(n: number) {
  const key = ["item", n];
  return { checks: [{ key, versionstamp: null }], sets: [{ key, value: n }] };
}

/** Lets the event loop send what was committed so far. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

KvServer.test("commits in flight: on a slow store, the next one begins before the first ones end", async (server) => {
  using kv = await openRemote(server.url());
  const writer = writerOver(kv, kv, BACK_ENDS.remote);
  await writer.commit(insert(0));
  const all = Promise.withResolvers<void>();
  let stored = 0;
  server.knobs.answer = async (): Promise<CommitAnswer> => {
    if (++stored === 3) all.resolve();
    await all.promise;
    return "sent";
  };
  const commits: Promise<unknown>[] = [];
  for (let n = 1; n <= 3; n++) {
    commits.push(writer.commit(insert(n)));
    await turn();
  }
  const late = setTimeout(all.reject, 30_000, new Error("the next one waits for the first"));
  await all.promise;
  clearTimeout(late);
  await Promise.all(commits);
});

Deno.test("commits in flight: far from a store, a write waits for others only for a moment", async () => {
  using kv = await Deno.openKv(":memory:");
  let nowMs = 0;
  using _clock = stub(performance, "now", () => nowMs);
  const { setTimeout } = globalThis;
  const turn = () => new Promise<void>((resolve) => void setTimeout(resolve));
  /** The writer's timers. */
  const waits: { readonly end: () => void; readonly ms: number }[] = [];
  using _timers = stub(
    globalThis as { setTimeout(end: () => void, ms?: number): unknown },
    "setTimeout",
    (end, ms = 0) => waits.push({ end, ms }),
  );
  let started = 0;
  let gate = Promise.withResolvers<void>();
  const stalled = faultKv(kv, () => (started++, "stall"), () => gate.promise);
  const writer = writerOver(stalled, kv, { ...BACK_ENDS.remote, mayRepeat: false });
  // The writer learns that commits take 160 ms.
  for (let n = 0; n < 100; n++) {
    const committed = writer.commit(insert(-1 - n));
    await turn();
    nowMs += 160;
    gate.resolve();
    await committed;
    gate = Promise.withResolvers();
  }
  started = 0;
  const all: Promise<unknown>[] = [];
  for (let n = 1; n <= 6; n++) {
    all.push(writer.commit(insert(n)));
    await turn();
    if (n > 2) {
      // Two begin at once, a further one after a sixteenth of a commit's time.
      const wait = waits.pop();
      assertEquals([started, Math.round(wait?.ms ?? 0)], [n - 1, 160 / 16]);
      nowMs += wait?.ms ?? 0;
      wait?.end();
      await turn();
    }
    assertEquals(started, n);
  }
  gate.resolve();
  await Promise.all(all);
});

KvServer.test("commits in flight: a slow store gets at most 16, and writes that wait share one", async (server) => {
  using kv = await openRemote(server.url());
  const writer = writerOver(kv, kv, BACK_ENDS.remote);
  server.knobs.delayMs = 60;
  let [inFlight, most] = [0, 0];
  server.knobs.answer = () => (inFlight--, "sent");
  const { commit } = kv.atomic().constructor.prototype as Deno.AtomicOperation;
  Deno.AtomicOperation.prototype.commit = function () {
    most = Math.max(most, ++inFlight);
    return commit.call(this);
  };
  try {
    await Promise.all(Array.from({ length: 400 }, (_, n) => writer.commit(insert(n))));
  } finally {
    Deno.AtomicOperation.prototype.commit = commit;
  }
  assert(most > 2 && most <= BACK_ENDS.remote.inFlightMax, `${most} commits at once`);
  assert(server.counts.commits < 100, `${server.counts.commits} commits`);
});

Deno.test("commits in flight: a file gets at most two", async () => {
  using kv = await Deno.openKv(":memory:");
  let [started, most, ended] = [0, 0, 0];
  const gate = Promise.withResolvers<void>();
  const stalled = faultKv(
    kv,
    () => (most = Math.max(most, ++started - ended), "stall"),
    () => gate.promise,
  );
  const writer = writerOver(stalled, kv);
  const commits = [];
  for (let n = 0; n < 5; n++) {
    commits.push(writer.commit(insert(n)).then(() => ended++));
    await turn();
  }
  gate.resolve();
  await Promise.all(commits);
  assertEquals(most, 2);
});

Deno.test("commits in flight: on a file, writes that arrive during a commit share the next one", async () => {
  using kv = await Deno.openKv(":memory:");
  let nowMs = 0;
  using _clock = stub(performance, "now", () => nowMs);
  let started = 0;
  let gate = Promise.withResolvers<void>();
  const stalled = faultKv(kv, () => (started++, "stall"), () => gate.promise);
  const writer = writerOver(stalled, kv);
  const slow = writer.commit(insert(0));
  await turn();
  // The writer learns that commits take long.
  nowMs = 1_000_000;
  gate.resolve();
  await slow;
  gate = Promise.withResolvers();
  const commits = [];
  for (let n = 1; n <= 5; n++) {
    commits.push(writer.commit(insert(n)));
    await turn();
  }
  assertEquals(started, 2);
  gate.resolve();
  const versions = await Promise.all(commits);
  assertEquals([started, new Set(versions).size], [3, 2]);
});

Deno.test("commits in flight: a write beside stale ones is committed again without further writes", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(["item", 1], "stored before");
  const started = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let commits = 0;
  const stalled = faultKv(kv, () => {
    commits++;
    started.resolve();
    return commits === 1 ? "stall" : "none";
  }, () => gate.promise);
  const writer = writerOver(stalled, kv, { ...BACK_ENDS.embedded, inFlightMax: 1 });
  const [good, stale] = [writer.commit(insert(2)), writer.commit(insert(1))];
  await started.promise;
  const late = writer.commit(insert(1));
  gate.resolve();
  assertEquals([await stale, typeof await good, commits], [null, "string", 2]);
  assertEquals(await late, null);
});
