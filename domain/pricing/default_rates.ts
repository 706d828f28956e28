/**
 * The rate card that comes with the service, indexed by name.
 *
 * `default_rates.json` is written by `deno task rates`; how it is made is told in `docs/RATES.md`.
 *
 * @module
 */
import table from "./default_rates.json" with { type: "json" };
import { defaultBatchPercent } from "./batch_rates.ts";
import { dotsToDashes, providerKeys } from "./model_names.ts";
import type { RateRow, Rates, RateTier } from "./rates.ts";

/** Rows of each name of a provider's models, the newest price first. */
export type RowsByName = ReadonlyMap<string, readonly RateRow[]>;

/** A rate card's rows and what is needed to find one by the names clients use. */
export interface DefaultRates {
  /** Name and version of the package the prices are from. */
  readonly generatedFrom: string;
  /** All rows: by provider, model and date. */
  readonly rows: readonly RateRow[];
  /** Ids of providers, in the order they are asked when a call names none. */
  readonly providers: readonly string[];
  /** Those of them that make the models they sell; they are asked before all others. */
  readonly makers: readonly string[];
  /** Providers whose models a provider sells at their price, in the order they are asked. */
  readonly fallbacks: ReadonlyMap<string, readonly string[]>;
  /** Provider by each of its names, in the form of {@link providerKeys}. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Rows by provider and name in lower case. */
  readonly names: ReadonlyMap<string, RowsByName>;
  /** The same by the names with dots as dashes. */
  readonly dashed: () => ReadonlyMap<string, RowsByName>;
}

interface JsonRates {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly write?: number;
}

interface JsonPrices extends JsonRates {
  readonly from?: string;
  readonly tiers?: readonly (JsonRates & { readonly above: number })[];
}

interface JsonProvider {
  readonly id: string;
  readonly maker: boolean;
  readonly aliases: readonly string[];
  readonly fallback: readonly string[];
  readonly models: readonly {
    readonly id: string;
    readonly names: readonly string[];
    readonly prices: readonly JsonPrices[];
  }[];
}

/** The default card. */
export const DEFAULT_RATES: DefaultRates = readTable(table.generated_from, table.providers);

/**
 * Tells which provider of the card a client means.
 *
 * @returns null when the card knows no such provider: a gateway, or somebody's own machine
 */
export function findProvider(card: DefaultRates, name: string): string | null {
  for (const key of providerKeys(name)) {
    const id = card.aliases.get(key);
    if (id !== undefined) return id;
  }
  return null;
}

function readTable(generatedFrom: string, providers: readonly JsonProvider[]): DefaultRates {
  const aliases = new Map<string, string>();
  const names = new Map<string, RowsByName>();
  const rows: RateRow[] = [];
  for (const provider of providers) {
    for (const name of [provider.id, ...provider.aliases]) {
      for (const key of providerKeys(name).slice(0, 1)) aliases.set(key, provider.id);
    }
    names.set(provider.id, readModels(provider, rows));
  }
  let dashed: ReadonlyMap<string, RowsByName> | undefined;
  return {
    generatedFrom,
    rows,
    providers: providers.map(({ id }) => id),
    makers: providers.filter(({ maker }) => maker).map(({ id }) => id),
    fallbacks: new Map(providers.map(({ id, fallback }) => [id, fallback])),
    aliases,
    names,
    // Only names that were not found before are looked up so, and most never are.
    dashed: () => dashed ??= new Map([...names].map(([id, byName]) => [id, dashNames(byName)])),
  };
}

function readModels({ id: provider, models }: JsonProvider, all: RateRow[]): RowsByName {
  const byName = new Map<string, readonly RateRow[]>();
  for (const { id: model, names, prices } of models) {
    const rows = prices.map((one) => rowOf(provider, model, one));
    all.push(...rows);
    const newestFirst = rows.toReversed();
    byName.set(model.toLowerCase(), newestFirst);
    for (const name of names) byName.set(name, newestFirst);
  }
  return byName;
}

function rowOf(provider: string, model: string, prices: JsonPrices): RateRow {
  const { from, tiers = [] } = prices;
  const row: RateRow = {
    id: `default/${provider}/${model}${from === undefined ? "" : `@${from}`}`,
    source: "default",
    provider,
    model,
    from: from === undefined ? null : Date.parse(from),
    rates: ratesOf(prices),
    tiers: tiers.map((tier): RateTier => ({ aboveInputTokens: tier.above, rates: ratesOf(tier) })),
  };
  const batchPercent = defaultBatchPercent(row);
  return batchPercent === null ? row : { ...row, batchPercent };
}

function ratesOf({ input, output, cached, write }: JsonRates): Rates {
  return { input, output, cachedInput: cached ?? null, cacheWrite: write ?? null };
}

function dashNames(byName: RowsByName): RowsByName {
  const dashed = new Map<string, readonly RateRow[]>();
  for (const [name, rows] of byName) {
    const key = dotsToDashes(name);
    // A name that has dashes itself means itself.
    if (key === name || !byName.has(key)) dashed.set(key, dashed.get(key) ?? rows);
  }
  return dashed;
}
