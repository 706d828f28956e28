/**
 * Limits concurrent spend queries: each may read many rows, so few run at a time and none for long.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Deadlines } from "../../runtime/deadlines.ts";
import { type Problem, Refused } from "../../domain/core/errors.ts";
import { FairSlots, type SlotLimits } from "../../runtime/fair_slots.ts";
import { SPEND_DEADLINE_MS } from "../../domain/core/limits.ts";
import { ReadScope } from "../../domain/core/read_scope.ts";
import { currentScope, readScopes } from "../base/reads.ts";

/** Concurrent queries. More would not finish sooner and would hold more groups in memory. */
const QUERIES: SlotLimits = { all: 2, team: 1, waiting: 200, teamWaiting: 20 };

/** Problem of a query that exceeded its deadline. */
const TOO_SLOW: Problem = {
  code: "overloaded",
  message: `The query took longer than ${SPEND_DEADLINE_MS} ms: ask for fewer days or by a ` +
    "filter, or retry",
};

/**
 * Creates a function that runs a query in a slot. After the deadline or a disconnect of the client,
 * the next read throws. Each read also takes a read slot and has a read deadline.
 *
 * @param deadlines provides the timers
 */
export function createQueries(
  deadlines: Deadlines,
  deadlineMs: number = SPEND_DEADLINE_MS,
): <T>(team: TeamId, work: () => Promise<T>) => Promise<T> {
  const slots = new FairSlots(QUERIES);
  return async (team, work) => {
    const late = new AbortController();
    const forget = deadlines.after(deadlineMs, () => late.abort());
    const outer = currentScope();
    const signal = outer === null ? late.signal : AbortSignal.any([late.signal, outer.signal]);
    try {
      const release = await slots.take(team, signal);
      try {
        return await readScopes.run(new ReadScope(signal, outer), work);
      } finally {
        release();
      }
    } catch (error) {
      if (late.signal.aborted) throw new Refused(TOO_SLOW);
      throw error;
    } finally {
      forget();
    }
  };
}
