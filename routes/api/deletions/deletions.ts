/** `DELETE /v1/runs/{id}`, `DELETE /v1/customers/{customer_id}`, and `GET /v1/deletions/{id}`. */
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { teamKey } from "../../http/access.ts";
import { existing, notFound, type Problem } from "../../../domain/core/errors.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { isText } from "../../../domain/core/rules.ts";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { isJobId } from "../../../domain/repricing/reprice_job.ts";
import {
  type CustomerDeletion,
  type RunDeletion,
  TOMBSTONE_DAYS,
} from "../../../domain/retention/retention.ts";
import { answer, fail, writeHeaders } from "../../http/answer.ts";
import { nameInPath } from "../../http/query.ts";
import { returns } from "../answers.ts";
import { NO_SUCH_RUN } from "../runs/runs.ts";
import { z } from "zod";
import { ACTIVE_JOBS_MAX } from "../../../domain/core/jobs.ts";
import { answered, endpoints } from "../../openapi/describe.ts";
import { idOf, jobId } from "../../openapi/fields.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import * as shape from "../../openapi/wire.ts";

/** Milliseconds to wait for a customer's deletion: most finish in time. */
const WAIT_MS = 5_000;

/** Deletes the run that the path names. */
export async function deleteNamedRun({ deletions }: Pick<AppDeps, "deletions">, c: RequestContext) {
  const id = parseRunId(c.req.param("id") ?? "");
  const { team, credentialId } = c.get("principal");
  return existing(await deletions.deleteRun(team, id, credentialId), NO_SUCH_RUN);
}

const NO_CUSTOMER: Problem = {
  code: "invalid_field",
  message:
    `The path must end in a percent-encoded "customer_id" of 1 to ${LABEL_CHARS_MAX} characters`,
  field: "customer_id",
};

const NO_SUCH_DELETION = notFound(
  "No such deletion: use the id in the response to the DELETE that started it",
);

const deletedRun = shape.object<RunDeletion>("DeletedRun", {
  id: shape.id("run")("run"),
  deleted_at: shape.instant("deletedAt"),
  // A receipt of a call always names its credential.
  deleted_by: shape.text(({ by }) => by as string, "Id of the credential that deleted the run."),
  runs: shape.count(() => 1),
  events: shape.count("events"),
  id_refused_until: shape.instant(
    ({ deletedAt }) => deletedAt + TOMBSTONE_DAYS * DAY_MS,
    "Until then, writes with this id return 409.",
  ),
});

const customerDeletion = shape.object<CustomerDeletion>("CustomerDeletion", {
  id: shape.wire(jobId)("id"),
  customer_id: shape.text("customer"),
  state: shape.jobState(
    "state",
    "`waiting` until calls stored before the job are included in the spend.",
  ),
  runs: shape.count("runs", "Deleted runs; 0 until the job is `done`."),
  runs_failed: shape.count("failed", "Runs that could not be read; they are not deleted."),
  events: shape.count("events", "Deleted events; 0 until the job is `done`."),
  spend_days: shape.count("days", "Deleted days of spend that remained of expired runs."),
  created_at: shape.instant("createdAt"),
  created_by: shape.text("createdBy"),
  finished_at: shape.instant.orNull("finishedAt"),
});

const IN_PROGRESS = "In progress: poll the deletion by its id.";

export const DELETION_ENDPOINTS = endpoints("Deletions", {
  deleteRun: {
    route: "DELETE /v1/runs/:id",
    access: teamKey("admin"),
    handler: async (c, deps) => {
      const { kind, receipt } = await deleteNamedRun(deps, c);
      return answer(c, 200, deletedRun.write(receipt), writeHeaders(kind, null));
    },
    summary: "Delete a run",
    description:
      "Deletes a run with all its data and its share of the spend. Its events still count towards " +
      `the monthly usage. Its id is refused for ${TOMBSTONE_DAYS} days, so that retries of earlier ` +
      "writes cannot recreate it. A repeated deletion returns the first receipt.",
    pathFields: { id: idOf("run").describe("The run's id.") },
    answers: [answered(200, "Deleted, now or previously.", deletedRun, "Idempotent-Replayed")],
    errors: ["invalid_id", "unknown_region", "not_found"],
    idempotency: "target",
  },
  deleteCustomer: {
    route: "DELETE /v1/customers/:customer_id",
    access: teamKey("admin"),
    handler: async (c, { deletions, silentMsMax }, { team, credentialId }) => {
      const customer = nameInPath(c);
      if (customer === "" || !isText(customer, LABEL_CHARS_MAX)) return fail(c, NO_CUSTOMER);
      const outcome = await deletions.deleteCustomer(team, customer, credentialId);
      const waitMs = Math.min(WAIT_MS, silentMsMax);
      const job = await deletions.waitUntilDone(team, outcome.job, waitMs);
      const status = job.state === "done" ? 200 : 202;
      return answer(c, status, customerDeletion.write(job), writeHeaders(outcome.kind, null));
    },
    summary: "Delete a customer's runs",
    description:
      "Deletes all runs of a customer, and the spend that remains of its expired runs. " +
      "Starts a job and waits up to 5 seconds for its completion. A repeated call returns the job " +
      `in progress. Returns 429 when ${ACTIVE_JOBS_MAX} deletions of other customers are in progress.`,
    pathFields: {
      customer_id: z.string().min(1).max(LABEL_CHARS_MAX)
        .describe("The `customer_id` of the runs, percent-encoded."),
    },
    answers: [
      answered(200, "Done.", customerDeletion, "Idempotent-Replayed"),
      answered(202, IN_PROGRESS, customerDeletion, "Idempotent-Replayed"),
    ],
    links: ["getDeletion"],
    idempotency: "target",
  },
  getDeletion: {
    route: "GET /v1/deletions/:id",
    access: teamKey("admin"),
    ...returns("The current state of the job.", customerDeletion, async (c, deps, { team }) => {
      const id = c.req.param("id") ?? "";
      return existing(isJobId(id) ? await deps.deletions.get(team, id) : null, NO_SUCH_DELETION);
    }),
    summary: "Read a customer's deletion",
    description: "Returns the progress and the result of a deletion, for 30 days.",
    pathFields: { id: jobId.describe("The id in the response to the call that started it.") },
    errors: ["not_found"],
  },
});
