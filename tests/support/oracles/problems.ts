/** Refusals of calls, to compare. */
import { type Problem, unlessRefused } from "../../../domain/core/errors.ts";

/** Returns why a call is refused; null if it is not. */
export function problemOf(work: () => unknown): Problem | null {
  return unlessRefused(() => (work(), null), (problem) => problem);
}

/** Returns why asynchronous work is refused; null if it is not. */
export function problemOfAsync(work: Promise<unknown>): Promise<Problem | null> {
  const rethrow = (error: unknown) => {
    throw error;
  };
  return work.then(() => null, (error) => problemOf(() => rethrow(error)));
}
