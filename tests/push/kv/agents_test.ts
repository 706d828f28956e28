/** Rows of agents: damage to them, agents without any, and lists of very many. */
import { assert, assertEquals } from "@std/assert";
import type { AgentActivity } from "../../../domain/agents/agents.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { keys } from "../../../kv/base/keys.ts";
import {
  changed,
  type Damages,
  gone,
  put,
  valueOf,
  verifyDamaged,
} from "../../support/oracles/damage.ts";
import { enterprise, Harness } from "../../support/harness/harness.ts";
import { aRun, at } from "../../support/builders/requests.ts";
import { fill } from "../../support/builders/ledger_of_everything.ts";

const activity = (agent: string) => ({ team }: Harness) => keys.agentActivity(team.id, agent);

const changedRow = (change: (row: AgentActivity) => unknown) =>
  changed("activity of agent researcher", activity("researcher"), change);

/** Each kind of damage to the row of `researcher`, and the difference that reports it. */
const DAMAGES: Damages = {
  "a count is one more": changedRow((row) => ({ ...row, failed: row.failed + 1 })),
  "a run is moved from one count to another": changedRow((row) => ({
    ...row,
    succeeded: row.succeeded - 1,
    running: row.running + 1,
  })),
  "it was seen a millisecond later": changedRow((row) => ({ ...row, lastSeen: row.lastSeen + 1 })),
  "its last run has another status": changedRow((row) => ({
    ...row,
    lastRun: { ...row.lastRun, status: "timeout" },
  })),
  "its row is no row": changedRow(() => 7),
  "its row is missing": gone("activity of agent researcher", activity("researcher")),
  "there is an extra row": put(
    "activity of agent nobody",
    activity("nobody"),
    (h) => valueOf(h, activity("researcher")(h)),
  ),
  "an agent that has runs is missing": gone(
    "agent researcher",
    ({ team }) => keys.agent(team.id, "researcher"),
  ),
};

Harness.test("verify: damage to an agent's counts is found, in the affected team", async (h, t) => {
  await fill(h);
  assertEquals((await verifyStore(h.store)).differences, []);
  for (const [name, { says, make }] of Object.entries(DAMAGES)) {
    await t.step(name, async () => {
      const { differences } = await verifyDamaged(h, await make(h));
      assert(differences.some(({ what }) => what === says), JSON.stringify(differences));
      assert(differences.every(({ team }) => team === h.team.id));
    });
  }
  assertEquals((await verifyStore(h.store)).differences, []);
});

Harness.test("agents: an agent without aggregated runs exists, with zeros and nulls", async (h) => {
  await h.worker.stop();
  await h.post("/v1/runs", aRun(1));
  const expected = {
    agent: "researcher",
    name: "researcher",
    first_seen: at(),
    last_seen: null,
    runs: 0,
    succeeded: 0,
    failed: 0,
    running: 0,
    last_run_id: null,
    last_status: null,
    last_started_at: null,
    notes: null,
    archived: false,
  };
  const one = { ...expected, monitor: null, proposal: null };
  assertEquals((await h.get("/v1/agents/researcher")).json, one);
  assertEquals((await h.get("/v1/agents")).json, { agents: [expected], cursor: null });
});

enterprise.test("agents: beyond 10000 they are listed by slug only", async (h) => {
  await h.post("/v1/heartbeats", { agent: "a" });
  const plant = (value: bigint) => {
    const key = keys.agentCount(h.team.id);
    return h.store.writer.commit({ sets: [{ key, value: new Deno.KvU64(value) }] });
  };
  await plant(10_000n);
  assertEquals((await h.get("/v1/agents")).status, 200);
  await plant(10_001n);
  const { status, json } = await h.get("/v1/agents");
  assertEquals([status, json.error, json.field], [400, "invalid_field", "sort"]);
  assertEquals((await h.get("/v1/agents?sort=agent")).json.agents.length, 1);
});
