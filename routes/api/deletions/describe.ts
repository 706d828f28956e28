/** Deletions, described. */
import { z } from "zod";
import { ACTIVE_JOBS_MAX } from "../../../domain/core/jobs.ts";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { TOMBSTONE_DAYS } from "../../../domain/retention/retention.ts";
import type { OperationDescription } from "../../openapi/describe.ts";
import { count, idOf, instantField, jobId, jobState } from "../../openapi/fields.ts";
import { RUN } from "../runs/describe.ts";

const receipt = z.object({
  id: idOf("run"),
  deleted_at: instantField,
  deleted_by: z.string().describe("Id of the credential that asked."),
  runs: count,
  events: count,
  id_refused_until: instantField.describe("Until then calls under its id are 409."),
}).meta({ id: "DeletedRun" });

const job = z.object({
  id: jobId,
  customer_id: z.string(),
  state: jobState
    .describe("`waiting` until the calls stored before it are summed up."),
  runs: count.describe("Deleted; 0 until it is `done`."),
  runs_failed: count.describe("Runs that could not be read; they are as they were."),
  events: count.describe("Deleted; 0 until it is `done`."),
  spend_days: count.describe("Days of spend that were left of older runs."),
  created_at: instantField,
  created_by: z.string(),
  finished_at: instantField.nullable(),
}).meta({ id: "CustomerDeletion" });

const JOB = {
  id: "01KAK7ZJ5W8F0T2N4B6D8H1K3M",
  customer_id: "acme",
  state: "done",
  runs: 1,
  runs_failed: 0,
  events: 0,
  spend_days: 0,
  created_at: "2026-11-21T12:00:00.000Z",
  created_by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
  finished_at: "2026-11-21T12:00:00.000Z",
};

/** What goes on request. */
export const DELETION_OPERATIONS: readonly OperationDescription[] = [
  {
    method: "DELETE",
    path: "/v1/runs/:id",
    id: "deleteRun",
    tag: "Deletions",
    summary: "Delete a run",
    description:
      "With everything of it, and its share of the spend. What it counted as events of " +
      `the month stays counted. For ${TOMBSTONE_DAYS} days its id is refused, so that a client ` +
      "that still retries brings nothing back; again answers the first receipt.",
    pathFields: { id: idOf("run").describe("The run's id.") },
    answers: [{
      status: 200,
      description: "Deleted, now or before.",
      schema: receipt,
      headers: ["Idempotent-Replayed"],
    }],
    errors: ["invalid_id", "unknown_region", "not_found"],
    idempotency: "target",
    example: {
      path: { id: RUN },
      status: 200,
      answer: {
        id: RUN,
        deleted_at: "2026-11-21T12:00:00.000Z",
        deleted_by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
        runs: 1,
        events: 0,
        id_refused_until: "2026-12-21T12:00:00.000Z",
      },
      needs: ["openRun"],
    },
  },
  {
    method: "DELETE",
    path: "/v1/customers/:customer_id",
    id: "deleteCustomer",
    tag: "Deletions",
    summary: "Delete a customer's runs",
    description: "All of them, and what older ones left in the spend. It is a job, and the call " +
      "waits up to 5 seconds for its end. While one is under way the same call answers that one; " +
      `429 when ${ACTIVE_JOBS_MAX} of other customers are.`,
    pathFields: {
      customer_id: z.string().min(1).max(LABEL_CHARS_MAX)
        .describe("As runs were sent with it, percent-encoded."),
    },
    answers: [
      {
        status: 200,
        description: "Done.",
        schema: job,
        headers: ["Idempotent-Replayed"],
      },
      {
        status: 202,
        description: "Under way: look it up.",
        schema: job,
        headers: ["Idempotent-Replayed"],
      },
    ],
    errors: [],
    links: ["getDeletion"],
    idempotency: "target",
    example: {
      path: { customer_id: "acme" },
      status: 200,
      answer: JOB,
      needs: ["openRun"],
    },
  },
  {
    method: "GET",
    path: "/v1/deletions/:id",
    id: "getDeletion",
    tag: "Deletions",
    summary: "Read a customer's deletion",
    description: "How it stands; its receipt can be read for 30 days.",
    pathFields: { id: jobId.describe("From the answer to the call that began it.") },
    answers: [{ status: 200, description: "The job as it is now.", schema: job }],
    errors: ["not_found"],
    idempotency: "read",
    example: { path: { id: JOB.id }, status: 200, answer: JOB, needs: ["deleteCustomer"] },
  },
];
