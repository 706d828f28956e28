/** `deno task rates`: writes the default rate card from the price data of a pinned package. */
import { type ModelInfo, PINNED, type Provider, waitForUpdate } from "@pydantic/genai-prices";
import { type Io, processIo, runCommand, ToolFailure } from "../command.ts";
import { formatted } from "../format.ts";
import { plainNames, resolve } from "./names.ts";
import { type DatedPrices, datedPrices } from "./prices.ts";
import { isMaker, orderOf, WELL_KNOWN_ALIASES } from "./providers.ts";

const SPECIFIER = "@pydantic/genai-prices";
const HELP = [
  "deno task rates",
  `Writes domain/pricing/default_rates.json from the data of ${SPECIFIER}.`,
];
const TARGET = new URL("../../domain/pricing/default_rates.json", import.meta.url);

/** The rate card as text, with notes about its generation. */
export interface RenderedRates {
  /** Content of the file. */
  readonly text: string;
  /** Prices left out or rounded, and counts. */
  readonly notes: readonly string[];
}

interface ModelEntry {
  readonly id: string;
  readonly names: readonly string[];
  readonly prices: readonly DatedPrices[];
}

/** Generates the rate card from the package's data; the result is deterministic. */
export async function renderRates(): Promise<RenderedRates> {
  // No update is requested, so this returns the data inside the package without a download.
  const soldProviders = await waitForUpdate();
  if (soldProviders === null) throw new ToolFailure(`${SPECIFIER} has no data`);
  const notes: string[] = [];
  const order = orderOf(soldProviders.map(({ id }) => id));
  const providers = order.map((id) => {
    const provider = soldProviders.find((candidate) => candidate.id === id);
    if (provider === undefined) throw new ToolFailure(`${SPECIFIER} has no provider ${id}`);
    return providerEntry(provider, notes);
  });
  const models = providers.reduce((sum, provider) => sum + provider.models.length, 0);
  notes.push(`${providers.length} providers, ${models} models`);
  const card = JSON.stringify({ generated_from: PINNED, providers });
  return { text: await formatted(card, "json"), notes };
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

function aliasesOf({ id, provider_match: match }: Provider): string[] {
  const clauses = match === undefined ? [] : "or" in match ? match.or : [match];
  // A clause that needs two words is no alias, such as for the routes of a marketplace.
  const aliases = clauses.flatMap((clause) =>
    "contains" in clause
      ? [clause.contains]
      : "equals" in clause
      ? [clause.equals]
      : "starts_with" in clause
      ? [clause.starts_with]
      : []
  );
  return [...aliases, ...WELL_KNOWN_ALIASES[id] ?? []].filter((alias) => alias !== id);
}

function modelEntry(provider: Provider, model: ModelInfo, notes: string[]): ModelEntry[] {
  const where = `${provider.id}/${model.id}`;
  const { prices, problems } = datedPrices(model);
  notes.push(...problems.map((problem) => `${where}: ${problem}`));
  if (prices.length === 0) return [];
  const owner = resolve(provider, model.id);
  if (owner !== undefined && owner !== model) {
    notes.push(`${where}: left out, its own name is taken by ${owner.id}`);
    return [];
  }
  return [{ id: model.id, names: plainNames(provider, model), prices }];
}

/** Writes the file; prints notes to the failure stream and the result to the other. */
export function writeRates(args: readonly string[], io: Io): Promise<number> {
  const options = { help: { type: "boolean", short: "h", default: false } } as const;
  return runCommand(io, HELP, { args: [...args], options }, async () => {
    const { text, notes } = await renderRates();
    for (const note of notes) io.fail(note);
    await Deno.writeTextFile(TARGET, text);
    io.out(`domain/pricing/default_rates.json: ${text.length} characters`);
    return 0;
  });
}

if (import.meta.main) Deno.exit(await writeRates(Deno.args, processIo()));
