/** Runs guards. */
import type { Guard, RequestContext } from "./context.ts";

/** Runs the guards in order, starting at index `start`; the first refusal is the response. */
export function runGuards(
  c: RequestContext,
  guards: readonly Guard[],
  start = 0,
): Response | null | Promise<Response | null> {
  for (let next = start; next < guards.length; next++) {
    const verdict = guards[next]?.(c) ?? null;
    if (verdict === null) continue;
    if (!(verdict instanceof Promise)) return verdict;
    return verdict.then((refusal) => refusal ?? runGuards(c, guards, next + 1));
  }
  return null;
}
