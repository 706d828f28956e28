/** Data about providers that the price data lack: their order, and names that clients use. */

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

/** Names in OpenTelemetry's `gen_ai.system` and `gen_ai.provider.name`, and of client libraries. */
export const WELL_KNOWN_ALIASES: Readonly<Record<string, readonly string[]>> = {
  "anthropic": ["claude"],
  "aws": ["amazon-bedrock", "aws.bedrock", "bedrock", "bedrock_converse"],
  "azure": [
    "az.ai.inference",
    "az.ai.openai",
    "azure.ai.inference",
    "azure.ai.openai",
    "azure_ai",
    "azure_openai",
    "azure_text",
    "microsoft",
  ],
  "cloudflare": ["workers-ai"],
  "cohere": ["cohere_chat"],
  "fireworks": ["fireworks-ai"],
  "github-copilot": ["github_copilot"],
  "google": [
    "gcp.gemini",
    "gcp.gen_ai",
    "gcp.vertex_ai",
    "google-ai-studio",
    "google-genai",
    "google-generative-ai",
    "google-gla",
    "google-vertex",
    "google-vertex-anthropic",
    "vertex_ai",
    "vertex_ai_beta",
    "vertexai",
  ],
  "mistral": ["mistral_ai", "mistralai"],
  "moonshotai": ["moonshot-ai", "moonshot"],
  "novita": ["novita-ai"],
  "openai": ["text-completion-openai"],
  "ovhcloud": ["ovh"],
  "perplexity": ["perplexity-ai", "pplx"],
  "together": ["together_ai", "togetherai"],
  "voyageai": ["voyage"],
  "x-ai": ["x_ai", "xai"],
  "zai": ["z-ai"],
  "zhipuai": ["zhipu"],
};

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
