/**
 * Reads deliveries, sends them again, and removes them.
 *
 * @module
 */
import {
  type DeliveriesQuery,
  type Delivery,
  type DeliveryPlace,
  ended,
  hasEnded,
  sentAgain,
} from "../../domain/channels/delivery.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import { keyParts, keys } from "../base/keys.ts";
import { groupsOf } from "../base/reads.ts";
import { LOST, untilCommittedInTime } from "../base/retry.ts";
import { findEntry, getAll, getValue, listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import {
  changeChannel,
  deliveryKeys,
  type DeliveryLabels,
  expiryAt,
  expiryRow,
  queueRows,
  readDeliveries,
  storedRows,
} from "./delivery_rows.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import { workKey } from "../work/store.ts";

/** Rows of lists that one page reads: a page of rare deliveries may be short, with a next one. */
const SCANNED_MAX = 1_000;

/** Reads deliveries, and sends them again. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** Creates the store. Methods reject with `StorageUnavailable` when the store fails. */
export function createDeliveryStore(store: Store) {
  return {
    list: ({ id: team }: Team, query: DeliveriesQuery) =>
      store.reads.run(team, () => readPage(store, team, query)),
    read: ({ id: team }: Team, id: string) =>
      store.reads.run(team, () => getValue<Delivery>(store, keys.delivery(team, id))),
    /** Sends a delivery that has ended again, with the same id; null if there is none. */
    resend: (team: Team, id: string, made: MadeBy) => resend(store, team.id, id, made),
  };
}

/** A row of a list. */
interface ListRow extends DeliveryPlace {
  readonly labels: DeliveryLabels;
}

async function readPage(store: Store, team: TeamId, query: DeliveriesQuery) {
  const { limit, channel, incident, state } = query;
  const isFiltered = channel !== null || incident !== null || state !== null;
  const scanned = isFiltered ? Math.max(SCANNED_MAX, limit) : limit;
  const rows = await readRows(store, team, query, scanned + 1);
  const matching = rows.slice(0, scanned).filter(({ labels }) =>
    (channel === null || labels.channel === channel) &&
    (incident === null || labels.incident === incident)
  );
  const deliveries: Delivery[] = [];
  for (let at = 0; at < matching.length && deliveries.length <= limit; at += limit) {
    const ids = matching.slice(at, at + limit).map(({ id }) => id);
    const entries = await getAll(store, ids.map((id) => keys.delivery(team, id)));
    const rows = entries.flatMap(({ value }) => value === null ? [] : [value as Delivery]);
    deliveries.push(...rows.filter((delivery) => state === null || delivery.state === state));
  }
  const page = deliveries.slice(0, limit);
  const last = page.at(-1);
  if (deliveries.length > limit && last !== undefined) {
    return { deliveries: page, next: { at: last.createdAt, id: last.id } };
  }
  const end = rows.length > scanned ? rows[scanned - 1] : undefined;
  return { deliveries: page, next: end === undefined ? null : { at: end.at, id: end.id } };
}

/** Reads rows of a list, latest first; failed deliveries have a list of their own. */
async function readRows(
  store: Store,
  team: TeamId,
  { state, fromMs, after }: DeliveriesQuery,
  limit: number,
): Promise<ListRow[]> {
  if (after !== null && after.at < fromMs) return [];
  const isDead = state === "dead";
  const range = (isDead ? keys.deadDeliveriesAt : keys.deliveriesAt)(team, fromMs, Infinity);
  const placeOf = isDead ? keys.deadDelivery : keys.deliveryAt;
  const selector = after === null ? range : { ...range, end: placeOf(team, after.at, after.id) };
  const rows = await listRows<DeliveryLabels>(store, selector, { limit, reverse: true });
  return rows.map(({ key, value }) => ({
    at: keyParts.position(key),
    id: keyParts.id(key),
    labels: value,
  }));
}

/** A delivery that has not ended, and a test, are not sent again. */
function resend(
  store: Store,
  team: TeamId,
  id: string,
  { by, at }: MadeBy,
): Promise<Delivery | null> {
  return untilCommittedInTime("send a delivery again", store.deadlines, async () => {
    const entry = await findEntry<Delivery>(store, keys.delivery(team, id));
    if (entry === null) return null;
    const delivery = entry.value;
    if (!hasEnded(delivery) || delivery.message.event === "channel.test") return delivery;
    const again = sentAgain(delivery, at);
    const audited = { at, team, actor: by, action: "delivery.resent" as const, target: id };
    const details = { channel: delivery.channel, state: delivery.state };
    const committed = await store.writer.commit({
      team,
      checks: [entry],
      sets: [
        { key: entry.key, value: again },
        ...queueRows(team, again),
        ...auditRows({ ...audited, details }),
      ],
      deletes: [keys.deadDelivery(team, delivery.createdAt, id)],
    });
    return committed === null ? LOST : again;
  });
}

/** Deliveries that one commit removes. */
const REMOVED_PER_COMMIT = 50;

/** Removes deliveries and all their rows, also ones that have not been sent. */
export async function removeDeliveries(
  store: Store,
  team: TeamId,
  ids: readonly string[],
): Promise<void> {
  for (const group of groupsOf(ids, REMOVED_PER_COMMIT)) {
    const deliveries = await readDeliveries({ store, team }, group);
    const over = deliveries.filter(hasEnded).flatMap((delivery) => keysOf(team, delivery));
    if (over.length > 0) await store.writer.commit({ team, deletes: over });
    const waiting = deliveries.filter((delivery) => !hasEnded(delivery));
    for (const [channel, some] of Map.groupBy(waiting, (delivery) => delivery.channel)) {
      // A try may contain them: its result is then planned again without them.
      await changeChannel(store, team, channel, async (health) => {
        const left = await readDeliveries({ store, team }, some.map(({ id }) => id));
        const deletes = left.flatMap((delivery) => keysOf(team, delivery));
        return { result: undefined, change: { health, deletes } };
      });
    }
  }
}

function keysOf(team: TeamId, delivery: Delivery): Deno.KvKey[] {
  return [...deliveryKeys(team, delivery), expiryRow(team, delivery).key];
}

/** Creates the handler that removes old deliveries, and ends tests whose process ended. */
export function createDeliveryHandler(store: Store): WorkHandler {
  return {
    kind: "delivery",
    async handle(rows, { nowMs }) {
      const [first] = rows;
      if (first === undefined) return [];
      const { team } = first;
      const deliveries = await readDeliveries({ store, team }, rows.map(({ name }) => name));
      const byId = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
      const isOld = ({ name }: Work) => {
        const delivery = byId.get(name);
        return delivery !== undefined && expiryAt(delivery) <= nowMs;
      };
      await removeDeliveries(store, team, rows.filter(isOld).map(({ name }) => name));
      for (const row of rows.filter((each) => !isOld(each))) {
        const delivery = byId.get(row.name);
        await store.writer.commit({
          team,
          deletes: [workKey(row)],
          sets: delivery === undefined ? [] : [
            ...isAbandoned(delivery, nowMs) ? storedRows(team, ended(delivery, "dead")) : [],
            expiryRow(team, delivery),
          ],
        });
      }
      return [];
    },
  };
}

/** Returns whether the process of a test has ended before its result was stored. */
function isAbandoned({ message, leaseUntil, state }: Delivery, nowMs: number): boolean {
  return message.event === "channel.test" && state === "sending" && (leaseUntil ?? 0) <= nowMs;
}
