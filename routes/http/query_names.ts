/** Guard of query parameters: reads refuse unknown and empty ones before accessing the store (R11, R20). */
import { queryProblem } from "../../domain/core/query.ts";
import { fail } from "./answer.ts";
import type { Guard } from "./context.ts";
import { queryOf } from "./query.ts";

/** Refuses unknown parameters, and parameters without a value. */
export function requireQuery(names: readonly string[]): Guard {
  return (c) => {
    const problem = queryProblem(queryOf(c), names);
    return problem === null ? null : fail(c, problem);
  };
}
