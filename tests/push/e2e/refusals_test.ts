/** Tests that counts of refused calls survive a graceful shutdown (R13). */
import { assertEquals } from "@std/assert";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

const KEY = `apk_eu_${"d5".repeat(16)}`;
const HEADERS = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };

inFolder.test("R13: refusals of the last minute are written at a graceful shutdown", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv`, RUNLEDGER_KEY: KEY };
  {
    await using before = await Process.start(settings);
    for (let n = 0; n < 3; n++) {
      const refused = await fetch(`${before.url}/v1/runs`, {
        method: "POST",
        headers: HEADERS,
        body: "{}",
      });
      await refused.body?.cancel();
      assertEquals(refused.status, 400);
    }
    assertEquals((await before.stop()).code, 0);
  }
  await using after = await Process.start(settings);
  const answer = await fetch(`${after.url}/v1/refusals`, { headers: HEADERS });
  const { counts, latest } = await answer.json();
  assertEquals([counts[0].count, latest.length, latest[0].code], [3, 3, "missing_field"]);
});
