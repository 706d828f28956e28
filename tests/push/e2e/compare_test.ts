/** The comparison of `bench/compare.ts` keeps what it says of this service. */
import { assert, assertEquals } from "@std/assert";
import { sendLate, sendThroughKill, sendTwice } from "../../../bench/compare.ts";
import { KEY } from "../../support/harness/instance.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

inFolder.test("compare: nothing acknowledged is lost in a kill, doubled or late", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv`, RUNLEDGER_KEY: KEY };
  const first = await Process.start(settings);
  const target = {
    url: `${first.url}/v1/traces`,
    read: `${first.url}/v1/runs/run_eu_{trace}?events_limit=1000`,
    headers: { Authorization: `Bearer ${KEY}` },
  };
  assertEquals([await sendTwice(target), await sendLate(target)], [1, true]);
  const some = Promise.withResolvers<void>();
  const sent = sendThroughKill(target, 60, (count) => count === 20 && some.resolve());
  await some.promise;
  await first.stop("SIGKILL");
  await using _again = await Process.start({ ...settings, PORT: new URL(first.url).port });
  const { acknowledged, lost } = await sent;
  assert(acknowledged >= 20);
  assertEquals(lost, 0);
});
