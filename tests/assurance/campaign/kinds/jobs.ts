/**
 * Attacks with background work: aggregating, repricing, deleting, and changes with an admin's key.
 */
import { RATE_ROWS_MAX, RUN_MODELS_MAX } from "../../../../domain/core/limits.ts";
import { type Attack, type Attacker, jsonOf, must, RATE } from "../attacker.ts";
import { aCall, events, label, newId } from "../values.ts";
import { largestRate, storeRates } from "./lists.ts";

/** Calls that wait for their job: as many as are sent within the longest wait. */
const WAITING_MAX = 1_200;

/** Jobs requested per second: each is stored and takes several steps. */
const JOBS_PER_SECOND = 20;

/** Requests a repricing from a different instant each time, so that every job is new. */
function reprice(attacker: Attacker, n: number, fields: object) {
  const from = new Date(Date.now() - 86_400_000 - n).toISOString();
  return attacker.post("/v1/rate-card/reprice", { from, ...fields });
}

function beat(attacker: Attacker, customer: number) {
  return attacker.post("/v1/heartbeats", { agent: "a", customer_id: `many-${customer}` });
}

/** Calls of as many models as a run may have. */
function manyCalls(provider: (k: number) => string, model: (k: number) => string) {
  return events(RUN_MODELS_MAX, (k) => aCall(provider(k), model(k)));
}

export const JOBS: readonly Attack[] = [
  {
    name: "late calls of closed runs",
    does: "batches of 20 new models to 2,000 closed runs in turn, which are aggregated again",
    async setUp(attacker) {
      const runs = Array.from({ length: 2_000 }, () => newId("run"));
      await attacker.times(runs.length, async (n) => {
        must(await attacker.post("/v1/heartbeats", { id: runs[n], agent: "a" }));
      });
      return runs;
    },
    run: (attacker, runs) =>
      attacker.pace(RATE.ingest, (n) => {
        const calls = manyCalls(() => `p-${n}`, (k) => `m-${n}-${k}`);
        return attacker.post(`/v1/runs/${runs[n % runs.length]}/events`, calls);
      }),
  },
  {
    name: "repricing many providers",
    does: "jobs for one model that 20,000 providers serve",
    async setUp(attacker) {
      await attacker.times(1_000, async (n) => {
        const id = newId("run");
        const calls = manyCalls((k) => `provider-${n}-${k}`, () => "m");
        must(await attacker.post("/v1/heartbeats", { id, agent: "a" }));
        must(await attacker.post(`/v1/runs/${id}/events`, calls));
      });
      return [];
    },
    run: (attacker) => attacker.pace(JOBS_PER_SECOND, (n) => reprice(attacker, n, { model: "m" })),
  },
  {
    name: "repricing unknown models",
    does: "jobs for made-up models with the longest names, at the rate limit of the plan",
    run: (attacker) =>
      attacker.pace(RATE.control, (n) => reprice(attacker, n, { model: label(n) }), WAITING_MAX),
  },
  {
    name: "erasures of customers that never were",
    does: "deletions of made-up customers, at the rate limit of the plan",
    run(attacker) {
      const erase = (n: number) => attacker.send("DELETE", `/v1/customers/made-up-${n}`);
      return attacker.pace(RATE.control, erase, WAITING_MAX);
    },
  },
  {
    name: "erasures of many customers",
    does: "deletions of 500 customers with 12 runs each in turn, while more runs of them arrive",
    async setUp(attacker) {
      await attacker.times(6_000, async (n) => void must(await beat(attacker, n % 500)));
      return [];
    },
    run(attacker) {
      const erase = (n: number) => attacker.send("DELETE", `/v1/customers/many-${n % 500}`);
      return Promise.all([
        attacker.pace(RATE.control, erase, WAITING_MAX),
        attacker.pace(RATE.ingest, (n) => beat(attacker, n % 500)),
      ]);
    },
  },
  {
    name: "rates while pricing",
    does: "the 1,000 largest own rows replaced repeatedly, while calls are priced by them",
    setUp: (attacker) => storeRates(attacker),
    run(attacker) {
      const put = (n: number) => {
        const body = largestRate(n % RATE_ROWS_MAX, 2 + n);
        return attacker.send("PUT", "/v1/rate-card", { body });
      };
      const call = (n: number) => {
        const calls = events(50, (k) => aCall(label(`p${n + k}`), label(`m${n + k}`)));
        return attacker.post(`/v1/runs/${newId("run")}/events`, calls);
      };
      return Promise.all([
        attacker.pace(RATE.control, put),
        attacker.pace(RATE.ingest, (n) => call(n % 900)),
      ]);
    },
  },
  {
    name: "credentials created, rotated and revoked",
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
  },
];
