/** Tests that a kill and an ordinary end lose no acknowledged call. */
import { assertEquals } from "@std/assert";
import { Rounds } from "../assurance/crash/rounds.ts";
import { inFolder } from "../support/harness/temp_store.ts";

inFolder.test("after kill -9 and SIGTERM under load every acknowledged call is stored once and aggregated", async (folder) => {
  await using rounds = new Rounds(folder);
  for (const [signal, acknowledged] of [["SIGKILL", 150], ["SIGTERM", 100]] as const) {
    await rounds.start();
    rounds.load();
    const ended = await rounds.end(signal, acknowledged);
    assertEquals([ended.code, ended.signal], signal === "SIGTERM" ? [0, null] : [137, signal]);
  }
  await rounds.start();
  await rounds.audit();
  await rounds.verifyAll();
});
