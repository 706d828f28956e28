/**
 * Sends the messages of channels: claims a try, sends it, and has its result stored.
 *
 * A channel has one try at a time. The try is claimed in a commit before anything leaves, and its
 * result is stored in another one. If that commit never happens, the claim ends after 60 s, and the
 * same messages are sent again (decision 85).
 *
 * @module
 */
import {
  BROKEN_MS,
  channelWork,
  CLAIM_MS,
  type Delivery,
  ended,
  isBlocked,
  isClaimed,
  planTry,
  RETRY_AFTER_MS_MAX,
  type StoredHealth,
  triedAtOnce,
} from "../../domain/channels/delivery.ts";
import type { Channel } from "../../domain/channels/channel.ts";
import type { Sender } from "../../domain/channels/sender.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import { FAILURE_PAUSE_MS } from "../../runtime/loop.ts";
import type { LabeledCounter } from "../../runtime/metrics.ts";
import { keys } from "../base/keys.ts";
import { getEntry, getMany, newRowName, type Store } from "../store.ts";
import { workKey } from "../work/store.ts";
import type { KvSet } from "../writer/group.ts";
import {
  changeChannel,
  type ChannelChange,
  type ChannelPlan,
  endedRows,
  nextRow,
  queuedRow,
  type QueueOf,
  type QueueRow,
  readDeliveries,
  readQueue,
  readWaits,
} from "./delivery_rows.ts";
import { type Claim, earliest, endUntried, needSecret, storeResult } from "./results.ts";
import type { OpenChannel } from "./seal.ts";

export interface ChannelWorkDeps {
  readonly store: Store;
  readonly sender: Sender;
  readonly open: OpenChannel;
  readonly environment: Pick<Environment, "now" | "random">;
  /** Counts the states of deliveries, after their commits. */
  readonly counts: Pick<LabeledCounter, "count">;
}

/** Times that the result of a try is stored, because the messages are sent again otherwise. */
const STORE_ATTEMPTS = 5;

/** Creates the handlers of channels and of slow ones. */
export function createChannelWork(deps: ChannelWorkDeps): readonly WorkHandler[] {
  return (["channel", "channel_slow"] as const).map((kind) => ({
    kind,
    handle: (rows, _, stopping) => sendNext(deps, rows, stopping),
  }));
}

async function sendNext(
  deps: ChannelWorkDeps,
  rows: readonly Work[],
  stopping: AbortSignal,
): Promise<readonly Work[]> {
  const { store, environment: { now } } = deps;
  for (const row of rows) {
    const queue = { store, team: row.team, channel: row.name };
    const claim = await claimTry(queue, row, now(), (over) => countStates(deps, over));
    if (claim !== null) await send(deps, claim, stopping);
  }
  return [];
}

/** Sends the messages of a claimed try and stores the result. */
async function send(deps: ChannelWorkDeps, claim: Claim, stopping: AbortSignal): Promise<void> {
  const { store, sender, open, environment: { now, random } } = deps;
  const { team, channel, deliveries } = claim;
  const settings = await open(team, channel);
  if (settings === null) return await needSecret(store, claim, now());
  const startMs = now();
  const envelope = {
    team,
    settings,
    id: requestId(deliveries),
    messages: deliveries.map(({ message }) => message),
  };
  const result = await sender.send(envelope, startMs, stopping);
  // A cancelled try says nothing about the receiver: the next process repeats it.
  if (stopping.aborted && result.verdict === "retry") {
    return await endUntried(store, claim, now(), (health) => ({ health }));
  }
  for (let attempt = 1;; attempt++) {
    try {
      const outcome = { startMs, endMs: now(), result };
      return countStates(deps, await storeResult(store, claim, outcome, fraction(random)));
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || attempt === STORE_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, FAILURE_PAUSE_MS));
    }
  }
}

/** Counts the states of deliveries. */
export function countStates(
  { counts }: Pick<ChannelWorkDeps, "counts">,
  deliveries: readonly Pick<Delivery, "channelType" | "state">[],
): void {
  for (const { channelType, state } of deliveries) {
    counts.count({ channel_type: channelType, outcome: state });
  }
}

