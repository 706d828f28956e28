/** `/v1/rate-card/reprice`, described. */
import { z } from "zod";
import { ACTIVE_JOBS_MAX } from "../../../domain/core/jobs.ts";
import { repriceBody } from "../../../domain/repricing/body.ts";
import { bodyDescription, type OperationDescription, written } from "../../openapi/describe.ts";
import { count, dollarsField, instantField, jobId, jobState } from "../../openapi/fields.ts";

const job = z.object({
  id: jobId,
  model: z.string(),
  provider: z.string().nullable(),
  from: instantField.nullable(),
  to: instantField.nullable(),
  dry_run: z.boolean(),
  state: jobState
    .describe("`waiting` until the calls stored before it are in the spend."),
  progress: z.number().meta({ minimum: 0, maximum: 1 }),
  runs: count.describe("Runs with such calls looked at."),
  runs_changed: count,
  runs_failed: count.describe("Runs that could not be read; their cost is as it was."),
  llm_calls: count.describe("Calls priced anew."),
  old_cost_usd: dollarsField,
  new_cost_usd: dollarsField,
  difference_usd: z.number().describe("May be negative."),
  created_at: instantField,
  created_by: z.string(),
  finished_at: instantField.nullable(),
}).meta({ id: "RepriceJob" });

const JOB = {
  id: "01KAK7ZJ5V76GRSDBZG2T155Y0",
  model: "claude-haiku-4-5",
  provider: null,
  from: "2026-11-01T00:00:00.000Z",
  to: null,
  dry_run: true,
  state: "done",
  progress: 1,
  runs: 1,
  runs_changed: 1,
  runs_failed: 0,
  llm_calls: 1,
  old_cost_usd: 0.0013,
  new_cost_usd: 0.00104,
  difference_usd: -0.00026,
  created_at: "2026-11-21T12:00:00.000Z",
  created_by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
  finished_at: "2026-11-21T12:00:00.000Z",
};

/** Pricing stored calls anew. */
export const REPRICE_OPERATIONS: readonly OperationDescription[] = [
  {
    method: "POST",
    path: "/v1/rate-card/reprice",
    id: "startReprice",
    tag: "Rate card",
    summary: "Price stored calls anew",
    description: "By the card as it is now: each call to the model, and each heartbeat priced by " +
      "its tokens. It is a job, and the call waits up to 2 seconds for its end. 200 when the " +
      `same job is under way already; 429 when ${ACTIVE_JOBS_MAX} others of the team are.`,
    body: bodyDescription(repriceBody, "RepriceRequest", {
      model: "As the calls named it.",
      provider: "As the calls named it; whoever served it when absent.",
      from: "Runs that started then or later.",
      to: "Runs that started before; later than `from`.",
      dry_run: "`true` says what would change, and changes nothing.",
    }),
    answers: written(job),
    errors: ["missing_field"],
    links: ["getReprice"],
    idempotency: "content",
    example: {
      body: { model: "claude-haiku-4-5", from: "2026-11-01T00:00:00Z", dry_run: true },
      status: 202,
      answer: JOB,
      needs: ["openRun", "appendEvents", "finishRun", "putRate"],
    },
  },
  {
    method: "GET",
    path: "/v1/rate-card/reprice",
    id: "listReprices",
    tag: "Rate card",
    summary: "List repricing jobs",
    description: "Newest first; the last 100 that are done are kept.",
    answers: [{
      status: 200,
      description: "The team's jobs.",
      schema: z.object({ jobs: z.array(job) }).meta({ id: "RepriceJobs" }),
    }],
    errors: [],
    idempotency: "read",
    example: { status: 200, answer: { jobs: [JOB] }, needs: ["startReprice"] },
  },
  {
    method: "GET",
    path: "/v1/rate-card/reprice/:id",
    id: "getReprice",
    tag: "Rate card",
    summary: "Read a repricing job",
    description: "How far it is, and what it came to.",
    pathFields: { id: jobId.describe("The job's id.") },
    answers: [{ status: 200, description: "The job as it is now.", schema: job }],
    errors: ["not_found"],
    idempotency: "read",
    example: { path: { id: JOB.id }, status: 200, answer: JOB, needs: ["startReprice"] },
  },
];
