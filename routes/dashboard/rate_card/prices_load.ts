/** Reads the prices that a page of the card lists. */
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import type { MatchStep } from "../../../domain/pricing/rates.ts";
import { type ModelName, OTHER_MODELS } from "../../../domain/runs/model_usage.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import type { Reader } from "../layout/page.tsx";
import { type MatchQuery, type RateListQuery, ratePage } from "../../api/rate_card/rate_card.ts";
import { actorNames } from "../keys/labels.tsx";
import { firstRows } from "../runs/runs_load.ts";

/** Maximum custom prices listed; a search finds the others. */
const OWN_SHOWN = 100;

/** The way to the price of a call, in words. */
export const MATCH_WORDS: Readonly<Record<MatchStep, string>> = {
  exact: "its name as it was sent, one of the row's names",
  provider_prefix: "its name without the provider before it",
  version_suffix: "its name without the date or version at its end",
  dots_to_dashes: "its name with dots as dashes",
};

export type Prices = Awaited<ReturnType<typeof loadPrices>>;

/** Reads a page, the price of a call, and without filters the models that the team uses. */
export async function loadPrices(
  reader: Reader,
  query: RateListQuery,
  call: MatchQuery | null,
  isFiltered: boolean,
) {
  const { own: all, defaults, cursor } = await ratePage(reader.deps, reader.team, query);
  const own = all.slice(0, OWN_SHOWN);
  return {
    ...{ own, defaults, cursor, call },
    unshown: all.length - own.length,
    names: await actorNames(reader, own.map(({ createdBy }) => createdBy)),
    match: call &&
      (await reader.deps.rateCards.card(reader.team)).find(call.provider, call.model, call.at),
    used: isFiltered ? { rows: [], unpriced: [] } : await readUsed(reader),
  };
}

/** Days of calls whose models are listed, and maximum models and roll-up rows of them. */
const USED_DAYS = 30, USED_SHOWN = 20, USED_ROWS_READ = 2_000;

/** Reads the prices of the models that the team calls most, and the models without a price. */
async function readUsed({ deps: { spend, rateCards, environment }, team }: Reader) {
  const nowMs = environment.now();
  const calls = new Map<string, { readonly name: ModelName; readonly count: number }>();
  const days = [dayOf(nowMs - (USED_DAYS - 1) * DAY_MS), dayOf(nowMs)] as const;
  const rows = await firstRows(spend.rows(team, "model", ...days), USED_ROWS_READ);
  for (const { group, measures } of rows) {
    if (group.kind !== "model" || group.value.model === OTHER_MODELS) continue;
    const id = modelKey(group.value);
    const count = (calls.get(id)?.count ?? 0) + measures.events;
    calls.set(id, { name: group.value, count });
  }
  const card = await rateCards.card(team);
  const most = [...calls.values()].sort((a, b) => b.count - a.count).slice(0, USED_SHOWN);
  const used = most.map(({ name }) => ({
    name,
    row: card.find(name.provider, name.model, nowMs)?.row ?? null,
  }));
  return {
    rows: [...new Set(used.flatMap(({ row }) => row ?? []))],
    unpriced: used.flatMap(({ name, row }) => row === null ? [name] : []),
  };
}
