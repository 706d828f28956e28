/** Configured objects in the store: versions, default rules, limits, and what follows from a change. */
import { assertEquals } from "@std/assert";
import type { RuleSettings, TeamCounts } from "../../../domain/alerts/rule.ts";
import { RULES } from "../../../domain/alerts/rule_body.ts";
import { SILENCES } from "../../../domain/alerts/silence.ts";
import { createIncidentStore } from "../../../kv/alerts/incidents.ts";
import { createConfigStore } from "../../../kv/config/object_store.ts";
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { readConfig } from "../../../kv/config/objects.ts";
import type { Store } from "../../../kv/store.ts";
import { TeamCommit } from "../../../kv/summaries/team_commit.ts";
import { TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const MADE = { by: "key_1", at: NOON };
const EVERYTHING = { rules: [], agents: [], customers: [] };

function storesOf(store: Store) {
  const environment = { random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)) };
  const deps = { store, changes: new TeamCommit(store, null), region: "eu", environment } as const;
  return {
    rules: createConfigStore(deps, RULES),
    silences: createConfigStore(deps, SILENCES),
    incidents: createIncidentStore(deps),
  };
}

function costs(usd: number | string): RuleSettings {
  const parsed = RULES.parse({ kind: "run_cost", params: { usd } }, NOON);
  return parsed.settings;
}

/** Times and names of the due rows of a kind. */
async function due(temp: TempStore, wanted: string): Promise<[number, string][]> {
  const rows = (await temp.keysBelow(keys.work())).map(keyParts.work);
  return rows.filter(({ kind }) => kind === wanted).map(({ at, name }) => [at - NOON, name]);
}

TempStore.test("rules: of changes that race, each gets a version of its own", async (temp) => {
  const [here, there] = [storesOf(temp.store), storesOf(temp.store)];
  const puts = await Promise.all(
    Array.from(
      { length: 8 },
      (_, n) => (n % 2 === 0 ? here : there).rules.put(TEAM, "dear", costs(n + 1), null, MADE),
    ),
  );
  const versions = puts.map((put) => put.object.version);
  assertEquals(versions.toSorted(), [1, 2, 3, 4, 5, 6, 7, 8]);
  assertEquals((await readConfig(temp.store, TEAM.id)).version, 8);
});

TempStore.test("rules: groups that share an incident are shown", async (temp) => {
  const { incidents } = storesOf(temp.store);
  const overflow = { since: NOON, groups: 3 };
  const state: TeamCounts = {
    dear: { instances: 1_001, firing: 1_001, overflow },
    failures: { instances: 1, firing: 0, overflow: null },
  };
  await temp.store.writer.commit({ sets: [{ key: keys.alertState(TEAM.id), value: state }] });
  assertEquals([...await incidents.overflows(TEAM)], [["dear", overflow]]);
});

TempStore.test("silences: the clock looks at the end, and at once after a change or deletion", async (temp) => {
  const { silences } = storesOf(temp.store);
  const until = (ms: number) => ({
    match: EVERYTHING,
    fromMs: null,
    untilMs: NOON + ms,
    comment: null,
  });
  const { object } = await silences.put(TEAM, "night", until(9_000), null, MADE);
  assertEquals(object.settings.fromMs, NOON, "it begins at once");
  assertEquals(await due(temp, "silence"), [[9_000, "night"]]);
  const later = { by: "key_1", at: NOON + 1_000 };
  const { object: shorter } = await silences.put(TEAM, "night", until(5_000), null, later);
  assertEquals(shorter.settings.fromMs, NOON, "it keeps its begin");
  assertEquals(await due(temp, "silence"), [[1_000, "night"], [5_000, "night"]]);
  await silences.remove(TEAM, "night", { by: "key_1", at: NOON + 2_000 });
  assertEquals(await due(temp, "silence"), [[1_000, "night"], [2_000, "night"]]);
});
