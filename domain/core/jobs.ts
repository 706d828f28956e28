/**
 * Bounds of the jobs that teams ask for: pricing calls again, and deleting customers.
 *
 * @module
 */
import type { Problem } from "./errors.ts";
import { printable } from "./text.ts";

/** Jobs of one kind that a team may have under way. */
export const ACTIVE_JOBS_MAX = 10;

/** Names, each a provider and a model, that one job may look for. */
export const JOB_NAMES_MAX = 1_000;

/** Refuses one job too many. */
export function tooManyJobs(kind: "repricings" | "customer deletions"): Problem {
  return {
    code: "rate_limit",
    message:
      `The team has ${ACTIVE_JOBS_MAX} ${kind} under way: wait until one is done, then retry`,
  };
}

/** Refuses a job over more names than one may look for. */
export function tooManyNames(model: string): Problem {
  return {
    code: "invalid_field",
    message: `Calls to "${
      printable(model)
    }" have more than ${JOB_NAMES_MAX} providers: name one in "provider"`,
    field: "provider",
  };
}
