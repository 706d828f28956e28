/**
 * Rows of deliveries and of the queues of channels, states of channels, and the commits that change
 * them.
 *
 * A delivery that waits has a row in its channel's queue, and a due row wakes the channel. So a
 * channel with many waiting deliveries costs other channels nothing. Due rows of one channel within
 * `WAKE_STEP_MS` are one row.
 *
 * Each change or removal of a delivery that has not ended also writes the state of its channel. So a
 * check of that one row protects all deliveries of a try, which may be more than a commit can check.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import {
  type ChannelWork,
  type Delivery,
  DELIVERY_DAYS,
  hasEnded,
  isBlocked,
  NEW_HEALTH,
  nextStep,
  type QueueEntry,
  type StoredHealth,
  WAKE_STEP_MS,
} from "../../domain/channels/delivery.ts";
import type { ChannelHealth } from "../../domain/channels/channel.ts";
import { DAY_MS, formatInstantOrNull } from "../../domain/core/time.ts";
import { keyParts, keys } from "../base/keys.ts";
import { workSet } from "../work/store.ts";
import type { KvSet, Write } from "../writer/group.ts";
import { findEntry, getAll, getEntry, getValue, listRows, type Store } from "../store.ts";
import type { IncidentFacts } from "../../domain/channels/message.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { SERVICE_ACTOR } from "../../domain/teams/audit_log.ts";
import { readConfig } from "../config/objects.ts";
import { auditRows } from "../teams/audit_log.ts";

/** Immutable fields of a delivery that lists are filtered by. */
export interface DeliveryLabels {
  /** Slug of the channel. */
  readonly channel: string;
  /** Identifier of the incident; null for a test. */
  readonly incident: string | null;
}

/** The row of a waiting delivery in its channel's queue. */
export interface QueuedDelivery {
  /** Delivery that must end first; null for none. */
  readonly after: string | null;
}

/** Returns the rows of new deliveries, for the commit of what they report. */
export function newDeliveryRows(team: TeamId, deliveries: readonly Delivery[]): KvSet[] {
  const rows = deliveries.flatMap((delivery) => [
    ...storedRows(team, delivery),
    ...queueRows(team, delivery),
    expiryRow(team, delivery),
  ]);
  // Deliveries to one channel share a due row.
  return [...new Map(rows.map((row) => [row.key.join(" "), row])).values()];
}

/** Returns the row of a new delivery and its place in lists. */
export function storedRows(team: TeamId, delivery: Delivery): KvSet[] {
  const { id, channel, createdAt, message: { incident } } = delivery;
  const labels: DeliveryLabels = { channel, incident: incident?.id ?? null };
  return [
    { key: keys.delivery(team, id), value: delivery },
    { key: keys.deliveryAt(team, createdAt, id), value: labels },
  ];
}

/** Returns the row of a waiting delivery in its channel's queue, and the row that wakes the channel. */
export function queueRows(team: TeamId, delivery: Delivery): KvSet[] {
  const { channel, nextAt } = delivery;
  return nextAt === null ? [] : [...queuedRow(team, delivery), wakeRow(team, channel, nextAt)];
}

/** Returns the row of a waiting delivery in its channel's queue. */
export function queuedRow(team: TeamId, { id, channel, nextAt, after }: Delivery): KvSet[] {
  if (nextAt === null) return [];
  const value: QueuedDelivery = { after };
  return [{ key: keys.queuedDelivery(team, channel, nextAt, id), value }];
}

/** Returns the row that wakes a channel. */
export function wakeRow(team: TeamId, channel: string, atMs: number): KvSet {
  return channelRow("channel", team, channel, nextStep(atMs));
}

/** Returns such a row for the next turn of a channel; one that is due does not wait for a step. */
export function nextRow(
  kind: ChannelWork,
  team: TeamId,
  channel: string,
  atMs: number,
  nowMs: number,
): KvSet {
  const stepMs = atMs > nowMs ? nextStep(atMs) : nowMs - nowMs % WAKE_STEP_MS;
  return channelRow(kind, team, channel, stepMs);
}

function channelRow(kind: ChannelWork, team: TeamId, name: string, at: number): KvSet {
  return workSet({ at, kind, team, name });
}

/** Returns the rows of a delivery that has ended; failed ones have a list of their own. */
export function endedRows(team: TeamId, delivery: Delivery): KvSet[] {
  const { id, channel, createdAt, message: { incident }, state } = delivery;
  const labels: DeliveryLabels = { channel, incident: incident?.id ?? null };
  return [
    { key: keys.delivery(team, id), value: delivery },
    ...(state === "dead" ? [{ key: keys.deadDelivery(team, createdAt, id), value: labels }] : []),
  ];
}

/** Returns the keys of a delivery that is removed. */
export function deliveryKeys(team: TeamId, delivery: Delivery): Deno.KvKey[] {
  const { id, channel, createdAt, nextAt } = delivery;
  return [
    keys.delivery(team, id),
    keys.deliveryAt(team, createdAt, id),
    keys.deadDelivery(team, createdAt, id),
    ...(nextAt === null ? [] : [keys.queuedDelivery(team, channel, nextAt, id)]),
  ];
}

/** Returns the time at which a delivery is removed, unix milliseconds. */
export function expiryAt({ createdAt }: Pick<Delivery, "createdAt">): number {
  return createdAt + DELIVERY_DAYS * DAY_MS;
}

