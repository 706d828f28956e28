/**
 * The built-in rate card, indexed by name.
 *
 * `deno task rates` generates `default_rates.json`; `docs/RATES.md` describes how.
 *
 * @module
 */
import table from "./default_rates.json" with { type: "json" };
import { defaultBatchPercent, type RateRow, type Rates, type RateTier } from "./rates.ts";
import { dotsToDashes, providerKeys } from "./model_names.ts";

/** Rows of a provider's models by name, newest price first. */
export type RowsByName = ReadonlyMap<string, readonly RateRow[]>;

/** Rows of the default rate card with indexes by the names that clients use. */
export interface DefaultRates {
  /** Name and version of the package that is the source of the prices. */
  readonly generatedFrom: string;
  /** All rows, by provider, model and date. */
  readonly rows: readonly RateRow[];
  /** Ids of providers, in lookup order for a call that names none. */
  readonly providers: readonly string[];
  /** Ids of providers that make the models they sell; looked up before all others. */
  readonly makers: readonly string[];
  /** For each provider, the providers whose models it sells at their price, in lookup order. */
  readonly fallbacks: ReadonlyMap<string, readonly string[]>;
  /** Provider id by each of its names, normalized by {@link providerKeys}. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Rows by provider and lower-case name. */
  readonly names: ReadonlyMap<string, RowsByName>;
  /** Rows by provider and name with dots replaced by dashes. */
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
 * Finds the provider on the card by a client's name for it.
 *
 * @returns the id; null if the provider is not on the card, such as a gateway or a self-hosted server
 */
export function findProvider(name: string): string | null {
  const key = providerKeys(name).find((key) => DEFAULT_RATES.aliases.has(key)) ?? "";
  return DEFAULT_RATES.aliases.get(key) ?? null;
}

/** Returns the key of a provider's own rows: its id on the default card, or else its normalized name. */
export function ownProvider(provider: string): string {
  return findProvider(provider) ?? providerKeys(provider)[0];
}

function readTable(generatedFrom: string, providers: readonly JsonProvider[]): DefaultRates {
  const aliases = new Map<string, string>();
  const names = new Map<string, RowsByName>();
  const rows: RateRow[] = [];
  for (const provider of providers) {
    for (const name of [provider.id, ...provider.aliases]) {
      aliases.set(providerKeys(name)[0], provider.id);
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
    // Built lazily: only names that no earlier step finds need it.
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
    // An exact name with dashes takes precedence over one with replaced dots.
    if (key === name || !byName.has(key)) dashed.set(key, dashed.get(key) ?? rows);
  }
  return dashed;
}
