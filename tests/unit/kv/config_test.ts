/** Configured objects in the store: versions, default rules, limits, and what follows from a change. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { RuleSettings, TeamCounts } from "../../../domain/alerts/rule.ts";
import { DEFAULT_RULES } from "../../../domain/alerts/rules.ts";
import { RULES } from "../../../domain/alerts/rule_body.ts";
import type { PutObject } from "../../../domain/config/objects.ts";
import type { Parsed } from "../../../domain/core/errors.ts";
import { SILENCES } from "../../../domain/alerts/silence.ts";
import { createIncidentStore } from "../../../kv/alerts/incidents.ts";
import { createConfigStore } from "../../../kv/config/store.ts";
import { keyParts, keys } from "../../../kv/base/keys.ts";
import { readConfig } from "../../../kv/config/objects.ts";
import type { Store } from "../../../kv/store.ts";
import { TeamCommit } from "../../../kv/summaries/team_commit.ts";
import { TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const MADE = { by: "key_1", at: NOON };
const PAGE = { limit: 500, after: null };
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
  assert(parsed.ok);
  return parsed.value.settings;
}

function stored<S>(put: Parsed<PutObject<S>>): PutObject<S> {
  assert(put.ok, put.ok ? "" : put.problem.message);
  return put.value;
}

/** Times and names of the due rows of a kind. */
async function due(temp: TempStore, wanted: string): Promise<[number, string][]> {
  const rows = (await temp.keysBelow(keys.work())).map(keyParts.work);
  return rows.filter(({ kind }) => kind === wanted).map(({ at, name }) => [at - NOON, name]);
}

Deno.test("rules: a put creates, repeats, changes and is refused for an outdated version", async () => {
  await using temp = await TempStore.open();
  const { rules } = storesOf(temp.store);
  const first = stored(await rules.put(TEAM, "dear", costs(5), null, MADE));
  assertEquals([first.kind, first.object.version, first.object.slug], ["stored", 1, "dear"]);
  assertMatch(first.object.id ?? "", /^rul_eu_[0-9a-f]{32}$/);
  const again = stored(await rules.put(TEAM, "dear", costs("5.00"), 1, MADE));
  assertEquals([again.kind, again.object], ["replayed", first.object]);
  const later = { by: "key_2", at: NOON + 1 };
  const second = stored(await rules.put(TEAM, "dear", costs(6), 1, later)).object;
  assertEquals(second, {
    ...first.object,
    version: 2,
    settings: costs(6),
    updatedAt: NOON + 1,
    updatedBy: "key_2",
  });
  const outdated = await rules.put(TEAM, "dear", costs(7), 1, MADE);
  assertEquals(!outdated.ok && [outdated.problem.code, outdated.problem.field], [
    "version_conflict",
    "version",
  ]);
  assertEquals(await rules.read(TEAM, "dear"), second);
  assertEquals((await rules.remove(TEAM, "dear", later))?.version, 2);
  assertEquals(await rules.remove(TEAM, "dear", later), null);
  assertEquals(await rules.read(TEAM, "dear"), null);
  assertEquals(
    (await temp.keysBelow(["audit_log", TEAM.id])).length,
    3,
    "an entry for each change",
  );
  assertEquals(await due(temp, "rule"), [[0, "dear"], [1, "dear"]]);
  assertEquals((await readConfig(temp.store, TEAM.id)).version, 3);
});

