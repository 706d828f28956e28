/** The writer over a store: its writes, its failures, and the commits that it has in flight. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { writerOver } from "../../support/harness/stores.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { BACK_ENDS, LOCKED_RETRY } from "../../../kv/base/limits.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";
import { stub } from "@std/testing/mock";
import { openRemote } from "../../support/fakes/kv_client.ts";
import { type CommitAnswer, KvServer } from "../../support/fakes/kv_server.ts";

const KEY = ["value"], COUNTER = ["counter"];

TempStore.test("the writer stores checks, sums, sets and deletes as one operation", async (temp) => {
  const { writer, reader } = temp.store;
  await writer.commit({ sets: [{ key: ["old"], value: 1 }] });
  const version = await writer.commit({
    checks: [{ key: KEY, versionstamp: null }],
    sums: [{ key: COUNTER, by: 3n }, { key: COUNTER, by: 4n }],
    sets: [{ key: KEY, value: "v" }],
    deletes: [["old"]],
  });
  const [value, counter, old] = await reader.getMany<[string, Deno.KvU64, number]>([
    KEY,
    COUNTER,
    ["old"],
  ]);
  assertEquals([value.value, value.versionstamp], ["v", version]);
  assertEquals([counter.value?.value, old.value], [7n, null]);
});

TempStore.test("Deno KV keeps mutations before a failing sum of the same operation: why sums go first", async (temp) => {
  await using other = await TempStore.open();
  using kv = await Deno.openKv(other.path.replace("test.kv", "direct.kv"));
  await kv.set(COUNTER, "no counter");
  // Not the writer: this pins the back end's behavior that the writer's order guards against.
  const direct = kv.atomic().set(["before"], 1).sum(COUNTER, 1n).set(["after"], 1);
  await assertRejects(() => direct.commit(), TypeError);
  assertEquals([(await kv.get(["before"])).value, (await kv.get(["after"])).value], [1, null]);

  const { writer, reader } = temp.store;
  await writer.commit({
    sets: [{ key: COUNTER, value: "no counter" }, { key: ["old"], value: 1 }],
  });
  const before = await Array.fromAsync(reader.list({ prefix: [] }));
  const failed = {
    sets: [{ key: ["before"], value: 1 }],
    deletes: [["old"]],
    sums: [{ key: COUNTER, by: 1n }],
  };
  await assertRejects(() => writer.commit(failed), StorageUnavailable);
  assertEquals(await Array.fromAsync(reader.list({ prefix: [] })), before);
});

/** A writer whose commits first meet the given faults, with their number. */
function writerWith(kv: Deno.Kv, ...faults: Fault[]) {
  const counts = { commits: 0 };
  const next = () => faults[counts.commits++] ?? "none";
  return { writer: writerOver(faultKv(kv, next)), counts };
}

Deno.test("a locked file is retried until the write is stored, once", async () => {
  using kv = await Deno.openKv(":memory:");
  const { writer, counts } = writerWith(kv, "locked", "locked", "locked");
  const version = await writer.commit({
    checks: [{ key: KEY, versionstamp: null }],
    sums: [{ key: COUNTER, by: 1n }],
    sets: [{ key: KEY, value: 1 }],
  });
  assert(version !== null);
  assertEquals(counts.commits, 4);
  assertEquals((await kv.get<Deno.KvU64>(COUNTER)).value?.value, 1n);
});

const FAILURES = [["locked", LOCKED_RETRY.attemptsMax, "is locked"], ["throw", 1, "I/O error"]];

Deno.test("a file that stays locked is unavailable after the retries, any other failure at once", async () => {
  for (const [fault, attempts, words] of FAILURES) {
    using kv = await Deno.openKv(":memory:");
    const { writer, counts } = writerWith(kv, ...Array(99).fill(fault));
    const commit = () => writer.commit({ sets: [{ key: KEY, value: 1 }] });
    const error = await assertRejects(commit, StorageUnavailable, `${words}`);
    assert(error.cause instanceof TypeError);
    assertEquals([counts.commits, (await kv.get(KEY)).value], [attempts as number, null]);
  }
});

TempStore.test("a value that the back end refuses is reported as unavailable, not thrown as a bug", async (temp) => {
  const value = new Uint8Array(70_000);
  const commit = () => temp.store.writer.commit({ sets: [{ key: KEY, value }] });
  await assertRejects(commit, StorageUnavailable, "Cannot commit");
});

Deno.test("the writer is idle only once every commit has completed, also a failed one", async () => {
  using kv = await Deno.openKv(":memory:");
  const { writer } = writerWith(kv, "locked", "throw");
  const ended: string[] = [];
  const write = (name: string) =>
    writer.commit({ sets: [{ key: [name], value: 1 }] })
      .then(() => ended.push(name), () => ended.push("failed"));
  const all = [write("a"), write("b"), write("c")];
  await writer.idle();
  await Promise.all(all);
  // They shared one operation, so they share its unknown outcome.
  assertEquals(ended, ["failed", "failed", "failed"]);
  await writer.idle();
});

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
