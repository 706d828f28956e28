/** What works behind the requests, put together: the worker, its stages, its jobs and its doorbell. */
import type { Environment, RateCards } from "./domain/ports.ts";
import type { RepriceStore } from "./domain/money/reprice_job.ts";
import { STAGE_HANDLERS } from "./jobs/stage_handlers.ts";
import { Worker } from "./jobs/worker.ts";
import { createPipelineStore } from "./kv/pipeline/pipeline_store.ts";
import { createRepriceStore } from "./kv/reprice/reprice_jobs.ts";
import type { Store } from "./kv/store.ts";

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
): Background {
  const reprices = createRepriceStore(store, rateCards, { now });
  const worker = new Worker({
    store: createPipelineStore(store, new Set(STAGE_HANDLERS.keys()), now),
    handlers: STAGE_HANDLERS,
    reprices,
    now,
    log,
  });
  store.doorbell.listen(() => worker.wake());
  worker.start();
  return { worker, reprices };
}
