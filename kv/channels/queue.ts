/**
 * The queue of deliveries of all teams.
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { DeliveryCount, DeliveryQueue, DueChannel } from "../../domain/channels/queue.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keyParts, keys } from "../base/keys.ts";
import { groupsOf } from "../base/groups.ts";
import { getAll, listRows, type Store } from "../store.ts";
import { FairQueue } from "../../runtime/fair_queue.ts";
import { wakeRow } from "./delivery_rows.ts";
import { lookAt } from "./look.ts";
import { needSecret, release, settle, settleReport } from "./settle.ts";

/** Dependencies of the queue. */
export interface QueueDeps {
  readonly store: Store;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Called after the commit of a new state of a delivery. */
  readonly onChanged: (count: DeliveryCount) => void;
}

/** Due rows that one read returns. */
const DUE_ROWS_MAX = 500;

/** Creates the queue. */
export function createDeliveryQueue({ store, random, onChanged }: QueueDeps): DeliveryQueue {
  const count = (deliveries: readonly Delivery[]) => {
    for (const { channelType, state } of deliveries) onChanged({ type: channelType, state });
  };
  return {
    due: (nowMs, max) => dueChannels(store, nowMs, max),
    nextDueMs: () => nextDeliveryMs(store),
    look: (due, nowMs, canBeSlow) => lookAt({ store, ...due }, due, { nowMs, canBeSlow }, count),
    postpone: (due, untilMs) => postpone(store, due, untilMs),
    settle: async (claim, outcome) => count(await settle(store, claim, outcome, random())),
    release: (claim, nowMs) => release(store, claim, nowMs),
    needSecret: (claim, nowMs) => needSecret(store, claim, nowMs),
    settleReport: (claim, isSent, nowMs) => settleReport(store, claim, isSent, nowMs),
  };
}

/** Returns the time of the next due row, unix milliseconds; null if there is none. */
export async function nextDeliveryMs(store: Store): Promise<number | null> {
  const [row] = await listRows(store, { prefix: keys.dueChannels() }, { limit: 1 });
  return row === undefined ? null : keyParts.dueMs(row.key);
}

/** Returns channels that are due, by turns of their teams. */
async function dueChannels(store: Store, nowMs: number, max: number): Promise<DueChannel[]> {
  const range = keys.dueChannelsTo(nowMs);
  const rows = await listRows(store, range, { limit: DUE_ROWS_MAX });
  const channels = new Map<string, { team: TeamId; channel: string; times: number[] }>();
  for (const { key } of rows) {
    const [team, channel] = [keyParts.dueTeam(key), keyParts.id(key)];
    const name = `${team} ${channel}`;
    const due = channels.get(name) ?? { team, channel, times: [] };
    due.times.push(keyParts.dueMs(key));
    channels.set(name, due);
  }
  const lanes = new FairQueue<DueChannel>();
  for (const due of channels.values()) lanes.push(due.team, due);
  const taken: DueChannel[] = [];
  lanes.take((due) => taken.length < max && taken.push(due) > 0);
  return taken;
}

/** Replaces due rows by a later one. A row that changed meanwhile stays, and is due again. */
async function postpone(
  store: Store,
  { team, channel, times }: DueChannel,
  untilMs: number,
): Promise<void> {
  const entries = await getAll(store, times.map((at) => keys.dueChannel(at, team, channel)));
  const next = wakeRow(team, channel, untilMs);
  const present = entries.filter(({ versionstamp }) => versionstamp !== null);
  for (const checks of groupsOf(present, store.limits.checks)) {
    await store.writer.commit({
      team,
      checks,
      sets: [next],
      deletes: checks.map(({ key }) => key),
    });
  }
}