Deno.test("rules: a default rule is there until it is replaced or deleted, and can come back", async () => {
  await using temp = await TempStore.open();
  const { rules } = storesOf(temp.store);
  const slugs = async () => (await rules.list(TEAM, PAGE)).objects.map((rule) => rule.slug);
  const all = ["failures", "missed", "quota", "service", "stuck", "unpriced"];
  assertEquals(await slugs(), all);
  const [failures] = DEFAULT_RULES;
  assert(failures !== undefined);
  const same = stored(await rules.put(TEAM, "failures", failures.settings, 0, MADE));
  assertEquals([same.kind, same.object], ["replayed", failures], "nothing differs");
  assertEquals((await rules.remove(TEAM, "failures", MADE))?.settings, failures.settings);
  assertEquals(await rules.remove(TEAM, "failures", MADE), null);
  assertEquals(await rules.read(TEAM, "failures"), null);
  assertEquals(await slugs(), all.slice(1));
  const back = stored(await rules.put(TEAM, "failures", failures.settings, null, MADE));
  assertEquals([back.kind, back.object.version], ["stored", 2], "its deletion was a version");
  const config = await readConfig(temp.store, TEAM.id);
  assertEquals(config.rules.map(({ slug }) => slug), all);
  assertEquals(config.rules.filter(({ id }) => id !== null), [back.object]);
});

Deno.test("rules: lists have pages, and the hundred-and-first rule is refused", async () => {
  await using temp = await TempStore.open();
  const { rules } = storesOf(temp.store);
  for (let n = 0; n < 100; n++) {
    stored(await rules.put(TEAM, `r${n}`, costs(5), null, MADE));
  }
  const refused = await rules.put(TEAM, "one-more", costs(5), null, MADE);
  assertEquals(!refused.ok && refused.problem.code, "object_cap_reached");
  assertMatch(refused.ok ? "" : refused.problem.message, /100 rules/);
  assertEquals(stored(await rules.put(TEAM, "r1", costs(6), null, MADE)).object.version, 2);
  const first = await rules.list(TEAM, { limit: 60, after: null });
  const rest = await rules.list(TEAM, { limit: 60, after: first.next });
  const slugs = [...first.objects, ...rest.objects].map(({ slug }) => slug);
  assertEquals([first.objects.length, rest.next, slugs.length], [60, null, 106]);
  assertEquals(slugs, slugs.toSorted());
});

Deno.test("rules: of changes that race, each gets a version of its own", async () => {
  await using temp = await TempStore.open();
  const [here, there] = [storesOf(temp.store), storesOf(temp.store)];
  const puts = await Promise.all(
    Array.from(
      { length: 8 },
      (_, n) => (n % 2 === 0 ? here : there).rules.put(TEAM, "dear", costs(n + 1), null, MADE),
    ),
  );
  const versions = puts.map((put) => stored(put).object.version);
  assertEquals(versions.toSorted(), [1, 2, 3, 4, 5, 6, 7, 8]);
  assertEquals((await readConfig(temp.store, TEAM.id)).version, 8);
});

Deno.test("rules: groups that share an incident are shown", async () => {
  await using temp = await TempStore.open();
  const { incidents } = storesOf(temp.store);
  const overflow = { since: NOON, groups: 3 };
  const state: TeamCounts = {
    dear: { instances: 1_001, firing: 1_001, overflow },
    failures: { instances: 1, firing: 0, overflow: null },
  };
  await temp.store.writer.commit({ sets: [{ key: keys.alertState(TEAM.id), value: state }] });
  assertEquals([...await incidents.overflows(TEAM)], [["dear", overflow]]);
});

Deno.test("silences: the clock looks at the end, and at once after a change or deletion", async () => {
  await using temp = await TempStore.open();
  const { silences } = storesOf(temp.store);
  const until = (ms: number) => ({
    match: EVERYTHING,
    fromMs: null,
    untilMs: NOON + ms,
    comment: null,
  });
  const { object } = stored(await silences.put(TEAM, "night", until(9_000), null, MADE));
  assertEquals(object.settings.fromMs, NOON, "it begins at once");
  assertEquals(await due(temp, "silence"), [[9_000, "night"]]);
  const later = { by: "key_1", at: NOON + 1_000 };
  const shorter = stored(await silences.put(TEAM, "night", until(5_000), null, later)).object;
  assertEquals(shorter.settings.fromMs, NOON, "it keeps its begin");
  assertEquals(await due(temp, "silence"), [[1_000, "night"], [5_000, "night"]]);
  await silences.remove(TEAM, "night", { by: "key_1", at: NOON + 2_000 });
  assertEquals(await due(temp, "silence"), [[1_000, "night"], [2_000, "night"]]);
});
