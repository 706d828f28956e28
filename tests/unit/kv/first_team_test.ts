import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import { createCredentialStore, type CredentialStore } from "../../../kv/teams/credentials.ts";
import { type OpenStore, openUnlocked } from "../../../kv/open.ts";
import type { Write } from "../../../kv/writer/group.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { ensureFirstTeam, KeyRequired } from "../../../kv/teams/teams.ts";
import { replaced } from "../../support/fakes/replaced.ts";

const OWN_KEY = `apk_eu_${"ab".repeat(16)}`;
const OTHER_KEY = `apk_eu_${"cd".repeat(16)}`;
const environment = {
  now: () => Date.now(),
  random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
};

function credentialsOf(store: OpenStore, refusedSecret: string | null = null): CredentialStore {
  return createCredentialStore(store, environment, { region: "eu", refusedSecret });
}

async function listOf(credentials: CredentialStore, team: Team) {
  const query = { limit: 100, after: null, agent: null, sent: new Map() };
  return (await credentials.list(team, query)).records;
}

/** Start-up steps of the program. */
async function start(store: OpenStore, key: string | null, tier: "free" | null = null) {
  const credentials = credentialsOf(store);
  const first = await ensureFirstTeam(store, environment, { region: "eu", key, tier });
  return { ...first, credentials };
}

TempStore.test("first team: a refused key does not count, so another is minted, once", async (temp) => {
  await start(temp.store, OWN_KEY);
  const again = async () => {
    const store = await temp.reopen();
    const options = { region: "eu", key: null, tier: null, refusedKey: OWN_KEY } as const;
    return await ensureFirstTeam(store, environment, options);
  };
  assertMatch((await again()).createdKey ?? "", /^apk_eu_[0-9a-f]{32}$/);
  assertEquals((await again()).createdKey, null);
});

TempStore.test("first team: a configured key is added to the other keys of an existing team", async (temp) => {
  const first = await start(temp.store, null);
  const second = await start(await temp.reopen(), OWN_KEY);
  assertEquals([second.createdKey, second.team], [OWN_KEY, first.team]);
  assertEquals((await second.credentials.find(OWN_KEY))?.team, first.team);
  assertEquals((await second.credentials.find(first.createdKey ?? ""))?.team, first.team);
  const third = await start(await temp.reopen(), OWN_KEY);
  assertEquals(third.createdKey, null);
  // R30: their names differ.
  assertEquals([first.isAdded, second.isAdded, third.isAdded], [false, true, false]);
  const names = (await listOf(third.credentials, third.team)).map(({ name }) => name).sort();
  const today = new Date().toISOString().slice(0, 10);
  assertEquals(names, [`RUNLEDGER_KEY of ${today}`, "first key"]);
});

TempStore.test("first team: a revoked key stays revoked when a start configures it again", async (temp) => {
  const { team, credentials } = await start(temp.store, OWN_KEY);
  const [record] = await listOf(credentials, team);
  assert((await credentials.revoke(team, record?.id ?? "", "test"))?.revokedAt !== null);
  const again = await start(await temp.reopen(), OWN_KEY);
  assertEquals([again.createdKey, await again.credentials.find(OWN_KEY)], [null, null]);
  const [revoked] = await listOf(again.credentials, team);
  assertEquals(again.revokedAt, revoked?.revokedAt);
  const other = await start(await temp.reopen(), OTHER_KEY);
  assertEquals((await other.credentials.find(OTHER_KEY))?.team.id, team.id);
});

TempStore.test("first team: a team whose keys are all revoked gets no new key minted", async (temp) => {
  const { team, credentials } = await start(temp.store, null);
  const [record] = await listOf(credentials, team);
  await credentials.revoke(team, record?.id ?? "", "test");
  assertEquals((await start(await temp.reopen(), null)).createdKey, null);
});

/** Opens stores on one file that commit in step: each waits until all have a write to commit. */
async function openInStep(path: string, count: number): Promise<readonly OpenStore[]> {
  const waiting: (() => void)[] = [];
  const stores = await Promise.all(Array.from({ length: count }, () => openUnlocked(path)));
  return stores.map((store) => {
    const commit = async (write: Write) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      if (waiting.length === count) waiting.splice(0).forEach((begin) => begin());
      await promise;
      return await store.writer.commit(write);
    };
    return { ...store, writer: replaced(store.writer, { commit }) };
  });
}

for (const isNew of [true, false]) {
  const ledger = isNew ? "an empty ledger" : "a ledger with another key";
  TempStore.test(`first team: of three starts at once with one key on ${ledger}, none fails`, async (temp) => {
    if (!isNew) await start(temp.store, OTHER_KEY);
    const stores = await openInStep(temp.path, 3);
    const started = await Promise.all(stores.map((store) => start(store, OWN_KEY)));
    await Promise.all(stores.map((store) => store.close()));
    const [first] = started;
    for (const { team } of started) assertEquals(team, first?.team);
    assertEquals(started.filter(({ createdKey }) => createdKey !== null).length, 1);
    assertEquals((await temp.keysBelow(["team"])).length, 1);
    const { credentials, team, createdKey } = await start(temp.store, OWN_KEY);
    assertEquals([team, createdKey], [first?.team, null]);
    assertEquals((await listOf(credentials, team)).length, isNew ? 1 : 2);
  });
}

TempStore.test("first team: on a shared store no key is generated: without one the start is refused", async (temp) => {
  const options = { region: "eu", tier: null, isShared: true } as const;
  const again = async (key: string | null, refusedKey: string | null = null) =>
    await ensureFirstTeam(await temp.reopen(), environment, { ...options, key, refusedKey });
  await assertRejects(() => again(null), KeyRequired);
  assertEquals(await temp.keysBelow([]), []);
  const { team } = await again(OWN_KEY);
  assertEquals(await again(null), { team, createdKey: null, isAdded: false, revokedAt: null });
  const rows = await temp.keysBelow([]);
  await assertRejects(() => again(null, OWN_KEY), KeyRequired);
  assertEquals(await temp.keysBelow([]), rows);
  assertEquals((await again(OTHER_KEY, OWN_KEY)).team, team);
  assertEquals(await again(null, OWN_KEY), {
    team,
    createdKey: null,
    isAdded: false,
    revokedAt: null,
  });
});

TempStore.test("first team: its plan is business until a start sets another, which stays", async (temp) => {
  assertEquals((await start(temp.store, OWN_KEY)).team.tier, "business");
  assertEquals((await start(await temp.reopen(), OWN_KEY, "free")).team.tier, "free");
  const later = await start(await temp.reopen(), OWN_KEY);
  assertEquals((await later.credentials.find(OWN_KEY))?.team.tier, "free");
});
