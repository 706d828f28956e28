/** Facts of single spans: kind, usage, failure, labels, and the events that they become. */
import { assert, assertEquals } from "@std/assert";
import type { JsonFields } from "../../../../domain/core/body.ts";
import { EVENT_BYTES_MAX } from "../../../../domain/core/limits.ts";
import { complete } from "../../../../domain/core/steps.ts";
import { mapSpans } from "../../../../domain/otlp/map.ts";
import { observe } from "../../../../domain/otlp/observation.ts";
import { checkSpans } from "../../../../domain/otlp/span.ts";
import type { AttributeValue, Span } from "../../../../domain/otlp/span.ts";
import {
  type MadeSpan,
  makeSpan,
  recordedExports,
  runsOf,
  sentSpansOf,
} from "../../../support/builders/spans.ts";

type Attributes = Readonly<Record<string, AttributeValue>>;

function kindOf(fields: MadeSpan): string | null {
  const said = observe(makeSpan(fields));
  return said === null ? null : `${said.kind} ${said.kindName ?? ""}`.trim();
}

function dataOf(span: Span, keepsContent = true): JsonFields {
  const [run] = runsOf([span], keepsContent);
  return JSON.parse(run?.events.at(-1)?.data ?? "{}") as JsonFields;
}

const CALL = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o" };

Deno.test("kinds by convention, in the order of the table", () => {
  const operation = (name: string, others: Attributes = {}): MadeSpan => ({
    attributes: { "gen_ai.operation.name": name, "gen_ai.request.model": "m", ...others },
  });
  const named = (key: string, value: string): MadeSpan => ({
    attributes: { [key]: value, "gen_ai.request.model": "m" },
  });
  const cases: readonly (readonly [MadeSpan, string | null])[] = [
    [{}, null],
    [{ attributes: { "http.request.method": "GET" } }, null],
    [operation("chat"), "llm"],
    [operation("acompletion"), "llm"],
    [operation("embeddings", { "gen_ai.usage.input_tokens": 8 }), "llm embedding"],
    [operation("embeddings"), "step embedding"],
    [operation("invoke_agent"), "agent"],
    [{ ...operation("invoke_agent"), isClient: true }, "step agent"],
    [{ ...operation("invoke_agent"), isClient: true, scope: "autogen-core" }, "agent"],
    [operation("create_agent"), null],
    [operation("execute_tool"), "tool"],
    [operation("execute_tool", { "mcp.method.name": "tools/call" }), "step mcp"],
    [operation("retrieval"), "step retrieval"],
    [operation("odd", { "llm.request.type": "chat" }), "llm"],
    [named("ai.operationId", "ai.generateText"), "agent"],
    [named("ai.operationId", "ai.streamText.doStream"), "llm"],
    [named("ai.operationId", "ai.toolCall"), "tool"],
    [named("mlflow.spanType", '"CHAT_MODEL"'), "llm"],
    [named("mlflow.spanType", '"RETRIEVER"'), "step retrieval"],
    [named("langsmith.span.kind", "llm"), "llm"],
    [named("langsmith.span.kind", "parser"), "step parser"],
    [named("langfuse.observation.type", "generation"), "llm"],
    [named("langfuse.observation.type", "event"), "log"],
    [named("openinference.span.kind", "LLM"), "llm"],
    [named("openinference.span.kind", "GUARDRAIL"), "step guardrail"],
    [named("openinference.span.kind", "constructor"), "step constructor"],
    [{
      scope: "com.anthropic.claude_code.tracing",
      attributes: { "span.type": "constructor" },
    }, "step constructor"],
    [{ ...named("openinference.span.kind", "TOOL"), name: "handoff to B" }, "step handoff"],
    [named("traceloop.span.kind", "workflow"), "agent"],
    [named("traceloop.span.kind", "task"), "chain"],
    [named("gen_ai.tool.name", "search"), "tool"],
    [named("llm.request.type", "embedding"), "step embedding"],
    [{ ...operation("chat"), name: "raw_gen_ai_request" }, null],
    [{ name: "codex_turn", attributes: { "gen_ai.usage.input_tokens": 3 } }, null],
    [operation("chat", { "logfire.span_type": "pending_span" }), null],
    [{ name: "workflow.execute", attributes: { "n8n.workflow.id": "1" } }, "agent"],
    [{ name: "node.execute", attributes: { "n8n.workflow.id": "1" } }, "step node"],
    [{
      scope: "com.anthropic.claude_code.tracing",
      attributes: { "span.type": "tool.execution" },
    }, null],
    [{
      scope: "logfire.openai_agents",
      attributes: { "logfire.msg_template": "Function: {name}", name: "search" },
    }, "tool"],
  ];
  for (const [fields, expected] of cases) {
    assertEquals(kindOf(fields), expected, JSON.stringify(fields));
  }
});

