/** Converts dollars per million tokens of the price data to integer picodollars per token. */
import type { ConditionalPrice, ModelInfo, ModelPrice } from "@pydantic/genai-prices";

/** Kinds of rates, and their names in the price data. */
const KEYS = {
  input: "input_mtok",
  output: "output_mtok",
  cached: "cache_read_mtok",
  write: "cache_write_mtok",
} as const;

type Kind = keyof typeof KEYS;
const KINDS = Object.keys(KEYS) as Kind[];

const HALF_A_DAY_SECONDS = 43_200;
const DAY_SECONDS = 86_400;

/** Picodollars per token, for the kinds that have a price. */
export type KindRates = Partial<Record<Kind, number>>;

/** Rates from a date on, or from the beginning if it is absent. */
export type DatedPrices = { from?: string } & KindRates & {
  tiers?: ({ above: number } & KindRates)[];
};

/**
 * Returns the prices of a model by date, oldest first, and the data that is left out or rounded.
 */
export function datedPrices(
  model: ModelInfo,
): { readonly prices: readonly DatedPrices[]; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const rows = standardPrices(model).flatMap(({ from, prices }) => {
    if (isFree(model.id, prices)) return [{ ...from, input: 0, output: 0 }];
    if (prices[KEYS.input] !== undefined) return [{ ...from, ...ratesOf(prices, problems) }];
    problems.push(`left out, no price per token (${Object.keys(prices).join(", ") || "empty"})`);
    return [];
  });
  return { prices: rows, problems };
}

/** Returns true for a free model: an empty price means unknown unless the id ends in `:free`. */
function isFree(id: string, prices: ModelPrice): boolean {
  return id.endsWith(":free") && Object.keys(prices).length === 0;
}

/** Returns prices by date, for the time of day that covers most of the day. */
function standardPrices({ prices }: ModelInfo): { from: { from?: string }; prices: ModelPrice }[] {
  if (!Array.isArray(prices)) return [{ from: {}, prices }];
  const main = prices.find(isMostOfTheDay);
  if (main !== undefined) return [{ from: {}, prices: main.prices }];
  return prices.flatMap(({ constraint, prices }, at) => {
    if (constraint?.type === "time_of_date") return [];
    // The first price applies before every date, even if it has a date itself.
    const from = constraint === undefined || at === 0 ? {} : { from: constraint.start_date };
    return [{ from, prices }];
  });
}

function isMostOfTheDay({ constraint }: ConditionalPrice): boolean {
  if (constraint?.type !== "time_of_date") return false;
  const [start, end] = [constraint.start_time, constraint.end_time].map(secondOfDay);
  return ((end ?? 0) - (start ?? 0) + DAY_SECONDS) % DAY_SECONDS > HALF_A_DAY_SECONDS;
}

function secondOfDay(time: string): number {
  return Date.parse(`1970-01-01T${time}`) / 1_000;
}

function ratesOf(prices: ModelPrice, problems: string[]): Omit<DatedPrices, "from"> {
  const starts = KINDS.flatMap((kind) => {
    const price = prices[KEYS[kind]];
    return typeof price === "object" ? price.tiers.map(({ start }) => start) : [];
  });
  const tiers = [...new Set(starts)].sort((a, b) => a - b)
    .map((above) => ({ above, ...ratesAbove(prices, above, problems) }));
  const base = ratesAbove(prices, -1, problems);
  return tiers.length === 0 ? base : { ...base, tiers };
}

/** Returns the rates of a call with just more input tokens than `above`. */
function ratesAbove(prices: ModelPrice, above: number, problems: string[]): KindRates {
  const rates: KindRates = {};
  for (const kind of KINDS) {
    const price = prices[KEYS[kind]];
    if (price === undefined) continue;
    const reached = typeof price === "object"
      ? price.tiers.filter(({ start }) => start <= above).sort((a, b) => a.start - b.start)
      : [];
    const dollars = typeof price === "number" ? price : reached.at(-1)?.price ?? price.base;
    rates[kind] = wholePicodollars(dollars, KEYS[kind], problems);
  }
  // An embedding model has no price for output, and no output.
  return { ...rates, output: rates.output ?? 0 };
}

function wholePicodollars(dollars: number, key: string, problems: string[]): number {
  const exact = dollars * 1e6;
  const whole = Math.round(exact);
  if (Math.abs(exact - whole) > 1e-6) problems.push(`${key} ${dollars} rounded to ${whole / 1e6}`);
  return whole;
}
