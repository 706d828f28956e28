/** Reads what the pages of alerts show; each part is bounded. */
import type { Incident, OpenIncidents } from "../../../domain/alerts/incident.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import type { Channel } from "../../../domain/channels/channel.ts";
import { type DeliveriesQuery, DELIVERY_DAYS } from "../../../domain/channels/delivery.ts";
import { DAY_MS } from "../../../domain/core/time.ts";
import type { Reader } from "../layout/page.tsx";
import { readOpenIncidents } from "./entries.tsx";
import { readRecords } from "../agents/named_runs.tsx";
import { actorNames } from "../keys/labels.tsx";
import { lastSuccess } from "../run/run_load.ts";

/** Maximum open incidents and deliveries of one that are listed. */
const OPEN_MAX = 50, DELIVERIES_MAX = 20;

/**
 * Reads the open incidents, the worst and newest first.
 *
 * @param open numbers of open incidents: a severity without any is not searched
 */
export async function readOpenList(reader: Reader, open: OpenIncidents) {
  const lists = await Promise.all(
    SEVERITIES.filter((severity) => open[severity] > 0)
      .map((severity) => readOpenIncidents(reader, { severity, limit: OPEN_MAX })),
  );
  return lists.flat().slice(0, OPEN_MAX);
}

/** Lists deliveries, latest first; by default all that are kept. */
export function listDeliveries(
  { deps: { deliveries, environment }, team }: Reader,
  query: Partial<DeliveriesQuery> & Pick<DeliveriesQuery, "limit">,
) {
  const fromMs = environment.now() - DELIVERY_DAYS * DAY_MS;
  const all = { channel: null, state: null, incident: null, after: null, fromMs };
  return deliveries.list(team, { ...all, ...query });
}

/** A channel with its health and its latest delivery; undefined if it has none. */
export type ChannelRow = Awaited<ReturnType<typeof loadChannels>>[number];

/** Reads the health and the latest delivery of channels. */
export async function loadChannels(reader: Reader, channels: readonly Channel[]) {
  const { deps, team } = reader;
  const health = await deps.channels.health(team, channels.map(({ slug }) => slug));
  return await Promise.all(channels.map(async (channel) => {
    const { slug } = channel;
    const { deliveries: [latest] } = await listDeliveries(reader, { channel: slug, limit: 1 });
    return { channel, health: health.get(slug), latest };
  }));
}

/** Everything that an incident's page shows in addition to the incident. */
export type IncidentDetails = Awaited<ReturnType<typeof readIncidentDetails>>;

export async function readIncidentDetails(reader: Reader, incident: Incident) {
  const { deps, team } = reader;
  const { id, runs, timeline } = incident;
  const authors = timeline.flatMap((entry) => "by" in entry ? entry.by ?? [] : []);
  const records = await readRecords(reader, runs);
  const [latest] = records;
  const [success, { deliveries, next }, names] = await Promise.all([
    latest === undefined ? null : lastSuccess(reader, latest),
    listDeliveries(reader, { incident: id, limit: DELIVERIES_MAX }),
    actorNames(reader, authors),
  ]);
  // Of channels that the list of the latest lacks, the incident names the latest delivery.
  const listed = new Set(deliveries.map(({ channel }) => channel));
  const missing = Object.entries(incident.deliveries).filter(([channel]) => !listed.has(channel));
  const older = await Promise.all(missing.map(([, last]) => deps.deliveries.read(team, last)));
  return {
    /** Its newest runs that are still stored, newest first. */
    runs: records,
    /** The last success before the newest of them; null for none. */
    success,
    deliveries: [...deliveries, ...older.filter((delivery) => delivery !== null)],
    hasMore: next !== null,
    /** Names of the keys that changed it. */
    names,
  };
}
