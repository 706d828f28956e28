/** Commits on a shared KV whose answers are lost, by the runtime's real client. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { keys } from "../../../kv/base/keys.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import type { Writer } from "../../../kv/writer/writer.ts";
import { faultKv } from "../../support/fakes/fault_kv.ts";
import { openRemote } from "../../support/fakes/kv_client.ts";
import { type CommitAnswer, KvServer } from "../../support/fakes/kv_server.ts";
import { writerOver } from "../../support/harness/stores.ts";

const COUNT = ["count"];
const ONE = { sums: [{ key: COUNT, by: 1n }] };

async function countIn(kv: Deno.Kv): Promise<number> {
  return Number((await kv.get<Deno.KvU64>(COUNT)).value?.value ?? 0n);
}

/** Runs a test with a writer on a shared KV. */
async function withRemote(
  test: (context: { server: KvServer; kv: Deno.Kv; writer: Writer }) => Promise<void>,
): Promise<void> {
  await using server = await KvServer.start();
  using kv = await openRemote(server.url());
  await test({ server, kv, writer: writerOver(kv, kv, BACK_ENDS.remote) });
}

/** Treats the answers of the next commits as listed, and sends those after them. */
function treat(server: KvServer, ...fates: CommitAnswer[]): void {
  server.knobs.answer = () => fates.shift() ?? "sent";
}

for (const fate of ["lost", "unavailable"] as const) {
  Deno.test(`receipts: a commit whose answer is ${fate} is stored once, and its caller learns it`, () =>
    withRemote(async ({ server, kv, writer }) => {
      treat(server, fate, fate, "sent", fate);
      for (let n = 0; n < 3; n++) {
        const at = { key: ["item", n], versionstamp: null };
        const version = await writer.commit({ ...ONE, checks: [at], sets: [{ ...at, value: n }] });
        assertEquals((await kv.get(at.key)).versionstamp, version);
      }
      // Without a check of its own, a repeated commit would count twice.
      treat(server, fate);
      assert(await writer.commit(ONE) !== null);
      assertEquals(await countIn(kv), 4);
      assertEquals(server.counts.lost, 4);
    }));
}

Deno.test("receipts: a conflict with another process is still a conflict", () =>
  withRemote(async ({ server, kv, writer }) => {
    await kv.set(["taken"], "by another");
    // This one's receipt is there, and must not count for the next commit.
    assert(await writer.commit(ONE) !== null);
    treat(server, "lost");
    const checks = [{ key: ["taken"], versionstamp: null }];
    assertEquals(await writer.commit({ ...ONE, checks }), null);
    assertEquals(await countIn(kv), 1);
  }));

KvServer.test("receipts: after a commit of unknown outcome, and after a receipt expired, the next one is stored", async (server) => {
  using kv = await openRemote(server.url());
  const faults = ["commit then throw", "throw"] as const;
  const plan = [...faults];
  const writer = writerOver(faultKv(kv, () => plan.shift() ?? "none"), kv, BACK_ENDS.remote);
  for (const _ of faults) await assertRejects(() => writer.commit(ONE), StorageUnavailable);
  assert(await writer.commit(ONE) !== null);
  for await (const { key } of kv.list({ prefix: keys.receipts() })) await kv.delete(key);
  assert(await writer.commit(ONE) !== null);
  assertEquals(await countIn(kv), 3);
});

Deno.test("receipts: a hundred callers at once, a third of the answers lost: each is stored once", () =>
  withRemote(async ({ server, kv, writer }) => {
    using deadlines = new Deadlines(30_000, TIMERS);
    const patient = writerOver(kv, kv, BACK_ENDS.remote, deadlines);
    let answers = 0;
    server.knobs.answer = () => ++answers % 3 === 0 ? "lost" : "sent";
    const versions = await Promise.all(
      Array.from({ length: 100 }, (_, n) => {
        const at = { key: ["item", n], versionstamp: null };
        return (n % 2 === 0 ? writer : patient).commit({
          ...ONE,
          checks: [at],
          sets: [{ ...at, value: n }],
        });
      }),
    );
    assertEquals(versions.filter((version) => version === null), []);
    assertEquals(await countIn(kv), 100);
    assert(server.counts.lost > 0);
    assertEquals((await Array.fromAsync(kv.list({ prefix: ["item"] }))).length, 100);
  }));

Deno.test("receipts: a process writes as few rows as it has commits in flight", () =>
  withRemote(async ({ kv, writer }) => {
    await Promise.all(Array.from({ length: 600 }, () => writer.commit(ONE)));
    const rows = await Array.fromAsync(kv.list({ prefix: keys.receipts() }));
    assert(rows.length <= BACK_ENDS.remote.inFlightMax, `${rows.length} receipts`);
  }));
