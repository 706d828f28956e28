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
  /** Words about it. */
  readonly detail: string;
}

/** Milliseconds for which a delivery that was given up is reported. */
const DEAD_DELIVERY_MS = 86_400_000;

/** Maximum rows that are counted. */
const COUNTED_MAX = 100;

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
  const count: Record<ServiceTrouble, () => Promise<number>> = {
    dead_stage: async () => (await readDead(store, team)).length,
    dead_delivery: () => deadDeliveries(store, team, nowMs),
    broken_channel: () => brokenChannels(store, team),
  };
  const counts = await Promise.all(what.map(async (trouble) => [trouble, await count[trouble]()]));
  return (counts as [ServiceTrouble, number][]).filter(([, value]) => value > 0)
    .map(([trouble, value]) => ({ key: trouble, value, detail: trouble }));
}

/** Counts the latest deliveries that were given up within a day. */
async function deadDeliveries(store: Store, team: TeamId, nowMs: number): Promise<number> {
  const range = { prefix: keys.deadDeliveries(team) };
  const rows = await listRows(store, range, { limit: COUNTED_MAX, reverse: true });
  const deliveries = await getAll(store, rows.map(({ key }) => keys.delivery(team, idOf(key))));
  return deliveries.filter(({ value }) => {
    const { message, tries } = value as Delivery | null ?? NO_DELIVERY;
    // A test has its answer.
    return message.incident !== null && (tries.at(-1)?.at ?? 0) > nowMs - DEAD_DELIVERY_MS;
  }).length;
}

const NO_DELIVERY = { message: { incident: null }, tries: [] };

/** Counts the broken channels that are enabled: a deleted one may leave its state. */
async function brokenChannels(store: Store, team: TeamId): Promise<number> {
  const { channels } = await readConfig(store, team);
  const enabled = channels.filter(({ settings }) => settings.enabled);
  const healths = await readHealths(store, team, enabled.map(({ slug }) => slug));
  return [...healths.values()].filter(isBlocked).length;
}

function idOf(key: Deno.KvKey): string {
  return String(key.at(-1));
}
