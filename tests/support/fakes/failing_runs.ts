/** A store of runs that rejects every call. */
import type { RunStore } from "../../../domain/runs/run_store.ts";

export function failingRuns(error: Error): RunStore {
  const fail = () => Promise.reject(error);
  return { open: fail, append: fail, finish: fail, heartbeat: fail, ping: fail, find: fail };
}
