/**
 * Finds what is true of rules of the kinds `quota`, `service` and `unpriced`.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { RateCard } from "../../domain/pricing/rates.ts";
import { getAll, listRows, type Store } from "../store.ts";
import {
  type Condition,
  type Finding,
  goodOf,
  instancesOf,
  minuteAfter,
  NOTHING,
  type RuleOf,
  signalOf,
  unknown,
} from "./conditions.ts";
import type { Group } from "../../domain/alerts/signal.ts";
import type { RuleCondition, SERVICE_PROBLEMS } from "../../domain/alerts/rule.ts";
import { type Delivery, isBlocked } from "../../domain/channels/delivery.ts";
import { capShareOf, type JudgeAccount } from "../../domain/judges/account.ts";
import { isBlockedJudge } from "../../domain/judges/judge_job.ts";
import type { Judge } from "../../domain/judges/judge.ts";
import { monthOf } from "../../domain/core/time.ts";
import type { Notice } from "../../domain/teams/quota.ts";
import { keys } from "../base/keys.ts";
import { readHealths } from "../channels/delivery_rows.ts";
import { readConfig } from "../config/objects.ts";
import { readAccounts } from "../judges/judge_rows.ts";
import { readDead } from "../runs/run_work.ts";

/** Finds the shares of the plan that the month's events have reached, until the month ends. */
export async function findQuota(
  store: Store,
  team: TeamId,
  rule: RuleOf<"quota">,
  nowMs: number,
): Promise<Finding> {
  const month = monthOf(nowMs);
  const notices = await listRows<Notice>(store, { prefix: keys.notices(team, month) });
  const { percents } = rule.settings.condition;
  const reached = notices.filter(({ value: { percent } }) => percents.includes(percent))
    .map(({ value: { percent } }): Condition => ({
      ...ALL,
      // Of two shares that are found at once, the last one by name counts.
      key: `${month} ${String(percent).padStart(3, "0")}`,
      at: nowMs,
      value: percent,
      detail: `${percent} % of the events of ${month}`,
    }));
  const added = unknown(await instancesOf(store, team, rule), reached);
  return { signals: added.map((share) => signalOf(rule, share, "bad")), next: [] };
}

/** Finds the states of the service that a rule is about; checks each minute while there are any. */
export async function findService(
  store: Store,
  team: TeamId,
  rule: RuleOf<"service">,
  nowMs: number,
): Promise<Finding> {
  const states = await serviceStates(store, team, rule.settings.condition, nowMs);
  const instances = await instancesOf(store, team, rule);
  const isNow = new Set(states.map(({ key }) => key));
  return {
    signals: [
      ...goodOf(rule, instances, (key) => !isNow.has(key), nowMs),
      ...unknown(instances, states).map((state) => signalOf(rule, state, "bad")),
    ],
    next: states.length === 0 ? [] : [{ at: minuteAfter(nowMs), name: rule.slug }],
  };
}

/** Finds models that have a price now. */
export async function findPriced(
  store: Store,
  readCard: () => Promise<RateCard>,
  team: TeamId,
  rule: RuleOf<"unpriced">,
  nowMs: number,
): Promise<Finding> {
  const instances = await instancesOf(store, team, rule);
  if (instances.length === 0) return NOTHING;
  const card = await readCard();
  return { signals: goodOf(rule, instances, (key) => hasPrice(card, key, nowMs), nowMs), next: [] };
}

/** Returns whether a card has a price for a model, `provider/model` or the model alone. */
function hasPrice(card: RateCard, name: string, nowMs: number): boolean {
  const at = name.indexOf("/");
  return card.find(null, name, nowMs) !== null ||
    at > 0 && card.find(name.slice(0, at), name.slice(at + 1), nowMs) !== null;
}

/** The group of a rule without groups. */
const ALL: Group = { text: "", group: {} };

/** Milliseconds for which a delivery that was given up is reported. */
const DEAD_DELIVERY_MS = 86_400_000;

/** Maximum rows that are counted. */
const COUNTED_MAX = 100;

/** Maximum channels or judges that a title names. */
const NAMES_MAX = 3;

type ServiceProblem = typeof SERVICE_PROBLEMS[number];

/** Returns the states of the service that a condition is about, and that there are. */
export async function serviceStates(
  store: Store,
  team: TeamId,
  { what }: Extract<RuleCondition, { kind: "service" }>,
  nowMs: number,
): Promise<readonly Condition[]> {
  const judges = await readJudges(store, team, nowMs);
  const judgesThat = (is: (judge: Judge, account: JudgeAccount) => boolean) => () =>
    Promise.resolve(judges.filter((judge) => is(...judge)).map(([{ slug }]) => slug));
  const read: Record<ServiceProblem, () => Promise<readonly (string | null)[]>> = {
    dead_stage: async () => (await readDead(store, team)).map(() => null),
    dead_delivery: () => deadDeliveries(store, team, nowMs),
    broken_channel: () => brokenChannels(store, team),
    blocked_judge: judgesThat((judge, { blocked }) => isBlockedJudge(judge, blocked)),
    judge_cap_near: judgesThat((judge, account) => capShare(judge, account) !== null),
    judge_cap_used_up: judgesThat((judge, account) => capShare(judge, account) === "used_up"),
  };
  const states = await Promise.all(what.map(async (key) => {
    const slugs = await read[key]();
    const words = listOf(slugs.filter((slug) => slug !== null));
    return { ...ALL, key, at: nowMs, value: slugs.length, detail: key, words };
  }));
  return states.filter(({ value }) => value > 0);
}

/** Lists channels or judges, each once; null for none. */
function listOf(slugs: readonly string[]): string | null {
  const names = [...new Set(slugs)].sort();
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

/** Returns the enabled judges with their accounts. */
async function readJudges(store: Store, team: TeamId, nowMs: number) {
  const { judges } = await readConfig(store, team);
  const enabled = judges.filter(({ settings }) => settings.enabled);
  const accounts = await readAccounts(store, team, enabled.map(({ slug }) => slug), nowMs);
  return accounts.map((account, i) => [enabled[i] as Judge, account] as const);
}

function capShare({ settings: { dailyUsd } }: Judge, account: JudgeAccount) {
  return capShareOf(account, dailyUsd);
}

function idOf(key: Deno.KvKey): string {
  return String(key.at(-1));
}
