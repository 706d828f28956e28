/**
 * Attacks with background work: aggregating, repricing, deleting, and changes with an admin's key.
 */
import type { TeamId } from "../../../../domain/core/ids.ts";
import { RATE_ROWS_MAX, RUN_MODELS_MAX } from "../../../../domain/core/limits.ts";
import { contributionsOf, mergeRows, type RollupRow } from "../../../../domain/spend/rollup.ts";
import { keys } from "../../../../kv/base/keys.ts";
import { encodeRollup } from "../../../../kv/spend/rollups.ts";
import { keyPart } from "../../../../kv/index/entries.ts";
import type { Store } from "../../../../kv/store.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, jsonOf, must, RATE } from "../attacker.ts";
import { aCall, events, gzip, instant, label, newId } from "../values.ts";
import { largestRate, storeRates, storeRuns } from "./lists.ts";
import { daysAgo, storeRows } from "./spend.ts";

/** Runs with 20 providers each that all use the same model name. */
const RUNS_OF_MANY_PROVIDERS = 1_000;

/** Calls that wait for their job: as many as are sent within the longest wait. */
const WAITING_MAX = 1_200;

/** Jobs requested per second: each is stored and takes several steps. */
const JOBS = 20;

async function storeManyProviders(attacker: Attacker): Promise<void> {
  await attacker.times(RUNS_OF_MANY_PROVIDERS, async (n) => {
    const id = newId("run");
    const calls = events(RUN_MODELS_MAX, (k) => aCall(`provider-${n}-${k}`, "m"));
    must(await attacker.post("/v1/heartbeats", { id, agent: "a" }));
    must(await attacker.post(`/v1/runs/${id}/events`, calls));
  });
}

/** Requests a repricing from a different instant each time, so that every job is new. */
function reprice(attacker: Attacker, n: number, fields: object) {
  const from = new Date(Date.now() - 86_400_000 - n).toISOString();
  return attacker.post("/v1/rate-card/reprice", { from, ...fields });
}

/** Customers whose runs were removed by age, and the number of models of each. */
const REMOVED = { customers: 30, models: 500 } as const;

/** Writes the spend of removed runs for one day, as the sweep does. */
async function fillGone(store: Store, team: TeamId): Promise<void> {
  const rows = mergeRows(
    Array.from({ length: REMOVED.customers }, (_, customer) =>
      contributionsOf({
        day: daysAgo(60),
        labels: { agent: "a", customer: `gone-${customer}`, feature: null, status: "success" },
        events: REMOVED.models,
        calls: REMOVED.models,
        inputTokens: 0n,
        outputTokens: 0n,
        cachedInputTokens: 0n,
        cost: 0n,
        models: Array.from({ length: REMOVED.models }, (_, model) => ({
          provider: "p",
          model: `model-${customer}-${model}`,
          priced: true,
          calls: 1,
          inputTokens: 1_000n,
          outputTokens: 0n,
          cachedInputTokens: 0n,
          cost: 1_000n,
        })),
      })).flat(),
  );
  await storeRows(store, team, rows);
  const removed = (row: RollupRow) =>
    keys.removedRollup(team, row.group.kind, row.day, keyPart(row.group));
  for (let at = 0; at < rows.length; at += 500) {
    const sets = rows.slice(at, at + 500)
      .map((row) => ({ key: removed(row), value: encodeRollup(row) }));
    await store.writer.commit({ team, sets });
  }
}

