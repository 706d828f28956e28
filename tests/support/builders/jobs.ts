/** Jobs that teams ask for. */
import { assert } from "@std/assert";

/** What was begun; fails where it was refused. */
export function begun<Outcome extends { readonly kind: string }>(
  outcome: Outcome,
): Exclude<Outcome, { readonly kind: "refused" }> {
  assert(outcome.kind !== "refused", "refused");
  return outcome as Exclude<Outcome, { readonly kind: "refused" }>;
}
