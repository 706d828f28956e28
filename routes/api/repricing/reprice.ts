/** `/v1/rate-card/reprice`: repricing stored calls, after a dry run. */
import type { AppDeps } from "../../http/context.ts";
import { teamKey } from "../../http/access.ts";
import type { Principal } from "../../../domain/teams/credentials.ts";
import { existing, notFound } from "../../../domain/core/errors.ts";
import {
  isJobId,
  parseReprice,
  repriceBody,
  type RepriceJob,
  type RepriceRequest,
} from "../../../domain/repricing/reprice_job.ts";
import { answerWrite } from "../../http/answer.ts";
import { z } from "zod";
import { ACTIVE_JOBS_MAX } from "../../../domain/core/jobs.ts";
import { endpoints, written } from "../../openapi/describe.ts";
import { jobId } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { returns } from "../answers.ts";
import type { RepriceStore } from "../../../kv/repricing/reprice_work.ts";

/** Milliseconds to wait for a job: most finish in time, so that clients need no second call. */
const WAIT_MS = 2_000;

/** Creates a job, or finds the same one in progress, and waits briefly for its completion. */
export async function beginReprice(
  { reprices }: Pick<AppDeps, "reprices">,
  { team, credentialId }: Principal,
  { spec, dryRun }: RepriceRequest,
): ReturnType<RepriceStore["create"]> {
  const { kind, job } = await reprices.create(team, spec, dryRun, credentialId);
  return { kind, job: await reprices.waitUntilDone(team, job, WAIT_MS) };
}

/** The same error for an unknown id, an id of another team, and an expired id. */
export const NO_SUCH_JOB = notFound("No such job: list the jobs to see their ids");

const repriceJob = shape.object<RepriceJob>("RepriceJob", {
  id: shape.wire(jobId)("id"),
  model: shape.text(({ spec }) => spec.model),
  provider: shape.text.orNull(({ spec }) => spec.provider),
  from: shape.instant.orNull(({ spec }) => spec.from),
  to: shape.instant.orNull(({ spec }) => spec.to),
  dry_run: shape.boolean("dryRun"),
  state: shape.jobState(
    "state",
    "`waiting` until calls stored before the job are included in the spend.",
  ),
  progress: shape.wire(z.number().meta({ minimum: 0, maximum: 1 }))("progress"),
  runs: shape.count("runs", "Runs with matching calls processed so far."),
  runs_changed: shape.count("changed"),
  runs_failed: shape.count("failed", "Runs that could not be read; their cost is unchanged."),
  llm_calls: shape.count(({ sum }) => sum.calls, "Repriced calls."),
  old_cost_usd: shape.dollars(({ sum }) => sum.before),
  new_cost_usd: shape.dollars(({ sum }) => sum.after),
  difference_usd: shape.wire(z.number(), shape.dollars.write)(
    ({ sum }) => sum.after - sum.before,
    "May be negative.",
  ),
  created_at: shape.instant("createdAt"),
  created_by: shape.text("createdBy"),
  finished_at: shape.instant.orNull("finishedAt"),
});

const repriceJobs = shape.object<{ readonly jobs: readonly RepriceJob[] }>("RepriceJobs", {
  jobs: shape.list(repriceJob)("jobs"),
});

/** Repricing endpoints. */
export const REPRICE_ENDPOINTS = endpoints("Rate card", {
  startReprice: {
    route: "POST /v1/rate-card/reprice",
    access: teamKey("admin"),
    handler: async (c, deps) => {
      const request = parseReprice(c.get("body"));
      const outcome = await beginReprice(deps, c.get("principal"), request);
      return answerWrite(c, outcome.kind, repriceJob.write(outcome.job), null);
    },
    summary: "Reprice stored calls",
    description: "Applies the current rate card to each call of the model, and to each heartbeat " +
      "priced by its tokens. Starts a job and waits up to 2 seconds for its completion. Returns " +
      `200 when the same job is already in progress, and 429 when ${ACTIVE_JOBS_MAX} other jobs ` +
      "of the team are.",
    body: repriceBody.meta({ id: "RepriceRequest" }),
    answers: written(repriceJob),
    errors: ["missing_field"],
    links: ["getReprice"],
    idempotency: "content",
  },
  listReprices: {
    route: "GET /v1/rate-card/reprice",
    access: teamKey("admin"),
    ...returns("The team's jobs.", repriceJobs, async (_, { reprices }, { team }) => ({
      jobs: await reprices.list(team),
    })),
    summary: "List repricing jobs",
    description: "Newest first; the last 100 completed jobs are kept.",
  },
  getReprice: {
    route: "GET /v1/rate-card/reprice/:id",
    access: teamKey("admin"),
    ...returns("The current state of the job.", repriceJob, async (c, { reprices }, { team }) => {
      const id = c.req.param("id") ?? "";
      return existing(isJobId(id) ? await reprices.get(team, id) : null, NO_SUCH_JOB);
    }),
    summary: "Read a repricing job",
    description: "Returns the progress of the job, and its result.",
    pathFields: { id: jobId.describe("The job's id.") },
    errors: ["not_found"],
  },
});
