/**
 * Sends the messages of channels: claims a try, sends it, and stores its result.
 *
 * @module
 */
import {
  afterOutcome,
  afterTry,
  BROKEN_MS,
  channelWork,
  type Delivery,
  hasEnded,
  type Outcome,
  type StoredHealth,
  untried,
} from "../../domain/channels/delivery.ts";
import type { Sender } from "../../domain/channels/sender.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import { FAILURE_PAUSE_MS } from "../../runtime/loop.ts";
import type { LabeledCounter } from "../../runtime/metrics.ts";
import { keys } from "../base/keys.ts";
import { getEntry, type Store } from "../store.ts";
import type { KvSet } from "../writer/group.ts";
import { type Claim, claimTry, earliest } from "./claim.ts";
import {
  brokenRows,
  changeChannel,
  endedRows,
  lookRow,
  NEEDS_SECRET,
  queuedRow,
  type QueueOf,
  readDeliveries,
  readQueue,
  reportRows,
  troubleRows,
} from "./delivery_rows.ts";
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

/** Milliseconds until a channel whose secrets cannot be opened is looked at again. */
const SECRET_LOOK_MS = 3_600_000;

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

/** Changes of the end of a claim. */
interface ClaimEnd {
  readonly health: StoredHealth;
  readonly sets?: readonly KvSet[];
  readonly deletes?: readonly Deno.KvKey[];
  /** Deliveries that leave the queue or move in it; absent for none. */
  readonly moved?: readonly Delivery[];
  /** Time of the next look, unix milliseconds; absent if it follows from the queue. */
  readonly lookAt?: number | undefined;
}

/** Stores the result of a try; returns the deliveries after it, none if the claim has ended. */
async function storeResult(
  store: Store,
  claim: Claim,
  outcome: Outcome,
  random: number,
): Promise<readonly Delivery[]> {
  const { team: { id: team }, channel } = claim;
  const nowMs = outcome.endMs;
  let tried: readonly Delivery[] = [];
  const isStored = await endClaim(store, claim, nowMs, async (before) => {
    const deliveries = await readClaimed(store, claim);
    // All get the same time, so that they are tried again together.
    tried = deliveries.map((delivery) => afterTry(delivery, outcome, random));
    const health = afterOutcome(before, channel.settings.type, outcome);
    const hasDead = tried.some(({ state }) => state === "dead");
    return {
      health,
      moved: tried,
      sets: [
        ...tried.flatMap((delivery) => [
          ...endedRows(team, delivery),
          ...queuedRow(team, delivery),
        ]),
        ...await troubleRows(store, team, before, health, nowMs, hasDead),
        ...reportRows(team, channel.slug, before, health, nowMs),
        ...brokenRows(team, channel.slug, before, health, nowMs),
      ],
      deletes: deliveries.flatMap((delivery) => queuedRow(team, delivery)).map(({ key }) => key),
    };
  });
  return isStored ? tried : [];
}

/** Ends a claim because the secrets of the channel cannot be opened. */
async function needSecret(store: Store, claim: Claim, nowMs: number): Promise<void> {
  await endUntried(store, claim, nowMs, (before) => {
    const health: StoredHealth = { ...before, state: "needs_secret", lastError: NEEDS_SECRET };
    const { team, channel: { slug } } = claim;
    return {
      health,
      sets: reportRows(team.id, slug, before, health, nowMs),
      lookAt: nowMs + SECRET_LOOK_MS,
    };
  });
}

/** Ends a claim whose deliveries wait as before. */
async function endUntried(
  store: Store,
  claim: Claim,
  nowMs: number,
  endOf: (health: StoredHealth) => Pick<ClaimEnd, "health" | "sets" | "lookAt">,
): Promise<void> {
  const { team: { id: team } } = claim;
  await endClaim(store, claim, nowMs, async (before) => {
    const { health, sets = [], lookAt } = endOf({ ...before, claim: null });
    const waiting = (await readClaimed(store, claim))
      .filter((delivery) => !hasEnded(delivery)).map(untried);
    return {
      health,
      sets: [
        ...sets,
        ...waiting.map((value) => ({ key: keys.delivery(team, value.id), value })),
        ...await troubleRows(store, team, before, health, nowMs),
      ],
      lookAt,
    };
  });
}

function readClaimed(store: Store, { team, deliveries }: Claim): Promise<Delivery[]> {
  return readDeliveries({ store, team: team.id }, deliveries.map(({ id }) => id));
}

/** Commits the end of a claim and files the next look; returns false if the claim has ended. */
async function endClaim(
  store: Store,
  claim: Claim,
  nowMs: number,
  plan: (health: StoredHealth) => Promise<ClaimEnd>,
): Promise<boolean> {
  const [team, channel] = [claim.team.id, claim.channel.slug];
  return await changeChannel(store, team, channel, async (health) => {
    if (health.claim?.name !== claim.name) return { result: false, change: null };
    const { until, kind } = health.claim;
    // Read before the queue: a look that leaves a new delivery to this commit changes the row.
    const lease = await getEntry(store, lookRow(kind, team, channel, until, nowMs).key);
    const end = await plan(health);
    const nextMs = end.lookAt ?? await nextLookMs({ store, team, channel }, end);
    const next = nextMs === null
      ? []
      : [lookRow(channelWork(end.health), team, channel, nextMs, nowMs)];
    const isNext = next.some(({ key }) => key.join() === lease.key.join());
    return {
      result: true,
      change: {
        health: end.health,
        checks: [lease],
        sets: [...end.sets ?? [], ...next],
        deletes: [...end.deletes ?? [], ...isNext ? [] : [lease.key]],
      },
    };
  });
}

/** Returns the time of the next look at a channel; null if nothing waits. */
async function nextLookMs(
  queue: QueueOf,
  { health, moved = [] }: ClaimEnd,
): Promise<number | null> {
  const rows = await readQueue(queue, moved.length + 1);
  const others = rows.filter(({ id }) => !moved.some((delivery) => delivery.id === id));
  const times = [...others.map(({ at }) => at), ...moved.flatMap(({ nextAt }) => nextAt ?? [])];
  const next = earliest(times);
  if (next === null) return null;
  return Math.max(next + (health.state === "broken" ? BROKEN_MS : 0), health.notBefore);
}
