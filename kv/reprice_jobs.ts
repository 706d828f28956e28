/**
 * Jobs that price calls anew.
 *
 * Each step of a job is one commit: the new prices of some runs together with how far the job has come
 * and what it came to. So a job goes on where a killed process left it, and counts every call once.
 *
 * @module
 */
import type { Team, TeamId } from "../domain/credentials.ts";
import { isSameJob, newJob, type RepriceJob, type RepriceStore } from "../domain/reprice_job.ts";
import type { Environment, RateCards } from "../domain/ports.ts";
import { keys } from "./keys.ts";
import { newName } from "./names.ts";
import { RepriceWork } from "./reprice_work.ts";
import { getMany, listAll, type Store } from "./store.ts";

/** Jobs kept of a team. */
const JOBS_KEPT_MAX = 100;

/** Creates the store of jobs. */
export function createRepriceStore(
  store: Store,
  cards: RateCards,
  environment: Pick<Environment, "now">,
): RepriceStore {
  const work = new RepriceWork(store, cards, environment.now);

  async function list(team: Team): Promise<RepriceJob[]> {
    const entries = await listAll(store, keys.repriceJobs(team.id));
    return entries.map(({ value }) => value as RepriceJob).reverse();
  }

  return {
    list,
    get: (team, id) => readJob(store, team.id, id),
    work: () => work.some(),
    settled: (team, job, ms) => work.settled(team.id, job, ms),
    async create(team, spec, dryRun, by) {
      const jobs = await list(team);
      const same = jobs.find((job) => isSameJob(job, spec, dryRun));
      if (same !== undefined) return { kind: "replayed", job: same };
      const job = newJob(newName(), spec, dryRun, by, environment.now());
      const old = jobs.filter(({ state }) => state === "done").slice(JOBS_KEPT_MAX - 1);
      await store.writer.commit({
        team: team.id,
        sets: [
          { key: keys.repriceJob(team.id, job.id), value: job },
          { key: keys.activeReprice(team.id, job.id), value: true },
        ],
        deletes: old.map(({ id }) => keys.repriceJob(team.id, id)),
      });
      store.doorbell.ring();
      return { kind: "stored", job };
    },
  };
}

async function readJob(store: Store, team: TeamId, id: string): Promise<RepriceJob | null> {
  const [entry] = await getMany(store, [keys.repriceJob(team, id)]);
  return (entry?.value ?? null) as RepriceJob | null;
}