Deno.test("a model's span that tells nothing is a step, but one that answered is a call", () => {
  const silent = { "openinference.span.kind": "LLM" };
  assertEquals(kindOf({ attributes: silent }), "step call");
  assertEquals(kindOf({ attributes: { ...silent, "output.mime_type": "text/plain" } }), "llm");
  assertEquals(kindOf({ attributes: silent, isError: true }), "llm");
});

Deno.test("usage: input includes caches, also where a scope counts them apart", () => {
  const usage = (scope: string, attributes: Attributes) => {
    const { input_tokens, output_tokens, cached_input_tokens, cache_creation_input_tokens } =
      dataOf(makeSpan({ scope, attributes: { ...CALL, ...attributes } }));
    return [input_tokens, output_tokens, cached_input_tokens, cache_creation_input_tokens];
  };
  const cached = {
    "gen_ai.usage.input_tokens": 1_000,
    "gen_ai.usage.output_tokens": 5,
    "gen_ai.usage.cache_read.input_tokens": 300,
    "gen_ai.usage.cache_write.input_tokens": 20,
  };
  const apart = [1_320, 5, 300, 20], whole = [1_000, 5, 300, 20];
  // By its documentation: the recorded exports have larger caches, which show by themselves.
  for (
    const scope of [
      "com.anthropic.claude_code.tracing",
      "@traceloop/instrumentation-anthropic",
      "opentelemetry.instrumentation.botocore.bedrock-runtime",
      "openlit.instrumentation.anthropic",
    ]
  ) {
    const type = { "span.type": "llm_request" };
    assertEquals(usage(scope, { ...type, ...cached }), apart, scope);
  }
  assertEquals(usage("opentelemetry.instrumentation.openai_v2", cached), whole);
  const larger = { ...cached, "gen_ai.usage.cache_read.input_tokens": 3_000 };
  assertEquals(usage("anything", larger), [4_020, 5, 3_000, 20]);
  const vercel = { "ai.operationId": "ai.generateText.doGenerate", ...cached };
  assertEquals(usage("ai", { ...vercel, "ai.model.provider": "anthropic.messages" }), apart);
  assertEquals(usage("ai", { ...vercel, "ai.model.provider": "openai.chat" }), whole);
  const zeros = { "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0 };
  assertEquals(usage("litellm", zeros), [undefined, undefined, undefined, undefined]);
});

Deno.test("the tokens of Claude's agent SDK are on its agents' spans, by its documentation", () => {
  const [run] = runsOf([makeSpan({
    scope: "@arizeai/openinference-instrumentation-claude-agent-sdk",
    attributes: {
      "openinference.span.kind": "AGENT",
      "llm.model_name": "claude-haiku-4-5",
      "llm.token_count.prompt": 100,
      "llm.token_count.completion": 50,
      "llm.token_count.prompt_details.cache_read": 30,
    },
  })]);
  assertEquals(run?.events.map(({ type }) => type), ["step", "llm_call"]);
  const call = run?.events[1]?.facts.call;
  assertEquals([call?.inputTokens, call?.cachedInputTokens, call?.outputTokens], [130, 30, 50]);
  assertEquals(new Set(run?.events.map(({ id }) => id)).size, 2);
});

Deno.test("frameworks are no providers, and costs of instrumentations are not read", () => {
  const data = dataOf(makeSpan({
    attributes: {
      ...CALL,
      "gen_ai.system": "strands-agents",
      "gen_ai.usage.cost": 99,
      "operation.cost": 99,
      "gen_ai.usage.input_tokens": 1,
    },
  }));
  assertEquals([data.provider, data.model], [undefined, "gpt-4o"]);
  assert(!JSON.stringify(data).includes("99"));
});

Deno.test("a failure has its class and its message without a stack", () => {
  const cases: readonly (readonly [MadeSpan, unknown, unknown])[] = [
    [{ isError: true, message: "no\n    at file:///srv/app.js:1" }, "no", undefined],
    [
      { attributes: { "error.type": "<class 'openai.RateLimitError'>" } },
      "RateLimitError",
      "RateLimitError",
    ],
    [
      {
        scope: "langsmith",
        exception: {
          "exception.type": "ValueError",
          "exception.message": "bad\n\nTraceback (most recent call last):\n  File /srv/x.py",
        },
      },
      "bad",
      "ValueError",
    ],
    [{ attributes: { "langfuse.observation.level": "ERROR" } }, "error", undefined],
    [{ isError: true, message: "x".repeat(900) }, "x".repeat(500), undefined],
  ];
  for (const [fields, error, exception] of cases) {
    const data = dataOf(makeSpan({ ...fields, attributes: { ...CALL, ...fields.attributes } }));
    assertEquals([data.status, data.error, data.exception], ["error", error, exception]);
  }
});

Deno.test("an event's id follows from its span", () => {
  const [run] = runsOf([makeSpan({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    startMs: 0x18_2f_00_00_00 + 0.75,
    attributes: CALL,
  })]);
  assertEquals(run?.run, "run_eu_0af7651916cd43dd8448eb211c80319c");
  assertEquals(run?.events[0]?.id, "evt_eu_00182f0000007000b7ad6b7169203331");
  assertEquals(run?.events[0]?.ts, 0x18_2f_00_00_00);
});

Deno.test("labels: customer before user, and metadata within its limits", () => {
  const [run] = runsOf([makeSpan({
    resource: {
      "service.name": "shop",
      "deployment.environment.name": "prod",
      "runledger.metadata.team": "blue",
    },
    attributes: {
      ...CALL,
      "user.id": "u-1",
      metadata: '{"tenant": "acme", "feature": "search"}',
      "session.id": "s".repeat(51),
      "tag.tags": '["beta", "seq:step:1"]',
      "runledger.parent_run_id": "run_eu_0af7651916cd43dd8448eb211c80319c",
    },
  })]);
  const facts = run?.facts;
  assertEquals(facts?.customer?.value, "acme");
  assertEquals(facts?.feature?.value, "search");
  assertEquals(facts?.parent?.value, "run_eu_0af7651916cd43dd8448eb211c80319c");
  assertEquals(facts?.metadata?.map(({ key, value }) => [key, value]), [
    ["service", "shop"],
    ["env", "prod"],
    ["team", "blue"],
    ["tag.beta", "true"],
  ]);
});

Deno.test("the agent of the request wins over names of spans, and a label over it", () => {
  const agentOf = (fields: MadeSpan, agent: string | null) => {
    const spans = [makeSpan(fields)];
    const { runs } = complete(mapSpans(spans, { region: "eu", agent, keepsContent: true }));
    return runs[0]?.facts.agent?.value;
  };
  const attributes = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a\u0007b" };
  assertEquals(agentOf({ attributes }, null), "a b");
  assertEquals(agentOf({ attributes }, "header"), "header");
  const label = { ...attributes, "runledger.agent": "label" };
  assertEquals(agentOf({ attributes: label }, "header"), "label");
  assertEquals(agentOf({ attributes: CALL }, null), "made");
  assertEquals(agentOf({ attributes: CALL, resource: {} }, null), "unknown_service");
});

Deno.test("an agent inside a web request closes its run, if the request has both", () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const web = makeSpan({ traceId, spanId: "1".repeat(16), name: "POST /ask" });
  const agent = makeSpan({
    traceId,
    parentId: web.spanId,
    attributes: { "gen_ai.operation.name": "invoke_agent" },
  });
  const isClosed = (spans: readonly Span[]) => runsOf(spans)[0]?.facts.isClosed ?? false;
  assertEquals(isClosed([web, agent]), true);
  assertEquals(isClosed([agent]), false);
  assertEquals(isClosed([web, { ...agent, isParentRemote: true }]), false);
  assertEquals(isClosed([{ ...web, parentId: "2".repeat(16) }, agent]), false);
  assertEquals(isClosed([web, { ...agent, endMs: web.endMs + 1 }]), false);
});

