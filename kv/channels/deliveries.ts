/**
 * Reads deliveries, and sends them again.
 *
 * @module
 */
import { type Delivery, hasEnded, sentAgain } from "../../domain/channels/delivery.ts";
import type { DeliveriesQuery, DeliveryPlace } from "../../domain/channels/store.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import { keyParts, keys } from "../base/keys.ts";
import { LOST, untilCommittedInTime } from "../base/retry.ts";
import { findEntry, getAll, getValue, listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { type DeliveryLabels, queueRows } from "./delivery_rows.ts";

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

async function readPage(
  store: Store,
  team: TeamId,
  query: DeliveriesQuery,
) {
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
    const found = entries.flatMap(({ value }) => value === null ? [] : [value as Delivery]);
    deliveries.push(...found.filter((delivery) => state === null || delivery.state === state));
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
