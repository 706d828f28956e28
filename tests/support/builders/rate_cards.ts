/** Fixtures of rate card tests: a team, its model, and prices for it. */
import type { Team } from "../../../domain/teams/team.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import type { RateSpec } from "../../../domain/pricing/rate_body.ts";
import { createRateCardStore, type RateCardStore } from "../../../kv/rate_cards/rate_cards.ts";
import type { Store } from "../../../kv/store.ts";
import { type Answer, type Harness, NOON } from "../harness/harness.ts";

export const TEAM: Team = { id: "team-1" as TeamId, name: "team", tier: "team" };
export const OTHER: Team = { id: "team-2" as TeamId, name: "other", tier: "team" };

/** A model that no default row prices. */
export const MODEL = "atlas-70b";

/** Maximum milliseconds for which another process may use outdated rows. */
export const NOTICED_WITHIN_MS = 10_000;

/** Creates a price in the store's form. */
export function aSpec(fields: Partial<RateSpec> = {}): RateSpec {
  return {
    provider: null,
    model: MODEL,
    from: null,
    rates: { input: 1, output: 2, cachedInput: null, cacheWrite: null },
    tiers: [],
    note: undefined,
    ...fields,
  };
}

export function priced(input: number, fields: Partial<RateSpec> = {}): RateSpec {
  return aSpec({ rates: { ...aSpec().rates, input }, ...fields });
}

/** Opens the cards of a store as a separate process does. */
export function cardsOf(store: Store): RateCardStore {
  return createRateCardStore(store, { now: () => NOON });
}

/** Returns the current input cost by the team's card. */
export async function inputOf(cards: RateCardStore, team = TEAM, model = MODEL) {
  return (await cards.card(team)).find(null, model, NOON)?.row.rates.input ?? null;
}

/** Moves the monotonic clock, by which cards are cached, until disposed. */
export function monotonicClockAheadBy(ms: number): Disposable {
  const original = performance.now;
  performance.now = () => original.call(performance) + ms;
  return { [Symbol.dispose]: () => void (performance.now = original) };
}

export const CARD = "/v1/rate-card";

export const PRICE = { model: MODEL, input_usd_per_million: 2.5, output_usd_per_million: 10 };

/** An id that no row has. */
export const UNKNOWN = `rate_${"0".repeat(26)}`;

/** Puts {@link PRICE} with other fields. */
export function put(
  h: Harness,
  fields: Record<string, unknown> = {},
  key = h.key,
): Promise<Answer> {
  return h.request("PUT", CARD, { body: { ...PRICE, ...fields }, key });
}

export function remove(h: Harness, id: string): Promise<Answer> {
  return h.request("DELETE", `${CARD}/${encodeURIComponent(id)}`);
}

/** Returns the row that would price a call. */
export async function match(h: Harness, query: Record<string, string>, key = h.key) {
  return (await h.get(`${CARD}/match?${new URLSearchParams(query)}`, { key })).json;
}

export async function ownRows(h: Harness, key = h.key): Promise<Record<string, unknown>[]> {
  return (await h.get(`${CARD}?source=own`, { key })).json.own;
}

export function refusalOf({ status, json }: Answer): unknown[] {
  return [status, json.error, json.field];
}
