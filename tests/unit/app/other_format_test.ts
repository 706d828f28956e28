/** Instances that a newer version overtakes: it has changed the format of their shared KV. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { VERSION } from "../../../domain/core/version.ts";
import { keys, LEDGER_FORMAT } from "../../../kv/base/keys.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";
import { Instance } from "../../support/harness/instance.ts";
import { openRemote } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";

/** Milliseconds within which each instance notices: five renewals of the holder's lease. */
const NOTICED_MS_MAX = 5 * 4_000;

KvServer.test("format: each running instance refuses calls and stops its jobs when a newer version changes the format", async (kv) => {
  const start = async () => {
    const refused = Promise.withResolvers<Error>();
    let count = 0;
    const onOtherFormat = (error: Error) => {
      count++;
      refused.resolve(error);
    };
    const instance = await Instance.start(kv.url(), { onOtherFormat, sweeps: true });
    return { instance, refused: refused.promise, count: () => count };
  };
  const holder = await start();
  await using first = holder.instance;
  await first.service.workFor(5_000);
  const other = await start();
  await using second = other.instance;
  for (const instance of [first, second]) await instance.call("GET", "/readyz");

  using newer = await openRemote(kv.url());
  const next = LEDGER_FORMAT + 1;
  await newer.set(keys.format(), { format: next, version: "7.8.9" });
  const startMs = performance.now();
  for (const { instance, refused, count } of [holder, other]) {
    const { name, message } = await refused;
    assert(performance.now() - startMs < NOTICED_MS_MAX, "it was noticed late");
    assertEquals(name, "StoreRefused");
    assertStringIncludes(
      message,
      `has format ${next}, written by version 7.8.9, but version ${VERSION} reads only`,
    );
    assertStringIncludes(message, "this instance ends; start the version that wrote it");
    const answers = await Promise.all([
      instance.request("GET", "/readyz"),
      instance.request("GET", "/v1/runs"),
      instance.request("POST", "/v1/heartbeats", aHeartbeat(1)),
    ]);
    for (const answer of answers) {
      assertEquals([answer.status, (await answer.json()).error], [503, "shutting_down"]);
    }
    await instance.service.stop();
    assertEquals(count(), 1);
  }
  // Neither left the lease, nor works any more.
  assertEquals((await newer.get(keys.lease())).versionstamp, null);
});
