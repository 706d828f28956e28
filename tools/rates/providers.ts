/**
 * Data about providers that the price data lack: their order. `aliases.json` has the names in
 * OpenTelemetry's `gen_ai.system` and `gen_ai.provider.name`, and those of client libraries.
 */

/** Makers of models, the most used first: their own price is the expected one. */
const MAKERS = [
  "openai,anthropic,google,mistral,x-ai,deepseek,cohere,moonshotai,minimax,zai,zhipuai",
  "perplexity,voyageai,arcee,typesafe",
].join().split(",");

/** Resellers of models, at their own prices: clouds, hosts, subscriptions. */
const SELLERS = [
  "aws,azure,cloudflare",
  "groq,cerebras,together,fireworks,baseten,novita,ovhcloud,doubleword,modal,avian,quicksilverpro",
  "cursor,github-copilot",
].join().split(",");

const ORDER = [...MAKERS, ...SELLERS];

/** Searched after all others: it sells models of the others. */
const LAST = "openrouter";

/** Sorts ids by the search order for calls that name no provider; unknown ones near the end. */
export function orderOf(ids: readonly string[]): string[] {
  const rank = (id: string): number => {
    if (id === LAST) return ORDER.length + 1;
    const at = ORDER.indexOf(id);
    return at === -1 ? ORDER.length : at;
  };
  return [...ids].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** Returns true for a provider that makes the models it sells. */
export function isMaker(id: string): boolean {
  return MAKERS.includes(id);
}
