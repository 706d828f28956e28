/**
 * Reads what rules of the kinds `quota` and `service` report.
 *
 * @module
 */
import type { RuleCondition, SERVICE_TROUBLES } from "../../domain/alerts/rule.ts";
import type { Delivery } from "../../domain/channels/delivery.ts";
import { isBlocked } from "../../domain/channels/health.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { monthOf } from "../../domain/core/time.ts";
import type { Notice } from "../../domain/teams/quota.ts";
import { keys } from "../base/keys.ts";
import { readHealths } from "../channels/health.ts";
import { readConfig } from "../config/objects.ts";
import { readDead } from "../runs/run_work.ts";
import { getAll, listRows, type Store } from "../store.ts";

/** Something that is true now. */
export interface Trouble {
  /** Identity within the rule. */
  readonly key: string;
  /** Measured value. */
  readonly value: number;
  /** Word that rules select by. */
  readonly detail: string;
  /** Words for the title; absent for none. */
  readonly words?: string | null;
}

/** Milliseconds for which a delivery that was given up is reported. */
const DEAD_DELIVERY_MS = 86_400_000;

/** Maximum rows that are counted. */
const COUNTED_MAX = 100;

/** Maximum channels that a title names. */
const NAMES_MAX = 3;

type ServiceTrouble = typeof SERVICE_TROUBLES[number];

/** Returns the shares of the plan that the events of the current month have reached. */
export async function quotaTroubles(
  store: Store,
  team: TeamId,
  { percents }: Extract<RuleCondition, { kind: "quota" }>,
  nowMs: number,
): Promise<Trouble[]> {
  const month = monthOf(nowMs);
  const notices = await listRows<Notice>(store, { prefix: keys.notices(team, month) });
  return notices.filter(({ value: { percent } }) => percents.includes(percent))
    .map(({ value: { percent } }) => ({
      // Of two shares that are found at once, the last one by name counts.
      key: `${month} ${String(percent).padStart(3, "0")}`,
      value: percent,
      detail: `${percent} % of the events of ${month}`,
    }));
}

/** Returns the troubles of the service that there are. */
export async function serviceTroubles(
  store: Store,
  team: TeamId,
  { what }: Extract<RuleCondition, { kind: "service" }>,
  nowMs: number,
): Promise<Trouble[]> {
  const read: Record<ServiceTrouble, () => Promise<readonly (string | null)[]>> = {
    dead_stage: async () => (await readDead(store, team)).map(() => null),
    dead_delivery: () => deadDeliveries(store, team, nowMs),
    broken_channel: () => brokenChannels(store, team),
  };
  const found = await Promise.all(what.map(async (trouble): Promise<Trouble> => {
    const channels = await read[trouble]();
    const words = listOf(channels.filter((channel) => channel !== null));
    return { key: trouble, value: channels.length, detail: trouble, words };
  }));
  return found.filter(({ value }) => value > 0);
}

/** Lists channels, each once; null for none. */
function listOf(channels: readonly string[]): string | null {
  const names = [...new Set(channels)].sort();
  if (names.length === 0) return null;
  const more = names.length - NAMES_MAX;
  return names.slice(0, NAMES_MAX).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Returns the channels of the latest deliveries that were given up within a day. */
async function deadDeliveries(store: Store, team: TeamId, nowMs: number): Promise<string[]> {
  const range = { prefix: keys.deadDeliveries(team) };
  const rows = await listRows(store, range, { limit: COUNTED_MAX, reverse: true });
  const deliveries = await getAll(store, rows.map(({ key }) => keys.delivery(team, idOf(key))));
  return deliveries.flatMap(({ value }) => {
    if (value === null) return [];
    const { channel, message, tries } = value as Delivery;
    // A test has its answer.
    const isDead = message.incident !== null && (tries.at(-1)?.at ?? 0) > nowMs - DEAD_DELIVERY_MS;
    return isDead ? [channel] : [];
  });
}

/** Returns the broken channels that are enabled: a deleted one may leave its state. */
async function brokenChannels(store: Store, team: TeamId): Promise<string[]> {
  const { channels } = await readConfig(store, team);
  const enabled = channels.filter(({ settings }) => settings.enabled);
  const healths = await readHealths(store, team, enabled.map(({ slug }) => slug));
  return [...healths].filter(([, health]) => isBlocked(health)).map(([slug]) => slug);
}

function idOf(key: Deno.KvKey): string {
  return String(key.at(-1));
}