/** Returns the row at which a delivery is removed. */
export function expiryRow(team: TeamId, delivery: Delivery): KvSet {
  return workSet({ at: expiryAt(delivery), kind: "delivery", team, name: delivery.id });
}

/** A channel, whose queue is read. */
export interface QueueOf {
  readonly store: Store;
  readonly team: TeamId;
  /** Slug. */
  readonly channel: string;
}

/** A row of a queue. */
export interface QueueRow extends QueueEntry {
  readonly key: Deno.KvKey;
}

/** Reads the first rows of a queue. */
export async function readQueue(
  { store, team, channel }: QueueOf,
  limit: number,
): Promise<QueueRow[]> {
  const prefix = keys.deliveryQueue(team, channel);
  const rows = await listRows<QueuedDelivery>(store, { prefix }, { limit });
  return rows.map(({ key, value: { after } }) => ({
    key,
    at: keyParts.position(key),
    id: keyParts.id(key),
    after,
  }));
}

/** Reads deliveries; removed ones are left out. */
export async function readDeliveries(
  { store, team }: Pick<QueueOf, "store" | "team">,
  ids: readonly string[],
): Promise<Delivery[]> {
  const entries = await getAll(store, ids.map((id) => keys.delivery(team, id)));
  return entries.flatMap(({ value }) => value === null ? [] : [value as Delivery]);
}

/**
 * Returns the times until which deliveries have to wait, by the delivery that must end before them.
 */
export async function readWaits(
  queue: QueueOf,
  rows: readonly QueueRow[],
  nowMs: number,
): Promise<(id: string) => number | null> {
  const ids = new Set(rows.flatMap(({ after }) => after === null ? [] : [after]));
  const earlier = await readDeliveries(queue, [...ids]);
  const waiting = earlier.filter((delivery) => !hasEnded(delivery));
  const times = new Map(waiting.map(({ id, nextAt }) => [id, nextAt ?? nowMs]));
  return (id) => times.get(id) ?? null;
}

/**
 * Changes the messages about an incident.
 *
 * @param latest the latest delivery to each channel: the earlier ones are found from it
 * @param change returns its argument if nothing changes
 */
export async function changeFacts(
  store: Store,
  team: TeamId,
  latest: readonly string[],
  change: (facts: IncidentFacts) => IncidentFacts,
): Promise<void> {
  for (const last of latest) {
    let id: string | null = last;
    while (id !== null) id = await changeOne(store, team, id, change);
  }
}

/** Changes one message; returns the delivery before it, null for none. */
async function changeOne(
  store: Store,
  team: TeamId,
  id: string,
  change: (facts: IncidentFacts) => IncidentFacts,
): Promise<string | null> {
  const stored = await getValue<Delivery>(store, keys.delivery(team, id));
  if (stored === null) return null;
  // The result of a try that is under way is then planned again with the changed message.
  return await changeChannel<string | null>(store, team, stored.channel, async (health) => {
    const entry = await findEntry<Delivery>(store, keys.delivery(team, id));
    const facts = entry?.value.message.incident ?? null;
    if (entry === null || facts === null) return { result: null, change: null };
    const delivery = entry.value;
    const incident = change(facts);
    if (incident === facts) return { result: delivery.after, change: null };
    const value: Delivery = { ...delivery, message: { ...delivery.message, incident } };
    const sets = [{ key: entry.key, value }];
    return { result: delivery.after, change: { health, checks: [entry], sets } };
  });
}

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

/** Words of the report about a channel whose secrets cannot be opened. */
export const NEEDS_SECRET = "its secrets cannot be opened: set them again";

/** Returns the row that reports a channel to the owner, if this change stops it. */
export function reportRows(
  team: TeamId,
  slug: string,
  before: Healths,
  after: Healths,
  atMs: number,
): readonly KvSet[] {
  return isBlocked(before) || !isBlocked(after)
    ? []
    : [workSet({ at: atMs, kind: "channel_report", team, name: slug })];
}

/** States of a channel before and after a change. */
type Healths = Pick<StoredHealth, "state">;

/**
 * Returns the due rows at which rules of the kind `service` are judged: if a channel stops or starts
 * to work, or a delivery has failed.
 */
export async function troubleRows(
  store: Store,
  team: TeamId,
  before: Healths,
  after: Healths,
  atMs: number,
  hasDead = false,
): Promise<KvSet[]> {
  const isSame = isBlocked(before) === isBlocked(after);
  if (isSame && !hasDead) return [];
  const { rules } = await readConfig(store, team);
  return rules
    .filter(({ settings }) => settings.condition.kind === "service" && settings.enabled)
    .map(({ slug }) => workSet({ at: atMs, kind: "rule", team, name: slug }));
}

/** Returns the audit entry of a channel that this change breaks. */
export function brokenRows(
  team: TeamId,
  slug: string,
  before: Healths,
  after: Healths & Pick<StoredHealth, "lastError" | "failingSince">,
  atMs: number,
): readonly KvSet[] {
  if (before.state === "broken" || after.state !== "broken") return [];
  const { lastError, failingSince } = after;
  return auditRows({
    at: atMs,
    team,
    actor: SERVICE_ACTOR,
    action: "channel.broken",
    target: slug,
    details: { error: lastError, failing_since: formatInstantOrNull(failingSince) },
  });
}
