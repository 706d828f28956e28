/**
 * Agent rows: any order, two concurrent projectors, lost responses, damage, and agents without
 * rows.
 */
import { SEED } from "../../support/harness/seed.ts";
import { agentStoreOf } from "../../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { TeamId } from "../../../domain/core/ids.ts";
import type { AgentActivity } from "../../../domain/agents/agents.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { keys } from "../../../kv/base/keys.ts";
import type { Store } from "../../../kv/store.ts";
import {
  changed,
  type Damages,
  gone,
  put,
  valueOf,
  verifyDamaged,
} from "../../support/oracles/damage.ts";
import { enterprise, Harness, NOON } from "../../support/harness/harness.ts";
import { aRun, at } from "../../support/builders/requests.ts";
import { fill } from "../../support/builders/ledger_of_everything.ts";
import { aCall, processingStoreOf, run, runsOf, TEAM } from "../../support/builders/stored_runs.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

/** Totals of the runs of agent `a`. */
async function activityOf(store: Store, team = TEAM): Promise<AgentActivity | null> {
  return (await agentStoreOf(store).read(team, "a"))?.activity ?? null;
}

/** A call to one of four runs, with its arrival. */
const steps = fc.array(
  fc.record({
    kind: fc.constantFrom("open", "success", "failed", "cancelled", "batch", "project"),
    n: fc.nat(3),
    ms: fc.nat(50),
    by: fc.nat(1),
  }),
  { minLength: 1, maxLength: 25 },
);

TempStore.test("agents: any calls in any order, with two concurrent projectors, match their runs", async ({ store }) => {
  const runs = runsOf(store);
  let teams = 0;
  const ids = [0, 1, 2, 3].map(run);
  const property = fc.asyncProperty(steps, async (all) => {
    const team = { ...TEAM, id: `team-${teams++}` as TeamId };
    const projectors = [processingStoreOf(store), processingStoreOf(store)];
    const underWay: Promise<unknown>[] = [];
    // The model: the first opening and the first close of each run.
    const opened = new Map<number, number>();
    const closed = new Map<number, { readonly ms: number; readonly status: string }>();
    for (const { kind, n, ms, by } of all) {
      if (kind === "open") {
        // Runs 2 and 3 start at one instant, later than the others.
        const startedAt = NOON + (n >> 1);
        await runs.open(team, { id: run(n), agent: "a", startedAt }, NOON + ms);
        if (!opened.has(n)) opened.set(n, ms);
      } else if (kind === "batch") await runs.append(team, run(n), [aCall(ms + 1)], NOON + 99);
      else if (kind === "project") {
        underWay.push(projectors[by]?.project(team.id, ids) ?? Promise.resolve());
      } else {
        const status = kind as "success";
        await runs.finish(team, run(n), { status, finishedAt: NOON }, NOON + ms);
        if (!closed.has(n)) closed.set(n, { ms, status });
      }
    }
    await Promise.all([...underWay, ...projectors.map((each) => each.project(team.id, ids))]);
    const numbers = [...opened.keys()].sort();
    const last = numbers.at(-1);
    const statusOf = (n: number) => closed.get(n)?.status ?? "running";
    const count = (status: string) => numbers.filter((n) => statusOf(n) === status).length;
    const arrivals = numbers.flatMap((n) => [opened.get(n) ?? 0, closed.get(n)?.ms ?? 0]);
    const expected = last === undefined ? null : {
      runs: numbers.length,
      succeeded: count("success"),
      failed: count("failed"),
      running: count("running"),
      lastSeen: NOON + Math.max(...arrivals),
      lastRun: {
        id: run(last),
        status: statusOf(last),
        startedAt: NOON + (last >> 1),
        sortedAt: NOON + (last >> 1),
      },
    };
    assertEquals<unknown>(await activityOf(store, team), expected);
  });
  await fc.assert(property, { seed: SEED, numRuns: 80 });
  assertEquals((await verifyStore(store)).differences, []);
});

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
