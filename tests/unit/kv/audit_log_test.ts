/** A change and its audit log entry are one commit, and the sweep applies a team's own limits. */
import { assert, assertEquals } from "@std/assert";
import { SCOPES } from "../../../domain/teams/credentials.ts";
import { keys } from "../../../kv/base/keys.ts";
import { createCredentialStore } from "../../../kv/teams/credentials.ts";
import { createTeamStore } from "../../../kv/teams/teams.ts";
import type { Write } from "../../../kv/writer/group.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { finish, open, readRun, run } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aSpec, cardsOf } from "../../support/builders/rate_cards.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { insertTeam } from "../../support/builders/teams.ts";

const environment = {
  now: () => NOON,
  random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
};
const KEY = { name: "ci", grant: { kind: "api_key", scopes: SCOPES } } as const;
const NO_CHANGE = { name: undefined, tier: undefined, suspended: undefined };

/** Every kind of logged change, with the key family that it changes. */
async function changesOf(temp: TempStore) {
  const { store } = temp;
  const team = await insertTeam(store, "team");
  const archive = new RetentionHarness(store);
  const credentials = createCredentialStore(store, environment, {
    region: "eu",
    refusedSecret: null,
  });
  const teams = createTeamStore(store, environment, "eu", () => credentials.forget());
  const cards = cardsOf(store);
  const { record: old } = await credentials.create(team, KEY, "by");
  const { rate } = await cards.put(team, aSpec({ model: "gone" }), "by");
  await open(archive.runs, 1, {}, team);
  await finish(archive.runs, 1, team);
  await archive.work();
  const changes: readonly (readonly [family: string, change: () => Promise<unknown>])[] = [
    ["credential", () => credentials.create(team, KEY, "by")],
    ["credential", () => credentials.rotate(team, old.id, 0, "by")],
    ["credential", () => credentials.revoke(team, old.id, "by")],
    ["team", () => teams.create({ name: "new", tier: "free", owner_email: undefined })],
    ["team", () => teams.change(team.id, { ...NO_CHANGE, suspended: true })],
    ["rate", () => cards.put(team, aSpec(), "by")],
    ["rate", () => cards.delete(team, rate.row.id, "by")],
    ["run", () => archive.deletions.deleteRun(team, run(1), "by")],
    ["deletion", () => archive.deletions.deleteCustomer(team, "acme", "by")],
  ];
  return { team, changes };
}

TempStore.test("each change and its entry are one commit: neither exists without the other", async (temp) => {
  const { changes } = await changesOf(temp);
  const { writer } = temp.store;
  const writes: Write[] = [];
  const commit = writer.commit.bind(writer);
  writer.commit = (write) => {
    writes.push(write);
    return commit(write);
  };
  for (const [family, change] of changes) {
    writes.length = 0;
    await change();
    const reported = writes.filter(({ sets = [] }) =>
      sets.some(({ key }) => key[0] === "audit_log")
    );
    assertEquals(reported.length, 1, family);
    assert(reported[0]?.sets?.some(({ key }) => key[0] === family), family);
  }
});

RetentionHarness.test("decision 40: the sweep keeps data as long as the team's own limits say", async (archive) => {
  const limits = { payloadDays: 2, recordDays: 4 };
  const team = { ...await archive.addTeam("enterprise"), limits };
  await archive.store.writer.commit({ sets: [{ key: keys.team(team.id), value: team }] });
  const free = await archive.addTeam("enterprise");
  for (const each of [team, free]) {
    await open(archive.runs, 1, { goal: "a text" }, each);
    await finish(archive.runs, 1, each);
  }
  await archive.work();
  const payloads: number[] = [];
  const records: number[] = [];
  for (let day = 1; day <= 5; day++) {
    archive.nowMs = NOON + day * DAY_MS + 1;
    const counts = await archive.sweep();
    payloads.push(counts.payloads);
    records.push(counts.records);
  }
  assertEquals([payloads, records], [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]);
  assert(await readRun(archive.runs, free, run(1), null, 1) !== null);
  assertEquals(await readRun(archive.runs, team, run(1), null, 1), null);
  await assertClean(archive.store);
});
