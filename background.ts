/** What works behind the requests, put together: the worker, its stages, its jobs and its doorbell. */
import type { Environment, Mailer, RateCards } from "./domain/ports.ts";
import type { RepriceStore } from "./domain/money/reprice_job.ts";
import { NoticeJob } from "./jobs/notices.ts";
import { STAGE_HANDLERS } from "./jobs/stage_handlers.ts";
import { Worker } from "./jobs/worker.ts";
import { createPipelineStore } from "./kv/pipeline/pipeline_store.ts";
import { createRepriceStore } from "./kv/reprice/reprice_jobs.ts";
import type { Store } from "./kv/store.ts";
import { createNoticeStore } from "./kv/teams/notices.ts";

export interface Background {
  readonly worker: Worker;
  readonly reprices: RepriceStore;
}

/** Builds it and sets it to work. Stop the worker before the store closes. */
export function startBackground(
  store: Store,
  rateCards: RateCards,
  { now }: Pick<Environment, "now">,
  log: (line: string) => void,
  mailer: Mailer | null = null,
): Background {
  const reprices = createRepriceStore(store, rateCards, { now });
  const worker = new Worker({
    store: createPipelineStore(store, new Set(STAGE_HANDLERS.keys()), now),
    handlers: STAGE_HANDLERS,
    reprices,
    companion: new NoticeJob({ store: createNoticeStore(store), mailer, now, log }),
    now,
    log,
  });
  store.doorbell.listen(() => worker.wake());
  worker.start();
  return { worker, reprices };
}
