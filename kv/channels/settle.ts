/**
 * Stores the results of tries, and of reports to owners.
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import {
  afterOutcome,
  afterReport,
  BROKEN_MS,
  type StoredHealth,
  withReport,
} from "../../domain/channels/health.ts";
import type { Claim, ReportClaim } from "../../domain/channels/queue.ts";
import { afterTry, hasEnded, type Outcome, untried } from "../../domain/channels/schedule.ts";
import { keys } from "../base/keys.ts";
import { getEntry, type Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";
import { endedRows, lookRow, queuedRow, wakeRow } from "./delivery_rows.ts";
import { changeChannel } from "./health.ts";
import { earliest } from "./look.ts";
import { type QueueOf, readDeliveries, readQueue } from "./queue_rows.ts";
import { brokenRows, troubleRows } from "./reports.ts";

/** Milliseconds until a channel whose secrets cannot be opened is looked at again. */
const SECRET_LOOK_MS = 3_600_000;

/** Words of the report about a channel whose secrets cannot be opened. */
const NEEDS_SECRET = "its secrets cannot be opened: set them again";

/** The end of a claim. */
interface Ending extends QueueOf {
  /** Name of the claim. */
  readonly name: string;
  readonly nowMs: number;
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

/**
 * Stores the result of a try.
 *
 * @returns the deliveries after it; none if the claim has ended
 */
export async function settle(
  store: Store,
  { name, team, channel, deliveries: claimed }: Claim,
  outcome: Outcome,
  random: number,
): Promise<readonly Delivery[]> {
  const queue = { store, team: team.id, channel: channel.slug };
  const nowMs = outcome.endMs;
  let tried: readonly Delivery[] = [];
  const isStored = await endClaim({ ...queue, name, nowMs }, async (before) => {
    const deliveries = await readDeliveries(queue, claimed.map(({ id }) => id));
    // All get the same time, because joined deliveries are tried again together.
    tried = deliveries.map((delivery) => afterTry(delivery, outcome, random));
    const leader = tried.find(({ id }) => id === claimed[0]?.id);
    // Without a leader, which was removed meanwhile, each is in the queue on its own.
    const queued = leader === undefined ? tried : [leader];
    const health = afterOutcome(before, channel.settings.type, outcome);
    const hasDead = tried.some(({ state }) => state === "dead");
    const reason = health.state === "broken"
      ? `it is broken: ${health.lastError}`
      : hasDead
      ? `a message could not be delivered: ${health.lastError}`
      : null;
    const reported = reason === null ? health : withReport(health, reason, nowMs);
    return {
      health: reported,
      moved: tried,
      sets: [
        ...tried.flatMap((delivery) => endedRows(team.id, delivery)),
        ...queued.flatMap((delivery) => queuedRow(team.id, delivery, false)),
        ...await troubleRows(store, team.id, before, health, nowMs, hasDead),
        ...brokenRows(team.id, channel.slug, before, health, nowMs),
      ],
      deletes: deliveries.flatMap((delivery) => queuedRow(team.id, delivery, false))
        .map(({ key }) => key),
    };
  });
  return isStored ? tried : [];
}

/** Ends a claim without a try. */
export async function release(store: Store, claim: Claim, nowMs: number): Promise<void> {
  await endUntried(store, claim, nowMs, (health) => ({ health }));
}

/** Ends a claim because the secrets of the channel cannot be opened. */
export async function needSecret(store: Store, claim: Claim, nowMs: number): Promise<void> {
  await endUntried(store, claim, nowMs, (health) => ({
    health: health.state === "needs_secret" ? health : withReport(
      { ...health, state: "needs_secret", lastError: NEEDS_SECRET },
      NEEDS_SECRET,
      nowMs,
    ),
    lookAt: nowMs + SECRET_LOOK_MS,
  }));
}

/** Stores the result of a report to the owner. */
export async function settleReport(
  store: Store,
  { name, team, slug }: ReportClaim,
  isSent: boolean,
  nowMs: number,
): Promise<void> {
  const ending = { store, team: team.id, channel: slug, name, nowMs };
  await endClaim(ending, (health) => {
    const end = { health: { ...afterReport(health, isSent, nowMs), claim: null }, leader: null };
    return Promise.resolve(end);
  });
}

/** Ends a claim whose deliveries wait as before. */
async function endUntried(
  store: Store,
  claim: Claim,
  nowMs: number,
  endOf: (health: StoredHealth) => Pick<ClaimEnd, "health" | "lookAt">,
): Promise<void> {
  const { team, channel } = claim;
  const queue = { store, team: team.id, channel: channel.slug };
  await endClaim({ ...queue, name: claim.name, nowMs }, async (before) => {
    const { health, lookAt } = endOf({ ...before, claim: null });
    const deliveries = await readDeliveries(queue, claim.deliveries.map(({ id }) => id));
    const waiting = deliveries.filter((delivery) => !hasEnded(delivery)).map(untried);
    const sets = waiting.map((value) => ({ key: keys.delivery(team.id, value.id), value }));
    return {
      health,
      sets: [...sets, ...await troubleRows(store, team.id, before, health, nowMs)],
      lookAt,
    };
  });
}

/** Commits the end of a claim and files the next look; does nothing if the claim has ended. */
async function endClaim(
  ending: Ending,
  plan: (health: StoredHealth) => Promise<ClaimEnd>,
): Promise<boolean> {
  const { store, team, channel, name, nowMs } = ending;
  return await changeChannel(store, team, channel, async (health) => {
    const { claim } = health;
    if (claim?.name !== name) return { result: false, change: null };
    // Read before the queue: a look that leaves a new delivery to this commit changes the row.
    const lease = await getEntry(store, wakeRow(team, channel, claim.until).key);
    const end = await plan(health);
    const nextMs = end.lookAt ?? await nextLookMs(ending, end);
    const next = nextMs === null ? [] : [lookRow(team, channel, nextMs, nowMs)];
    const isNext = next.some(({ key }) => key[1] === lease.key[1]);
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
  const times = [...others.map(({ at }) => at), ...moved.map(({ nextAt }) => nextAt ?? undefined)];
  const next = earliest(...times);
  const waitMs = health.state === "broken" ? BROKEN_MS : 0;
  const tryMs = next === null ? undefined : Math.max(next + waitMs, health.notBefore);
  return earliest(tryMs, health.report?.at);
}
