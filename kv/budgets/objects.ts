/**
 * Stores budgets and pauses.
 *
 * @module
 */
import type { ConfigStore, ObjectKind } from "../../domain/config/objects.ts";
import { createConfigStore } from "../config/object_store.ts";
import type { ObjectDeps } from "../team/team_rows.ts";
import type { RunGuard } from "./guard.ts";

/** Creates the store of a kind that the guard judges by: it learns of a change before the answer. */
export function createGuardedStore<Settings>(
  deps: ObjectDeps,
  guard: RunGuard,
  of: ObjectKind<Settings>,
): ConfigStore<Settings> {
  const objects = createConfigStore<Settings>(deps, of);
  return {
    ...objects,
    async put(team, ...rest) {
      const put = await objects.put(team, ...rest);
      await guard.reload(team.id);
      return put;
    },
    async remove(team, ...rest) {
      const removed = await objects.remove(team, ...rest);
      await guard.reload(team.id);
      return removed;
    },
  };
}