/** Returns a random number from 0 (inclusive) to 1 (exclusive). */
function fraction(random: Environment["random"]): number {
  return new DataView(random(4).buffer).getUint32(0) / 2 ** 32;
}

/**
 * Returns the id of a request: its delivery's. A repeat may have further messages, which a receiver
 * must not drop with the repeated ones, so the id of several names the first, the last and the count.
 */
function requestId(deliveries: readonly Delivery[]): string {
  const [first, last] = [deliveries[0]?.id ?? "", deliveries.at(-1)?.id ?? ""];
  return deliveries.length === 1 ? first : `${first}.${deliveries.length}.${last}`;
}

/** First rows of a queue that one turn reads in addition to those that one try sends. */
const ROWS_BEHIND = 10;

/** Deliveries that one commit ends: it fits the largest ones. */
const ENDED_PER_COMMIT = 20;

/** One turn. */
interface ClaimAttempt extends QueueOf {
  readonly nowMs: number;
  readonly health: StoredHealth;
  /** The row that caused it. */
  readonly row: Work;
  readonly due: Deno.KvEntryMaybe<unknown>;
}

interface Planned extends ChannelPlan<Claim | null> {
  /** Deliveries that end without a try. */
  readonly ended?: readonly Delivery[];
}

/**
 * Claims the next try of a channel; null if none is due.
 *
 * @param onEnded called with the deliveries that have ended without a try
 */
async function claimTry(
  { store, team, channel }: QueueOf,
  row: Work,
  nowMs: number,
  onEnded: (deliveries: readonly Delivery[]) => void,
): Promise<Claim | null> {
  let endedNow: readonly Delivery[] = [];
  const claim = await changeChannel<Claim | null>(store, team, channel, async (health) => {
    // Read before the queue: a delivery that is added meanwhile changes or adds a row.
    const due = await getEntry(store, workKey(row));
    endedNow = [];
    if (due.versionstamp === null) return { result: null, change: null };
    const planned = await plan({ store, team, channel, nowMs, health, row, due });
    endedNow = planned.ended ?? [];
    return planned;
  });
  onEnded(endedNow);
  return claim;
}

async function plan(attempt: ClaimAttempt): Promise<Planned> {
  const { store, health, nowMs, team: id, channel: slug } = attempt;
  if (health.claim !== null && isClaimed(health, nowMs)) {
    return nothing(attempt, health.claim.until);
  }
  const [teamEntry, configEntry] = await getMany(store, [
    keys.team(id),
    keys.configObject(id, "channel", slug),
  ]);
  const team = teamEntry?.value as Team | null;
  const channel = configEntry?.value as Channel | null;
  if (team === null || channel === null || !channel.settings.enabled) {
    const rows = await readQueue(attempt, ENDED_PER_COMMIT);
    const isLast = rows.length < ENDED_PER_COMMIT;
    return await planEnd(attempt, rows, "cancelled", isLast, channel === null);
  }
  if (isBlocked(health)) {
    const rows = await readQueue(attempt, ENDED_PER_COMMIT);
    const overdue = rows.filter(({ at }) => at + BROKEN_MS <= nowMs);
    if (overdue.length > 0) return await planEnd(attempt, overdue, "dead", false, false);
    const [first] = rows;
    if (health.state === "broken") {
      return nothing(attempt, first === undefined ? null : first.at + BROKEN_MS);
    }
  }
  return await planClaim(attempt, team, channel);
}

/** Plans the end of waiting deliveries without a try. */
async function planEnd(
  attempt: ClaimAttempt,
  rows: readonly QueueRow[],
  state: "cancelled" | "dead",
  isLast: boolean,
  isDeleted: boolean,
): Promise<Planned> {
  const { team, nowMs, health } = attempt;
  const deliveries = await readDeliveries(attempt, rows.map(({ id }) => id));
  const over = deliveries.map((delivery) => ended(delivery, state));
  const after = isLast && isDeleted ? null : { ...health, claim: null };
  return {
    result: null,
    ended: over,
    change: changed(attempt, isLast ? null : nowMs, after, {
      sets: over.flatMap((delivery) => endedRows(team, delivery)),
      deletes: rows.map(({ key }) => key),
    }),
  };
}

