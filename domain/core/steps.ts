/**
 * Work in steps, between which other work may have its turn.
 *
 * @module
 */

/** Work in steps, with a result. */
export type Steps<Result> = Generator<void, Result>;

/** Does all steps at once. */
export function complete<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
