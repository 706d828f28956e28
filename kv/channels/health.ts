/**
 * States of channels' deliveries, and the commits that change them.
 *
 * Each change or removal of a delivery that has not ended also writes the state of its channel. So a
 * check of that one row protects all deliveries of a try, which may be more than a commit can check.
 *
 * @module
 */
import type { ChannelHealth } from "../../domain/channels/channel.ts";
import { NEW_HEALTH, type StoredHealth } from "../../domain/channels/health.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getAll, getEntry, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";

/** A planned change of a channel's deliveries. */
export interface ChannelPlan<Result> {
  readonly result: Result;
  /** Rows to commit; null for none. */
  readonly change: ChannelChange | null;
}

/** Rows of a change. */
export interface ChannelChange extends Pick<Write, "checks" | "sets" | "deletes"> {
  /** New state of the channel's deliveries; null to remove it. */
  readonly health: StoredHealth | null;
}

/** Plans and commits a change of a channel's deliveries; it is planned again after a conflict. */
export function changeChannel<Result>(
  store: Store,
  team: TeamId,
  channel: string,
  plan: (health: StoredHealth) => Promise<ChannelPlan<Result>>,
): Promise<Result> {
  const key = keys.channelHealth(team, channel);
  return untilCommitted("change the deliveries of a channel", async () => {
    const entry = await getEntry(store, key);
    const { result, change } = await plan(healthOf(entry));
    if (change === null) return result;
    const { health, checks = [], sets = [], deletes = [] } = change;
    // Without a row nothing is under way, and the check alone protects this commit.
    const isNone = health === null || health === NEW_HEALTH;
    const version = await store.writer.commit({
      team,
      checks: [entry, ...checks],
      sets: isNone ? sets : [...sets, { key, value: health }],
      deletes: health === null ? [...deletes, key] : deletes,
    });
    return version === null ? LOST : result;
  });
}

/** Returns the state of channels, by slug. */
export async function readHealths(
  store: Store,
  team: TeamId,
  slugs: readonly string[],
): Promise<ReadonlyMap<string, ChannelHealth>> {
  const entries = await getAll(store, slugs.map((slug) => keys.channelHealth(team, slug)));
  return new Map(slugs.map((slug, i) => {
    const { state, lastOkAt, failingSince, lastError } = healthOf(entries[i]);
    return [slug, { state, lastOkAt, failingSince, lastError }];
  }));
}

/** Returns the state in an entry. */
function healthOf(entry: Deno.KvEntryMaybe<unknown> | undefined): StoredHealth {
  return entry?.value as StoredHealth | null | undefined ?? NEW_HEALTH;
}
