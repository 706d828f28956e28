/**
 * Looks at rules of the kinds `quota`, `service` and `unpriced`.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { RateCard } from "../../domain/pricing/rates.ts";
import type { Store } from "../store.ts";
import {
  type Found,
  goodFor,
  instancesOf,
  minuteAfter,
  NOTHING,
  type RuleOf,
  signalFor,
} from "./found.ts";
import { quotaTroubles, serviceTroubles } from "./troubles.ts";

/** Finds the shares of the plan that the month's events have reached, until the month ends. */
export async function findQuota(
  store: Store,
  team: TeamId,
  rule: RuleOf<"quota">,
  nowMs: number,
): Promise<Found> {
  const troubles = await quotaTroubles(store, team, rule.settings.condition, nowMs);
  const instances = await instancesOf(store, team, rule);
  const known = new Set(instances.flatMap(({ outcomes }) => outcomes.kept.map(({ key }) => key)));
  const added = troubles.filter(({ key }) => !known.has(key));
  return {
    signals: added.map((trouble) => signalFor(rule, { ...trouble, at: nowMs, outcome: "bad" })),
    next: [],
  };
}

/** Finds the troubles of the service; looks again each minute while there are any. */
export async function findService(
  store: Store,
  team: TeamId,
  rule: RuleOf<"service">,
  nowMs: number,
): Promise<Found> {
  const troubles = await serviceTroubles(store, team, rule.settings.condition, nowMs);
  const instances = await instancesOf(store, team, rule);
  const known = instances.flatMap(({ outcomes }) => outcomes.kept);
  const isNow = new Set(troubles.map(({ key }) => key));
  const over = instances.flatMap((instance) =>
    instance.outcomes.kept.filter(({ key }) => !isNow.has(key))
      .map(({ key }) => goodFor(rule, instance, key, nowMs))
  );
  const added = troubles.filter(({ key }) => !known.some((each) => each.key === key));
  return {
    signals: [
      ...over,
      ...added.map((trouble) => signalFor(rule, { ...trouble, at: nowMs, outcome: "bad" })),
    ],
    next: troubles.length === 0 ? [] : [{ at: minuteAfter(nowMs), name: rule.slug }],
  };
}

/** Finds models that have a price now. */
export async function findPriced(
  store: Store,
  readCard: () => Promise<RateCard>,
  team: TeamId,
  rule: RuleOf<"unpriced">,
  nowMs: number,
): Promise<Found> {
  const instances = await instancesOf(store, team, rule);
  if (instances.length === 0) return NOTHING;
  const card = await readCard();
  return {
    signals: instances.flatMap((instance) =>
      instance.outcomes.kept.filter(({ key }) => hasPrice(card, key, nowMs))
        .map(({ key }) => goodFor(rule, instance, key, nowMs))
    ),
    next: [],
  };
}

/** Returns whether a card has a price for a model, `provider/model` or the model alone. */
function hasPrice(card: RateCard, name: string, nowMs: number): boolean {
  const at = name.indexOf("/");
  return card.find(null, name, nowMs) !== null ||
    at > 0 && card.find(name.slice(0, at), name.slice(at + 1), nowMs) !== null;
}
