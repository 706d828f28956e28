/** Jobs that teams request. */
import { assert } from "@std/assert";

/** Returns a started job; fails if it was refused. */
export function startedJob<Outcome extends { readonly kind: string }>(
  outcome: Outcome,
): Exclude<Outcome, { readonly kind: "refused" }> {
  assert(outcome.kind !== "refused", "refused");
  return outcome as Exclude<Outcome, { readonly kind: "refused" }>;
}
