/** What works behind the requests, put together: the worker, its stages, its jobs and its doorbell. */
import type { Environment, Mailer, RateCards } from "./domain/ports.ts";
import type { RepriceStore } from "./domain/money/reprice_job.ts";
import type { DeletionStore } from "./domain/retention/deletion.ts";
import { NoticeJob } from "./jobs/notices.ts";
import { STAGE_HANDLERS } from "./jobs/stage_handlers.ts";
import { SweepJob } from "./jobs/sweep.ts";
import { Worker } from "./jobs/worker.ts";
import { createPipelineStore } from "./kv/pipeline/pipeline_store.ts";
import { TeamCommits } from "./kv/pipeline/team_commits.ts";
import { createRepriceStore } from "./kv/reprice/reprice_jobs.ts";
import { createDeletionStore } from "./kv/retention/deletions.ts";
import { createSweepStore } from "./kv/retention/sweep_store.ts";
import type { Store } from "./kv/store.ts";
import { createNoticeStore } from "./kv/teams/notices.ts";

export interface Background {
  readonly worker: Worker;
  /** Not at work yet: it would begin with the present night. */
  readonly sweep: SweepJob;
  readonly reprices: RepriceStore;
  readonly deletions: DeletionStore;
}

/** Builds it and sets the worker to work. Stop all of it before the store closes. */
export function startBackground(
  store: Store,
  rateCards: RateCards,
  { now }: Pick<Environment, "now">,
  log: (line: string) => void,
  mailer: Mailer | null = null,
): Background {
  const commits = new TeamCommits(store);
  const reprices = createRepriceStore(store, rateCards, { now });
  const deletions = createDeletionStore(store, commits, now);
  const worker = new Worker({
    store: createPipelineStore(store, new Set(STAGE_HANDLERS.keys()), now, commits),
    handlers: STAGE_HANDLERS,
    jobs: [reprices, deletions],
    companion: new NoticeJob({ store: createNoticeStore(store), mailer, now, log }),
    now,
    log,
  });
  const sweep = new SweepJob({
    store: createSweepStore(store, commits),
    now,
    calls: () => store.doorbell.rings,
    log,
  });
  store.doorbell.listen(() => worker.wake());
  worker.start();
  return { worker, sweep, reprices, deletions };
}
