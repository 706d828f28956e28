/**
 * Skips runs that cannot be read, so that one of them does not block the others.
 *
 * @module
 */
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunId } from "../../domain/core/ids.ts";

/**
 * Processes runs together. If that fails, processes each alone, so that only faulty runs are
 * skipped.
 *
 * @returns the number of skipped runs
 * @throws {StorageUnavailable} when the store failed: then no run is at fault
 * @throws {Overloaded} when the queue is full: then no run is at fault
 */
export async function leaveFaulty<Value>(
  runs: ReadonlyMap<RunId, Value>,
  work: (group: ReadonlyMap<RunId, Value>) => Promise<void>,
): Promise<number> {
  try {
    await work(runs);
    return 0;
  } catch (error) {
    if (error instanceof StorageUnavailable || error instanceof Overloaded) throw error;
    if (runs.size === 1) return 1;
    let failed = 0;
    for (const entry of runs) failed += await leaveFaulty(new Map([entry]), work);
    return failed;
  }
}
