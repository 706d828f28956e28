/** `/v1/rate-card/reprice`: pricing stored calls anew, after a look at what would change. */
import { type RawJson, rawOf } from "../domain/input/json.ts";
import { dollars } from "../domain/money/money.ts";
import { parseReprice } from "../domain/money/reprice_body.ts";
import { isJobId, type RepriceJob } from "../domain/money/reprice_job.ts";
import { formatInstant } from "../domain/time.ts";
import { answer, answerWrite, fail } from "./answer.ts";
import type { AppDeps, Handle } from "./context.ts";

/** Milliseconds a caller waits for a job to be done: most are by then, and need no second call. */
const WAIT_MS = 2_000;

export function startReprice({ reprices }: AppDeps): Handle {
  return async (c) => {
    const request = parseReprice(c.get("body"));
    if (!request.ok) return fail(c, request.problem);
    const { team, credentialId } = c.get("principal");
    const { spec, dryRun } = request.value;
    const { kind, job } = await reprices.create(team, spec, dryRun, credentialId);
    const now = await reprices.settled(team, job, WAIT_MS);
    return answerWrite(c, kind, rawOf(jobFields(now)), 0);
  };
}

export function getReprice({ reprices }: AppDeps): Handle {
  return async (c) => {
    const id = c.req.param("id") ?? "";
    const job = isJobId(id) ? await reprices.get(c.get("principal").team, id) : null;
    if (job === null) {
      return fail(c, { code: "not_found", message: "No such job: list the jobs to see their ids" });
    }
    return answer(c, 200, rawOf(jobFields(job)));
  };
}

export function listReprices({ reprices }: AppDeps): Handle {
  return async (c) => {
    const jobs = await reprices.list(c.get("principal").team);
    return answer(c, 200, jobsJson(jobs));
  };
}

function jobsJson(jobs: readonly RepriceJob[]): RawJson {
  return rawOf({ jobs: jobs.map(jobFields) });
}

function jobFields(job: RepriceJob) {
  const { spec, sum } = job;
  return {
    id: job.id,
    model: spec.model,
    provider: spec.provider,
    from: instant(spec.from),
    to: instant(spec.to),
    dry_run: job.dryRun,
    state: job.state,
    progress: job.progress,
    runs: job.runs,
    runs_changed: job.changed,
    runs_failed: job.failed,
    llm_calls: sum.calls,
    old_cost_usd: dollars(sum.before),
    new_cost_usd: dollars(sum.after),
    difference_usd: signedDollars(sum.after - sum.before),
    created_at: instant(job.createdAt),
    created_by: job.createdBy,
    finished_at: instant(job.finishedAt),
  };
}

/** A difference may be negative, which amounts never are. */
function signedDollars(amount: bigint): number {
  return amount < 0n ? -dollars(-amount) : dollars(amount);
}

function instant(ms: number | null): string | null {
  return ms === null ? null : formatInstant(ms);
}