Deno.test("without content, no prompt, answer or message of any export is kept", async () => {
  const said = /weather|Paris|degrees|Traceback|Rate limit|server had an error|Bonjour|rains/i;
  for (const sent of await recordedExports()) {
    const { spans } = checkSpans(sentSpansOf(sent, false));
    for (const { events } of runsOf(spans, false)) {
      for (const { data } of events) {
        const { tool: _, name: __, ...fields } = JSON.parse(data) as JsonFields;
        assert(!said.test(JSON.stringify(fields)), `${sent.name}: ${data}`);
      }
    }
  }
});

Deno.test("content that would exceed an event's limit is left out and flagged", () => {
  const control = "\u0001".repeat(16_000);
  const [run] = runsOf([makeSpan({
    attributes: {
      ...CALL,
      "gen_ai.system_instructions": control,
      "gen_ai.input.messages": control,
      "gen_ai.output.messages": control,
    },
  })]);
  const event = run?.events[0];
  assert((event?.data.length ?? Infinity) < EVENT_BYTES_MAX);
  assert(event?.flags?.includes("truncated"));
  assertEquals(JSON.parse(event?.data ?? "{}").model, "gpt-4o");
});

Deno.test("a large request is mapped in steps of few spans, also with agents far below their roots", () => {
  const id = (n: number) => n.toString(16).padStart(16, "b");
  // Agents below 3,000 web requests, more than are climbed: none of them ends the run.
  const spans = Array.from({ length: 4_000 }, (_, n) =>
    makeSpan({
      traceId: "c".repeat(32),
      spanId: id(n + 1),
      parentId: n === 0 ? null : id(n),
      attributes: n > 3_000 ? { "gen_ai.operation.name": "invoke_agent" } : {},
    }));
  const steps = mapSpans(spans, { region: "eu", agent: null, keepsContent: true });
  let count = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count++;
  assert(count >= 4_000 / 32, `${count}`);
  assertEquals(step.value.runs.map(({ facts }) => facts.isClosed), [undefined]);
});
