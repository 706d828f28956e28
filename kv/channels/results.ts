/**
 * Ends of claimed tries: stores their results, and files the next turn.
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
import type { Channel } from "../../domain/channels/channel.ts";
import type { Team } from "../../domain/teams/team.ts";
import { keys } from "../base/keys.ts";
import { getEntry, type Store } from "../store.ts";
import type { KvSet } from "../writer/group.ts";
import {
  brokenRows,
  changeChannel,
  endedRows,
  NEEDS_SECRET,
  nextRow,
  queuedRow,
  type QueueOf,
  readDeliveries,
  readQueue,
  reportRows,
  troubleRows,
} from "./delivery_rows.ts";

/** A claimed try. */
export interface Claim {
  /** Unique name of the claim. */
  readonly name: string;
  readonly team: Team;
  readonly channel: Channel;
  /** Deliveries to send in one request, in order. */
  readonly deliveries: readonly Delivery[];
}

/** Milliseconds until a channel whose secrets cannot be opened gets its next turn. */
const SECRET_RETRY_MS = 3_600_000;

/** Changes of the end of a claim. */
interface ClaimEnd {
  readonly health: StoredHealth;
  readonly sets?: readonly KvSet[];
  readonly deletes?: readonly Deno.KvKey[];
  /** Deliveries that leave the queue or move in it; absent for none. */
  readonly moved?: readonly Delivery[];
  /** Time of the next turn, unix milliseconds; absent if it follows from the queue. */
  readonly lookAt?: number | undefined;
}

/** Stores the result of a try; returns the deliveries after it, none if the claim has ended. */
export async function storeResult(
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
export async function needSecret(store: Store, claim: Claim, nowMs: number): Promise<void> {
  await endUntried(store, claim, nowMs, (before) => {
    const health: StoredHealth = { ...before, state: "needs_secret", lastError: NEEDS_SECRET };
    const { team, channel: { slug } } = claim;
    return {
      health,
      sets: reportRows(team.id, slug, before, health, nowMs),
      lookAt: nowMs + SECRET_RETRY_MS,
    };
  });
}

/** Ends a claim whose deliveries wait as before. */
export async function endUntried(
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

/** Commits the end of a claim and files the next turn; returns false if the claim has ended. */
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
    // Read before the queue: a turn that leaves a new delivery to this commit changes the row.
    const lease = await getEntry(store, nextRow(kind, team, channel, until, nowMs).key);
    const end = await plan(health);
    const nextMs = end.lookAt ?? await nextDueMs({ store, team, channel }, end);
    const next = nextMs === null
      ? []
      : [nextRow(channelWork(end.health), team, channel, nextMs, nowMs)];
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

/** Returns the time of the next turn of a channel; null if nothing waits. */
async function nextDueMs(
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

/** Returns the earliest time; null for none. */
export function earliest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times);
}
