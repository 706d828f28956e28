/**
 * Products that send traces: the lines that connect each, what it shows, and what it does not send.
 * The page Connect and `docs/CONNECT.md` have them from here.
 *
 * @module
 */

/** A product, or several that are connected by the same lines. */
export interface Product {
  /** Its name in links and in the store. */
  readonly slug: string;
  /** Name. */
  readonly name: string;
  /** Lines to paste, with {@link ENDPOINT} and {@link KEY}. */
  readonly lines: readonly string[];
  /** Contents of its runs. */
  readonly shows: string;
  /** Contents that it does not send; empty if none is known. */
  readonly lacks: string;
  /** Names of the instrumentations that send its spans. */
  readonly scopes: RegExp;
  /**
   * Evidence: tests run the product itself with these lines (`live`), they send what it sent once
   * (`recorded`), or its documentation says so.
   */
  readonly evidence: "live" | "recorded" | "documentation";
}

/** Place of the service's origin in a line. */
export const ENDPOINT = "{endpoint}";

/** Place of a key in a line. */
export const KEY = "{key}";

/** Lines that any exporter of OpenTelemetry reads. */
export const STANDARD_LINES: readonly string[] = [
  `export OTEL_EXPORTER_OTLP_ENDPOINT=${ENDPOINT}`,
  "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
  `export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer ${KEY}"`,
];

const NO_MESSAGES = "messages, unless it is set to capture them";

