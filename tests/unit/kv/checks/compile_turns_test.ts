/** Compiling the checks of a team lets other work go on. */
import { assert, assertEquals } from "@std/assert";
import { AlertCache } from "../../../../kv/alerts/read.ts";
import { aCheck } from "../../../support/builders/checks.ts";
import { TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { TempStore } from "../../../support/harness/temp_store.ts";

Deno.test("configuration: other work gets a turn after each check that is compiled", async () => {
  await using temp = await TempStore.open();
  const process = new AlertProcess(temp.store);
  for (let n = 0; n < 10; n++) {
    await process.put("check", `check-${n}`, aCheck(`finds(goal, "[a-z]{1,${n + 2}}x")`));
  }
  let turns = 0;
  const other = setInterval(() => turns++, 0);
  try {
    const { config } = await new AlertCache(temp.store).of(TEAM.id, "1");
    assertEquals(config.checks.length, 10);
  } finally {
    clearInterval(other);
  }
  assert(turns >= 9, `${turns} turns`);
});

Deno.test("configuration: a team too large for the cache is compiled once, and again only what changed", async () => {
  await using temp = await TempStore.open();
  const process = new AlertProcess(temp.store);
  const large = `tools.all(t, ${
    Array.from({ length: 30 }, (_, n) => `t.name != 'a${n}'`).join(" && ")
  })`;
  for (let n = 0; n < 40; n++) await process.put("check", `check-${n}`, aCheck(large));
  const cache = new AlertCache(temp.store);
  const first = await cache.of(TEAM.id, "1");
  assert(first.config.bytes > temp.store.memory.bytesMax("alerts") / 4, `${first.config.bytes}`);
  assertEquals(await cache.of(TEAM.id, "1") === first, true);
  cache.remember(TEAM.id, "1", "2");
  assertEquals((await cache.of(TEAM.id, "2")).config === first.config, true);
  await process.put("check", "check-7", aCheck("cost_usd < 1"));
  cache.forget(TEAM.id);
  const { checks } = (await cache.of(TEAM.id, "3")).config;
  const kept = checks.filter((check, n) => check === first.config.checks[n]);
  assertEquals([checks.length, kept.length], [40, 39]);
});
