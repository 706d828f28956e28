/** Compiling the checks of a team lets other work go on. */
import { assert, assertEquals } from "@std/assert";
import { ConfigCache } from "../../../../kv/config/prepared.ts";
import type { Store } from "../../../../kv/store.ts";
import { TeamRowCache } from "../../../../kv/team/team_rows.ts";
import { aCheck } from "../../../support/builders/checks.ts";
import { TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";

/** Reads the configuration under the version of now. */
async function configOf(cache: ConfigCache, store: Store) {
  return await cache.of(TEAM.id, await new TeamRowCache(store).of(TEAM.id));
}

AlertProcess.test("configuration: other work gets a turn after each check that is compiled", async (process) => {
  for (let n = 0; n < 10; n++) {
    await process.put("check", `check-${n}`, aCheck(`finds(goal, "[a-z]{1,${n + 2}}x")`));
  }
  let turns = 0;
  const other = setInterval(() => turns++, 0);
  try {
    const config = await configOf(new ConfigCache(process.store), process.store);
    assertEquals(config.checks.length, 10);
  } finally {
    clearInterval(other);
  }
  assert(turns >= 9, `${turns} turns`);
});

AlertProcess.test("configuration: a team too large for the cache is compiled once, and again only what changed", async (process) => {
  const large = `tools.all(t, ${
    Array.from({ length: 30 }, (_, n) => `t.name != 'a${n}'`).join(" && ")
  })`;
  for (let n = 0; n < 40; n++) await process.put("check", `check-${n}`, aCheck(large));
  const cache = new ConfigCache(process.store);
  const first = await configOf(cache, process.store);
  assert(first.bytes > process.store.memory.bytesMax("configs") / 4, `${first.bytes}`);
  assertEquals(await configOf(cache, process.store) === first, true);
  await process.closeAll("g");
  assertEquals(await configOf(cache, process.store) === first, true);
  await process.put("check", "check-7", aCheck("cost_usd < 1"));
  const { checks } = await configOf(cache, process.store);
  const kept = checks.filter((check, n) => check === first.checks[n]);
  assertEquals([checks.length, kept.length], [40, 39]);
});
