/** `/v1/rate-card/reprice`: pricing stored calls anew, after a look at what would change. */
import type { Principal } from "../../../domain/teams/credentials.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { type RawJson, rawOf } from "../../../domain/core/raw_json.ts";
import { dollars } from "../../../domain/pricing/money.ts";
import { parseReprice, type RepriceRequest } from "../../../domain/repricing/body.ts";
import { isJobId, type RepriceJob, type RepriceStore } from "../../../domain/repricing/job.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, answerWrite, fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";

/** Milliseconds a caller waits for a job to be done: most are by then, and need no second call. */
const WAIT_MS = 2_000;

export function startReprice(deps: AppDeps): Handle {
  return async (c) => {
    const request = parseReprice(c.get("body"));
    if (!request.ok) return fail(c, request.problem);
    const begun = await beginReprice(deps, c.get("principal"), request.value);
    if (begun.kind === "refused") return fail(c, begun.problem);
    return answerWrite(c, begun.kind, rawOf(jobFields(begun.job)), null);
  };
}

/** Makes a job, or finds the same one under way, and gives it a moment to be done. */
export async function beginReprice(
  { reprices }: Pick<AppDeps, "reprices">,
  { team, credentialId }: Principal,
  { spec, dryRun }: RepriceRequest,
): ReturnType<RepriceStore["create"]> {
  const begun = await reprices.create(team, spec, dryRun, credentialId);
  if (begun.kind === "refused") return begun;
  return { ...begun, job: await reprices.waitUntilDone(team, begun.job, WAIT_MS) };
}

export function getReprice({ reprices }: AppDeps): Handle {
  return async (c) => {
    const id = c.req.param("id") ?? "";
    const job = isJobId(id) ? await reprices.get(c.get("principal").team, id) : null;
    if (job === null) {
      return fail(c, NO_SUCH_JOB);
    }
    return answer(c, 200, rawOf(jobFields(job)));
  };
}

/** The same for an id that never was, one of another team, and one that is kept no longer. */
export const NO_SUCH_JOB: Problem = {
  code: "not_found",
  message: "No such job: list the jobs to see their ids",
};

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
    difference_usd: dollars(sum.after - sum.before),
    created_at: instant(job.createdAt),
    created_by: job.createdBy,
    finished_at: instant(job.finishedAt),
  };
}

function instant(ms: number | null): string | null {
  return ms === null ? null : formatInstant(ms);
}
