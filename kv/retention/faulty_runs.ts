/**
 * Leaving out runs that cannot be read, so that one of them does not hold up all others.
 *
 * @module
 */
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunId } from "../../domain/core/ids.ts";

/**
 * Works on runs together; where that fails, on each alone, so that only those at fault stay as they are.
 *
 * @returns how many those are
 * @throws {StorageUnavailable} when the store failed: then no run is at fault
 * @throws {Overloaded} when too much waits; no run is at fault either
 */
export async function leaveFaulty<Found>(
  runs: ReadonlyMap<RunId, Found>,
  work: (some: ReadonlyMap<RunId, Found>) => Promise<void>,
): Promise<number> {
  try {
    await work(runs);
    return 0;
  } catch (error) {
    if (error instanceof StorageUnavailable || error instanceof Overloaded) throw error;
    if (runs.size === 1) return 1;
    let failed = 0;
    for (const one of runs) failed += await leaveFaulty(new Map([one]), work);
    return failed;
  }
}
