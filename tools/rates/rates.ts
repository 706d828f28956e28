/** `deno task rates`: writes the default rate card from the price data of a pinned package. */
import {
  calcPrice,
  type MatchLogic,
  type ModelInfo,
  PINNED,
  type Provider,
  waitForUpdate,
} from "@pydantic/genai-prices";
import { type Io, processIo, runCommand, ToolFailure } from "../command.ts";
import { datedPrices } from "./prices.ts";
import aliases from "./aliases.json" with { type: "json" };
import { isMaker, orderOf } from "./providers.ts";

const SPECIFIER = "@pydantic/genai-prices";
const HELP = [
  "deno task rates",
  `Writes domain/pricing/default_rates.json from the data of ${SPECIFIER}.`,
];
const TARGET = new URL("../../domain/pricing/default_rates.json", import.meta.url);

/** Characters that a prefix may end with, but a name does not. */
const LOOSE_END = /[-.:@_/]+$/;

/** Prefixes that are no names: half a date, or fine-tuned models, which have other prices. */
const NOT_A_NAME = /^ft:|[-@]20\d\d$|^.?$/;

/**
 * Generates the rate card from the package's data, with notes about what is left out or
 * rounded; the result is deterministic.
 */
export async function renderRates() {
  // No update is requested, so this returns the data inside the package without a download.
  const soldProviders = await waitForUpdate();
  if (soldProviders === null) throw new ToolFailure(`${SPECIFIER} has no data`);
  const notes: string[] = [];
  const order = orderOf(soldProviders.map(({ id }) => id));
  const providers = soldProviders.toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
    .map((provider) => providerEntry(provider, notes));
  const models = providers.reduce((sum, provider) => sum + provider.models.length, 0);
  notes.push(`${providers.length} providers, ${models} models`);
  return { card: { generated_from: PINNED, providers }, notes };
}

function providerEntry(provider: Provider, notes: string[]) {
  const models = provider.models
    .flatMap((model) => modelEntry(provider, model, notes))
    .sort((a, b) => a.id < b.id ? -1 : 1);
  return {
    id: provider.id,
    maker: isMaker(provider.id),
    aliases: [...new Set(aliasesOf(provider))].sort(),
    fallback: provider.fallback_model_providers ?? [],
    models,
  };
}

const WELL_KNOWN_ALIASES: Readonly<Record<string, readonly string[]>> = aliases;

function aliasesOf({ id, provider_match: match }: Provider): string[] {
  const clauses = match === undefined ? [] : "or" in match ? match.or : [match];
  // A clause that needs two words is no alias, such as for the routes of a marketplace.
  const own = clauses.filter((clause) => !("and" in clause || "or" in clause))
    .flatMap(literals);
  return [...own, ...WELL_KNOWN_ALIASES[id] ?? []].filter((alias) => alias !== id);
}

function modelEntry(provider: Provider, model: ModelInfo, notes: string[]) {
  const where = `${provider.id}/${model.id}`;
  const { prices, problems } = datedPrices(model);
  notes.push(...problems.map((problem) => `${where}: ${problem}`));
  if (prices.length === 0) return [];
  const owner = resolve(provider, model.id);
  if (owner !== undefined && owner !== model.id) {
    notes.push(`${where}: left out, its own name is taken by ${owner}`);
    return [];
  }
  return [{ id: model.id, names: plainNames(provider, model), prices }];
}

/** Returns the id of the model that the price data resolve a name to. */
function resolve(provider: Provider, name: string): string | undefined {
  return calcPrice({}, name.toLowerCase(), { provider })?.model.id;
}

/**
 * Lists names in lower case, sorted: the names that a pattern spells out, and the fixed parts of its
 * prefixes. The price data resolve each to this model.
 */
function plainNames(provider: Provider, model: ModelInfo): string[] {
  const id = model.id.toLowerCase();
  const names = literals(model.match)
    .map((name) => name.toLowerCase())
    .filter((name) =>
      name !== id && !NOT_A_NAME.test(name) && resolve(provider, name) === model.id
    );
  return [...new Set(names)].sort();
}

/** Lists the texts that a pattern compares names with. */
function literals(match: MatchLogic): string[] {
  if ("or" in match) return match.or.flatMap(literals);
  // Parts of a conjunction match too much alone, but a prefix among them names the model.
  if ("and" in match) return match.and.flatMap(literals);
  if ("equals" in match) return [match.equals];
  if ("starts_with" in match) return [match.starts_with.replace(LOOSE_END, "")];
  if ("contains" in match) return [match.contains.replace(LOOSE_END, "")];
  if ("ends_with" in match) return [match.ends_with];
  return [];
}

/** Writes the file; prints notes to the failure stream and the result to the other. */
export function writeRates(args: readonly string[], io: Io): Promise<number> {
  const options = { help: { type: "boolean", short: "h" } } as const;
  return runCommand(io, HELP, { args: [...args], options }, async () => {
    const { card, notes } = await renderRates();
    for (const note of notes) io.fail(note);
    await Deno.writeTextFile(TARGET, JSON.stringify(card));
    const format = ["fmt", "--quiet", TARGET.pathname];
    const { success } = await new Deno.Command(Deno.execPath(), { args: format }).output();
    if (!success) throw new ToolFailure(`deno fmt cannot format ${TARGET.pathname}`);
    io.out(notes.at(-1) ?? "");
    return 0;
  });
}

if (import.meta.main) Deno.exit(await writeRates(Deno.args, processIo()));