/** Attacks with work that runs after a call. */
export const jobs: readonly Attack[] = [
  attack({
    name: "models of their own",
    finding: "M5",
    does: "runs with 20 models that no other run has, at the rate limit of the plan",
    run: (attacker) =>
      attacker.pace(RATE.ingest / 2, async (n) => {
        const id = newId("run");
        const calls = events(RUN_MODELS_MAX, (k) => aCall(`p-${n}-${k}`, `m-${n}-${k}`));
        await attacker.post("/v1/heartbeats", { id, agent: "a", customer_id: `c-${n}` });
        await attacker.post(`/v1/runs/${id}/events`, calls);
      }),
  }),
  attack<{ runs: readonly string[] }>({
    name: "late calls of closed runs",
    finding: null,
    does:
      "batches of 20 new models to 2,000 closed runs in turn, each of which is aggregated again",
    async setUp(attacker) {
      const runs = Array.from({ length: 2_000 }, () => newId("run"));
      await attacker.times(runs.length, async (n) => {
        must(await attacker.post("/v1/heartbeats", { id: runs[n], agent: "a" }));
      });
      return { runs };
    },
    run: (attacker, { runs }) =>
      attacker.pace(RATE.ingest, (n) => {
        const calls = events(RUN_MODELS_MAX, (k) => aCall(`p-${n}`, `m-${n}-${k}`));
        return attacker.post(`/v1/runs/${runs[n % runs.length]}/events`, calls);
      }),
  }),
  attack({
    name: "events without a run",
    finding: null,
    does: "one event each for runs that are never opened",
    run: (attacker) =>
      attacker.pace(RATE.ingest, () => attacker.post(`/v1/runs/${newId("run")}/events`, events(1))),
  }),
  attack({
    name: "repricing many providers",
    finding: "H7",
    does: "jobs for one model that 20,000 providers serve",
    setUp: storeManyProviders,
    run: (attacker) => attacker.pace(JOBS, (n) => reprice(attacker, n, { model: "m" })),
  }),
  attack({
    name: "dry runs of repricing",
    finding: null,
    does: "dry runs for models of 8,000 runs, 20 jobs a second",
    setUp: (attacker) => storeRuns(attacker, 8_000),
    run: (attacker) =>
      attacker.pace(
        JOBS,
        (n) => reprice(attacker, n, { model: label(`m${n % 5}`), dry_run: true }),
      ),
  }),
  attack({
    name: "repricing unknown models",
    finding: null,
    does: "jobs for made-up models with the longest names, at the rate limit of the plan",
    run: (attacker) =>
      attacker.pace(RATE.control, (n) => reprice(attacker, n, { model: label(n) }), WAITING_MAX),
  }),
  attack({
    name: "erasures of customers that never were",
    finding: "M4",
    does: "deletions of made-up customers, at the rate limit of the plan",
    run: (attacker) =>
      attacker.pace(
        RATE.control,
        (n) => attacker.send("DELETE", `/v1/customers/made-up-${n}`),
        WAITING_MAX,
      ),
  }),
  attack({
    name: "erasures of many customers",
    finding: "M4",
    does: "deletions of 500 customers with 12 runs each in turn, while more runs of them arrive",
    async setUp(attacker) {
      await attacker.times(6_000, async (n) => {
        must(await attacker.post("/v1/heartbeats", { agent: "a", customer_id: `many-${n % 500}` }));
      });
    },
    async run(attacker) {
      const erase = (n: number) => attacker.send("DELETE", `/v1/customers/many-${n % 500}`);
      const beat = (n: number) =>
        attacker.post("/v1/heartbeats", { agent: "a", customer_id: `many-${n % 500}` });
      await Promise.all([
        attacker.pace(RATE.control, erase, WAITING_MAX),
        attacker.pace(RATE.ingest, beat),
      ]);
    },
  }),
  attack({
    name: "erasures of gone runs",
    finding: "L12",
    does: "deletions of customers with no runs left, only 500 models each in one day's spend",
    fill: fillGone,
    run: (attacker) =>
      attacker.pace(
        10,
        (n) => attacker.send("DELETE", `/v1/customers/gone-${n % REMOVED.customers}`),
      ),
  }),
  attack({
    name: "erasure of the largest customer",
    finding: null,
    does: "deletion of a customer with 6,000 runs while more runs of it arrive",
    async setUp(attacker) {
      await attacker.times(6_000, async () => {
        must(await attacker.post("/v1/heartbeats", { agent: "a", customer_id: "large" }));
      });
    },
    async run(attacker) {
      const beat = { agent: "a", customer_id: "large" };
      await Promise.all([
        attacker.pace(5, () => attacker.send("DELETE", "/v1/customers/large")),
        attacker.pace(RATE.ingest, () => attacker.post("/v1/heartbeats", beat)),
      ]);
    },
  }),
  attack({
    name: "deletions of runs",
    finding: null,
    does: "runs with the largest outputs, each deleted immediately",
    async run(attacker) {
      const output = { text: "o".repeat(500_000) };
      await attacker.pace(RATE.ingest, async () => {
        const id = newId("run");
        await attacker.post("/v1/heartbeats", gzip({ id, agent: "a", output }));
        await attacker.send("DELETE", `/v1/runs/${id}`);
      });
    },
  }),
  attack({
    name: "rates while pricing",
    finding: null,
    does: "the 1,000 largest own rows replaced repeatedly, while calls are priced by them",
    setUp: (attacker) => storeRates(attacker),
    async run(attacker) {
      const put = (n: number) => {
        const body = largestRate(n % RATE_ROWS_MAX, 2 + n);
        return attacker.send("PUT", "/v1/rate-card", { body });
      };
      const call = (n: number) => {
        const calls = events(50, (k) => aCall(label(`p${n + k}`), label(`m${n + k}`)));
        return attacker.post(`/v1/runs/${newId("run")}/events`, calls);
      };
      await Promise.all([
        attacker.pace(RATE.control, put),
        attacker.pace(RATE.ingest, (n) => call(n % 900)),
      ]);
    },
  }),
  attack({
    name: "credentials created, rotated and revoked",
    finding: null,
    does: "keys and ping tokens in a loop, and lists of them",
    run: (attacker) =>
      attacker.pace(RATE.control / 4, async (n) => {
        const created = await attacker.post("/v1/keys", { kind: "api_key", name: label(n, 128) });
        if (created?.status !== 201) return;
        const rotated = await attacker.post(`/v1/keys/${jsonOf(created).id}/rotate`, {});
        if (rotated?.status !== 201) return;
        await attacker.send("DELETE", `/v1/keys/${jsonOf(rotated).id}`);
        await attacker.get("/v1/keys?limit=500");
      }),
  }),
  attack({
    name: "agents archived and back",
    finding: null,
    does: "agents that are archived, renamed, and restored by a run",
    async setUp(attacker) {
      await attacker.times(10, async (n) => {
        must(await attacker.post("/v1/heartbeats", { agent: `agent-${n}` }));
      });
    },
    run: (attacker) =>
      attacker.pace(RATE.ingest, async (n) => {
        const agent = `agent-${n % 10}`;
        const change = { archived: true, name: label(n, 128), notes: label(n, 2_000) };
        await attacker.send("PATCH", `/v1/agents/${agent}`, { body: JSON.stringify(change) });
        await attacker.post("/v1/heartbeats", { agent, started_at: instant() });
      }),
  }),
];
