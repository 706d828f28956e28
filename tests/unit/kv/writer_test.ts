import { assert, assertEquals, assertRejects } from "@std/assert";
import { writerOver } from "../../support/harness/stores.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { LOCKED_RETRY } from "../../../kv/base/limits.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { type Fault, faultKv } from "../../support/fakes/fault_kv.ts";

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
