/** `DELETE /v1/runs/{id}`, `DELETE /v1/customers/{customer_id}`, and how the latter stands. */
import type { Parsed, Problem } from "../../../domain/core/errors.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { isText } from "../../../domain/core/rules.ts";
import { LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { isJobId } from "../../../domain/repricing/job.ts";
import type {
  CustomerDeletion,
  DeletionStore,
  RunDeletion,
} from "../../../domain/retention/deletion.ts";
import { TOMBSTONE_DAYS } from "../../../domain/retention/retention.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, fail, writeHeaders } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { lastPartOf } from "../../http/query.ts";
import { NO_SUCH_RUN } from "../runs/runs.ts";

/** Milliseconds a caller waits for a customer's runs to be gone: most are by then. */
const WAIT_MS = 5_000;

const DAY_MS = 86_400_000;

export function handleDeleteRun(deps: AppDeps): Handle {
  return async (c) => {
    const deleted = await deleteNamedRun(deps, c);
    if (!deleted.ok) return fail(c, deleted.problem);
    const { kind, receipt } = deleted.value;
    return answer(c, 200, rawOf(receiptFields(receipt)), writeHeaders(kind, null));
  };
}

/** Deletes the run that the path names, for whoever asks. */
export async function deleteNamedRun(
  { deletions }: Pick<AppDeps, "deletions">,
  c: RequestContext,
): Promise<Parsed<NonNullable<Awaited<ReturnType<DeletionStore["deleteRun"]>>>>> {
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return id;
  const { team, credentialId } = c.get("principal");
  const deleted = await deletions.deleteRun(team, id.value, credentialId);
  return deleted === null ? { ok: false, problem: NO_SUCH_RUN } : { ok: true, value: deleted };
}

export function deleteCustomer({ deletions }: AppDeps): Handle {
  return async (c) => {
    const customer = lastPartOf(c);
    if (customer === "" || !isText(customer, LABEL_CHARS_MAX)) return fail(c, NO_CUSTOMER);
    const { team, credentialId } = c.get("principal");
    const begun = await deletions.deleteCustomer(team, customer, credentialId);
    if (begun.kind === "refused") return fail(c, begun.problem);
    const now = await deletions.waitUntilDone(team, begun.job, WAIT_MS);
    const status = now.state === "done" ? 200 : 202;
    return answer(c, status, rawOf(jobFields(now)), writeHeaders(begun.kind, null));
  };
}

export function getDeletion({ deletions }: AppDeps): Handle {
  return async (c) => {
    const id = c.req.param("id") ?? "";
    const job = isJobId(id) ? await deletions.get(c.get("principal").team, id) : null;
    return job === null ? fail(c, NO_SUCH_DELETION) : answer(c, 200, rawOf(jobFields(job)));
  };
}

const NO_CUSTOMER: Problem = {
  code: "invalid_field",
  message:
    `The path must end in a "customer_id" of 1 to ${LABEL_CHARS_MAX} characters, URL-encoded`,
  field: "customer_id",
};

const NO_SUCH_DELETION: Problem = {
  code: "not_found",
  message: "No such deletion: its id is in the answer to the DELETE that began it",
};

function receiptFields({ run, deletedAt, by, events }: RunDeletion) {
  return {
    id: run,
    deleted_at: formatInstant(deletedAt),
    deleted_by: by,
    runs: 1,
    events,
    id_refused_until: formatInstant(deletedAt + TOMBSTONE_DAYS * DAY_MS),
  };
}

function jobFields(job: CustomerDeletion) {
  return {
    id: job.id,
    customer_id: job.customer,
    state: job.state,
    runs: job.runs,
    runs_failed: job.failed,
    events: job.events,
    spend_days: job.days,
    created_at: formatInstant(job.createdAt),
    created_by: job.createdBy,
    finished_at: job.finishedAt === null ? null : formatInstant(job.finishedAt),
  };
}
