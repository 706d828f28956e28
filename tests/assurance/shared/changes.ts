/** Keys, teams and rates that are created, replaced and deleted while answers are lost. */
import { assert, assertEquals } from "@std/assert";
import { runId } from "../../support/builders/requests.ts";
import type { Access } from "../../support/oracles/totals.ts";
import { certain, listed, once } from "./calls.ts";
import { type Cluster, type Faults, NO_FAULTS, OPERATOR_KEY } from "./cluster.ts";

const FAULTS: Faults = { lost: 0.2, unavailable: 0.05, jitterMs: 5 };

const CLIENTS = 8;
const ROTATIONS = 3;

interface Outcomes {
  known: number;
  unknown: number;
}

/** Fails unless a secret is accepted: an unknown run is answered 404. */
async function assertWorks(access: Access, secret: string): Promise<void> {
  const { url } = access;
  const { status } = await certain({ url, key: secret }, "GET", `/v1/runs/${runId(9e9)}`);
  assertEquals(status, 404, "an answered secret is refused");
}

/** Creates a key, rotates it and revokes it. Returns the number of keys of its name. */
async function keyLife(access: Access, name: string, outcomes: Outcomes): Promise<number | null> {
  const body = { kind: "api_key", name, scopes: ["read"] };
  const created = await once(access, "POST", "/v1/keys", body);
  if (created === null) {
    outcomes.unknown++;
    return null;
  }
  assertEquals(created.status, 201);
  outcomes.known++;
  await assertWorks(access, created.json.secret);
  let key = created.json;
  let count = 1;
  for (let n = 0; n < ROTATIONS; n++) {
    const rotated = await certain(access, "POST", `/v1/keys/${key.id}/rotate`, {});
    if (rotated.status !== 201) {
      // An earlier attempt had an unknown outcome and was stored; the old secret still works.
      assert(rotated.isRepeated, `${name}: ${JSON.stringify(rotated.json)}`);
      outcomes.unknown++;
      await assertWorks(access, key.secret);
      return null;
    }
    outcomes.known++;
    assertEquals(rotated.json.replaces, key.id);
    key = rotated.json;
    count++;
    await assertWorks(access, key.secret);
  }
  const revoked = await certain(access, "DELETE", `/v1/keys/${key.id}`);
  assertEquals([revoked.status, revoked.json.revoked_at === null], [200, false]);
  return count;
}

/** Creates a team. Returns false if the outcome is unknown. */
async function newTeam(access: Access, name: string, outcomes: Outcomes): Promise<boolean> {
  const operator = { url: access.url, key: OPERATOR_KEY };
  const created = await once(operator, "POST", "/v1/teams", { name, tier: "free" });
  outcomes[created === null ? "unknown" : "known"]++;
  if (created === null) return false;
  assertEquals(created.status, 201);
  await assertWorks(access, created.json.key.secret);
  return true;
}

/** Sets a rate, changes and deletes it. */
async function rateLife(access: Access, model: string, outcomes: Outcomes): Promise<void> {
  for (const input of [1, 2]) {
    const rates = { input_usd_per_million: input, output_usd_per_million: 4 };
    const put = await certain(access, "PUT", "/v1/rate-card", { model, ...rates });
    assert([200, 202].includes(put.status), JSON.stringify(put.json));
    assert(put.isRepeated || !put.headers.has("idempotent-replayed"), `${model}: a first call`);
    if (input === 1) continue;
    const gone = await certain(access, "DELETE", `/v1/rate-card/${put.json.id}`);
    outcomes[gone.isRepeated ? "unknown" : "known"]++;
    if (gone.status !== 200) assert(gone.isRepeated, `${model}: ${JSON.stringify(gone.json)}`);
    const again = await certain(access, "DELETE", `/v1/rate-card/${put.json.id}`);
    assertEquals(again.status, 404);
  }
}

/** Lets clients change keys, teams and rates, `count` of each. */
export async function changes(cluster: Cluster, count: number): Promise<string> {
  const { access } = cluster;
  cluster.faults = FAULTS;
  const mark = crypto.randomUUID();
  const outcomes: Outcomes = { known: 0, unknown: 0 };
  const keyCounts = new Map<string, number>();
  const teams: string[] = [];
  const numbers = Array.from({ length: count }, (_, n) => n).values();
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    for (const n of numbers) {
      const name = `${mark} ${n}`;
      const keys = await keyLife(access, name, outcomes);
      if (keys !== null) keyCounts.set(name, keys);
      if (await newTeam(access, name, outcomes)) teams.push(name);
      await rateLife(access, name.replaceAll(" ", "-"), outcomes);
    }
  }));
  cluster.faults = NO_FAULTS;
  const operator = {
    get url() {
      return access.url;
    },
    key: OPERATOR_KEY,
  };
  const keys = Map.groupBy(await listed(access, "keys"), ({ name }) => name);
  for (const [name, expected] of keyCounts) assertEquals(keys.get(name)?.length, expected, name);
  const made = Map.groupBy(await listed(operator, "teams"), ({ name }) => name);
  for (const name of teams) assertEquals(made.get(name)?.length, 1, name);
  cluster.assertNoDefects();
  return `${outcomes.known} changes of keys, teams and rates, each once; ` +
    `${outcomes.unknown} had an unknown outcome`;
}