/** Claims the next try, if one is due. */
async function planClaim(attempt: ClaimAttempt, team: Team, channel: Channel): Promise<Planned> {
  const { health, nowMs, row } = attempt;
  const { notBefore } = health;
  // A longer pause was set before the clock was set back.
  if (notBefore > nowMs && notBefore <= nowMs + RETRY_AFTER_MS_MAX) {
    return nothing(attempt, notBefore);
  }
  const max = triedAtOnce(channel.settings.type);
  const rows = await readQueue(attempt, max + ROWS_BEHIND);
  const { group, moved } = planTry(rows, await readWaits(attempt, rows, nowMs), max, nowMs);
  // The row said that the channel is not slow: another one waits for a slot of slow channels.
  if (group.length > 0 && row.kind !== channelWork(health)) return nothing(attempt, nowMs);
  const [deliveries, later] = await Promise.all([
    readDeliveries(attempt, group),
    readDeliveries(attempt, [...moved.keys()]),
  ]);
  const movedRows = later.map((delivery) => ({
    ...delivery,
    nextAt: moved.get(delivery.id) ?? delivery.nextAt,
  }));
  const claimed = new Set(deliveries.map(({ id }) => id));
  // A row whose delivery was removed is removed too; that of a claimed one stays until the result.
  const isLeft = ({ id }: QueueRow) => moved.has(id) || (group.includes(id) && !claimed.has(id));
  const rest = {
    sets: movedRows.flatMap((value) => [
      { key: keys.delivery(team.id, value.id), value },
      ...queuedRow(team.id, value),
    ]),
    deletes: rows.filter(isLeft).map(({ key }) => key),
  };
  if (deliveries.length === 0) {
    const waiting = rows.filter(({ id }) => !group.includes(id))
      .map(({ id, at }) => moved.get(id) ?? at);
    // After messages that wait for others there may be ones that are due.
    const isMore = group.length > 0 || (moved.size > 0 && rows.length === max + ROWS_BEHIND);
    const nextMs = isMore ? nowMs : earliest(waiting);
    return { result: null, change: changed(attempt, nextMs, { ...health, claim: null }, rest) };
  }
  const claim = { name: newRowName(), until: nowMs + CLAIM_MS, kind: channelWork(health) };
  const sending = deliveries.map((delivery): Delivery => (
    { ...delivery, state: "sending", leaseUntil: claim.until }
  ));
  return {
    result: { name: claim.name, team, channel, deliveries: sending },
    change: changed(attempt, claim.until, { ...health, claim }, {
      sets: [
        ...rest.sets,
        ...sending.map((value) => ({ key: keys.delivery(team.id, value.id), value })),
      ],
      deletes: rest.deletes,
    }),
  };
}

/** Returns a turn that finds nothing to do before a time; null for never. */
function nothing(attempt: ClaimAttempt, nextMs: number | null): Planned {
  return { result: null, change: changed(attempt, nextMs, attempt.health) };
}

interface Rows {
  readonly sets: readonly KvSet[];
  readonly deletes: readonly Deno.KvKey[];
}

/** Returns the change that replaces the row by one at the next turn; null for none. */
function changed(
  { team, channel, due, nowMs, health: before }: ClaimAttempt,
  nextMs: number | null,
  health: StoredHealth | null,
  { sets, deletes }: Rows = { sets: [], deletes: [] },
): ChannelChange {
  const next = nextMs === null
    ? []
    : [nextRow(channelWork(health ?? before), team, channel, nextMs, nowMs)];
  const isNext = next.some(({ key }) => key.join() === due.key.join());
  return {
    health,
    checks: [due],
    sets: [...sets, ...next],
    deletes: [...deletes, ...isNext ? [] : [due.key]],
  };
}