/** All products, in the order of the page. The first whose scopes match is the one that was heard. */
export const PRODUCTS: readonly Product[] = [
  {
    slug: "openai",
    name: "OpenAI by OpenTelemetry (JS, Python)",
    lines: STANDARD_LINES,
    shows: "each request as a run with one call",
    lacks: `cached tokens; tokens of streams without include_usage; ${NO_MESSAGES}`,
    scopes:
      /^(?:@opentelemetry\/instrumentation-openai|opentelemetry\.(?:instrumentation\.(?:openai_v2|genai\.openai)|util\.genai\.handler))$/,
    evidence: "live",
  },
  {
    slug: "gemini-bedrock",
    name: "Gemini and Bedrock by OpenTelemetry",
    lines: STANDARD_LINES,
    shows: "each request as a run with its calls and tools",
    lacks: `all but the last request of automatic calls; ${NO_MESSAGES}`,
    scopes: /^opentelemetry\.instrumentation\.(?:google_genai|botocore\.bedrock-runtime)$/,
    evidence: "recorded",
  },
  {
    slug: "anthropic",
    name: "Anthropic's SDK (JS, Python)",
    lines: [...STANDARD_LINES, "# any tracer provider: the SDK traces itself"],
    shows: "each request as a run with one call",
    lacks: NO_MESSAGES,
    scopes: /^com\.anthropic\.sdk\./,
    evidence: "recorded",
  },
  {
    slug: "openllmetry",
    name: "OpenLLMetry, Traceloop",
    lines: [`export TRACELOOP_BASE_URL=${ENDPOINT}`, `export TRACELOOP_API_KEY=${KEY}`],
    shows: "workflows, agents, tasks, tools and calls with their messages",
    lacks: "cached tokens of OpenAI in JS",
    scopes:
      /^(?:@traceloop\/|traceloop\.|opentelemetry\.instrumentation\.(?:openai\.v\d|anthropic)$)/,
    evidence: "recorded",
  },
  {
    slug: "claude-agent-sdk",
    name: "Claude Agent SDK by OpenInference",
    lines: STANDARD_LINES,
    shows: "agents and tools",
    lacks: "single calls: the agent has their sum",
    scopes: /claude[-_]agent[-_]sdk/,
    evidence: "documentation",
  },
  {
    slug: "frameworks",
    name: "Agno, CrewAI, LlamaIndex, OpenAI Agents by OpenInference",
    lines: STANDARD_LINES,
    shows: "crews, agents, handoffs, tools and calls with their messages",
    lacks: "the names of LlamaIndex' agents",
    scopes: /^openinference\.instrumentation\.(?:agno|crewai|llama_index|openai_agents)$/,
    evidence: "recorded",
  },
  {
    slug: "openinference",
    name: "OpenInference, Phoenix",
    lines: STANDARD_LINES,
    shows: "chains, agents, tools and calls with their messages",
    lacks: "tokens of streams without usage",
    scopes: /^(?:@arizeai\/openinference-|openinference\.)/,
    evidence: "live",
  },
  {
    slug: "vercel",
    name: "Vercel AI SDK 7",
    lines: [
      ...STANDARD_LINES,
      "// registerTelemetry(new OpenTelemetry()) of @ai-sdk/otel, and for each call",
      '// telemetry: { functionId: "my-agent" }',
    ],
    shows: "the agent by its functionId, with steps, calls, tools and messages",
    lacks: "",
    scopes: /^gen_ai$/,
    evidence: "live",
  },
  {
    slug: "vercel-6",
    name: "Vercel AI SDK 6",
    lines: [
      ...STANDARD_LINES,
      '// experimental_telemetry: { isEnabled: true, functionId: "my-agent" }',
    ],
    shows: "the agent by its functionId, with calls, tools and messages",
    lacks: "",
    scopes: /^ai$/,
    evidence: "recorded",
  },
  {
    slug: "claude-code",
    name: "Claude Code",
    lines: [
      ...STANDARD_LINES,
      "export CLAUDE_CODE_ENABLE_TELEMETRY=1 CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1",
      "export OTEL_TRACES_EXPORTER=otlp",
    ],
    shows: "each prompt as a run with its calls and tools",
    lacks: "prompts and answers, unless it is set to send them",
    scopes: /^com\.anthropic\.claude_code\./,
    evidence: "recorded",
  },
  {
    slug: "langfuse",
    name: "Langfuse's SDKs (JS 4, Python 3 and later)",
    lines: [
      `export LANGFUSE_HOST=${ENDPOINT} LANGFUSE_BASE_URL=${ENDPOINT}`,
      `export LANGFUSE_PUBLIC_KEY=any LANGFUSE_SECRET_KEY=${KEY}`,
    ],
    shows: "the tree of observations with messages; user and session as labels",
    lacks: "response ids",
    scopes: /^langfuse-sdk$/,
    evidence: "live",
  },
  {
    slug: "langsmith",
    name: "LangSmith's OTLP form",
    lines: [
      ...STANDARD_LINES,
      "export LANGSMITH_TRACING=true LANGSMITH_OTEL_ENABLED=true LANGSMITH_OTEL_ONLY=true",
    ],
    shows: "graphs as a tree with their calls, tools and messages",
    lacks: "the status of a span: a failure is known by its exception",
    scopes: /^langsmith$/,
    evidence: "recorded",
  },
  {
    slug: "pydantic",
    name: "Pydantic AI, Logfire",
    lines: [
      ...STANDARD_LINES,
      "# logfire.configure(send_to_logfire=False); Agent.instrument_all()",
    ],
    shows: "agents that call agents, with tools, calls and messages",
    lacks: "",
    scopes: /^(?:pydantic-ai|logfire(?:\..+)?)$/,
    evidence: "recorded",
  },
  {
    slug: "litellm",
    name: "LiteLLM",
    lines: [
      '# litellm.callbacks = ["otel"]',
      `export OTEL_EXPORTER=otlp_http OTEL_ENDPOINT=${ENDPOINT}/v1/traces`,
      `export OTEL_HEADERS="Authorization=Bearer ${KEY}"`,
    ],
    shows: "each request as a run with one call and its messages",
    lacks: "the provider's response id",
    scopes: /^litellm$/,
    evidence: "recorded",
  },
  {
    slug: "mlflow",
    name: "MLflow",
    lines: [...STANDARD_LINES, "export MLFLOW_ENABLE_OTLP_EXPORTER=true"],
    shows: "agents, tools and calls with their messages",
    lacks: "tokens of embeddings",
    scopes: /^mlflow\./,
    evidence: "recorded",
  },
  {
    slug: "adk-strands",
    name: "Google ADK, Semantic Kernel, Strands",
    lines: STANDARD_LINES,
    shows: "agents, tools and calls",
    lacks: `cached tokens with Semantic Kernel; ${NO_MESSAGES}`,
    scopes: /^(?:gcp\.vertex\.agent|semantic_kernel\..+|strands\..+)$/,
    evidence: "recorded",
  },
  {
    slug: "openlit",
    name: "OpenLIT",
    lines: STANDARD_LINES,
    shows: "each request as a run with one call and its messages",
    lacks: "tokens of streams without usage: it sends guesses",
    scopes: /^openlit/,
    evidence: "recorded",
  },
  {
    slug: "n8n",
    name: "n8n 2.19",
    lines: [
      `export N8N_OTEL_ENABLED=true N8N_OTEL_EXPORTER_OTLP_ENDPOINT=${ENDPOINT}`,
      `export N8N_OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer ${KEY}"`,
    ],
    shows: "each workflow as a run with its nodes",
    lacks: "",
    scopes: /^n8n/,
    evidence: "documentation",
  },
];

/** All products by their slugs. */
export const PRODUCTS_BY_SLUG: ReadonlyMap<string, Product> = new Map(
  PRODUCTS.map((product) => [product.slug, product]),
);

/** Returns the lines of a product as one text, for a service and a key. */
export function linesFor({ lines }: Pick<Product, "lines">, endpoint: string, key: string): string {
  return lines.join("\n").replaceAll(ENDPOINT, endpoint).replaceAll(KEY, key);
}

/** Returns the products that some spans come from. */
export function productsOf(spans: readonly { readonly scope: string }[]): ReadonlySet<string> {
  const products = new Set<string>();
  for (const scope of new Set(spans.map((span) => span.scope))) {
    const product = PRODUCTS.find(({ scopes }) => scopes.test(scope));
    if (product !== undefined) products.add(product.slug);
  }
  return products;
}
