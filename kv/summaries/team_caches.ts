/**
 * Caches of a team's rows that are current under one version of its roll-ups.
 *
 * @module
 */
import type { Making } from "../../domain/alerts/notify.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { ActivityCache } from "../agents/agents.ts";
import { planAlerts } from "../alerts/fold.ts";
import type { AlertDeps } from "../alerts/session.ts";
import { AlertCache } from "../alerts/state.ts";
import { RollupCache } from "../spend/rollup_cache.ts";
import type { Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";

/** First parts of the keys of rows that the cache of configurations holds, but for counts of results. */
const CONFIG_ROWS: ReadonlySet<Deno.KvKeyPart> = new Set(["config", "alert", "alert_state"]);

/** Caches that all commits of a process share. */
export interface TeamCaches {
  readonly store: Store;
  readonly rollups: RollupCache;
  readonly agents: ActivityCache;
  /** What teams have configured, and their alerts. */
  readonly configs: AlertCache;
  /** Null if runs change without alerts. */
  readonly alerts: (AlertDeps & { readonly cache: AlertCache }) | null;
}

/**
 * Creates empty caches.
 *
 * @param making time and identifiers of incidents; null to change runs without alerts
 */
export function createTeamCaches(store: Store, making: (() => Making) | null): TeamCaches {
  const configs = new AlertCache(store);
  return {
    store,
    configs,
    rollups: new RollupCache(store),
    agents: new ActivityCache(store),
    alerts: making && { store, making, cache: configs },
  };
}

/** Rows of alerts in a commit that changes none. */
export const NO_ALERTS: Awaited<ReturnType<typeof planAlerts>> = {
  sets: [],
  deletes: [],
  counted: new Set(),
  remember: () => {},
};

/** Drops what is cached of a team's configuration, if a commit changed its rows in another way. */
export function forgetChanged(
  { configs }: TeamCaches,
  team: TeamId,
  sets: readonly KvSet[],
  deletes: readonly Deno.KvKey[],
): void {
  const isCached = (key: Deno.KvKey) => CONFIG_ROWS.has(key[0] as Deno.KvKeyPart);
  if (sets.some(({ key }) => isCached(key)) || deletes.some(isCached)) configs.forget(team);
}
