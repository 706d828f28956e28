/** Pages of traces: the tree of spans, with the chat of each call, from recorded exports. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  ERROR_KEYS,
  INPUT_KEYS,
  MODEL_KEYS,
  OUTPUT_KEYS,
  PROVIDER_KEYS,
} from "../../domain/otlp/keys.ts";
import { ATTRIBUTE_CHARS_MAX } from "../../domain/otlp/span.ts";
import { recordedExport } from "../support/builders/spans.ts";
import { signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

/** Rows of the first run of a product: level, kind and name, then the cost. */
const TREES: Readonly<Record<string, readonly string[]>> = {
  ai7: [
    "run weather-agent $0.0102",
    "· span step 1 $0.0051",
    "· · model gpt-4o-2024-08-06 $0.0051",
    "· · tool weather",
    "· span step 2 $0.0051",
    "· · model gpt-4o-2024-08-06 $0.0051",
  ],
  "py-traceloop": [
    "run plan-trip $0.0054",
    "· agent weather-agent $0.0003",
    "· · model gpt-4o-mini-2024-07-18 $0.0001",
    "· · model gpt-4o-mini-2024-07-18 $0.0002",
    "· · tool get_weather",
    "· span summarise.task $0.0051",
    "· · model claude-sonnet-4-5 not counted",
    "· · model claude-sonnet-4-5 $0.0028",
    "· · model claude-sonnet-4-5 not counted",
    "· · model claude-sonnet-4-5 $0.0022",
  ],
  "py-agents-oi": [
    "run Triage agent $0.0005",
    "· span Agent workflow $0.0005",
    "· · agent Triage agent $0.0002",
    "· · · span turn $0.0002",
    "· · · · model gpt-5-mini-2025-08-07 $0.0002",
    "· · · · span handoff to Weather specialist",
    "· · agent Weather specialist $0.0003",
    "· · · span turn $0.0002",
    "· · · · model gpt-4o-mini-2024-07-18 $0.0002",
    "· · · · tool get_weather",
    "· · · span turn $0.0002",
    "· · · · model gpt-4o-mini-2024-07-18 $0.0002",
  ],
  "py-oi-langgraph": [
    "run weather-bot $0.0003",
    "· span model $0.0001",
    "· · model gpt-4o-mini-2024-07-18 $0.0001",
    "· span tools",
    "· · tool weather",
    "· span model $0.0002",
    "· · model gpt-4o-mini-2024-07-18 $0.0002",
  ],
  "py-langfuse": [
    "run answer-ticket $0.0005",
    "· agent weather-agent $0.0005",
    "· · model gpt-4o-mini-2024-07-18 $0.0001",
    "· · tool get_weather",
    "· · model gpt-4o-mini-2024-07-18 $0.0002",
    "· · model gpt-4o-mini-2024-07-18",
    "· · model text-embedding-3-small <$0.0001",
    "· · model gpt-5-mini-2025-08-07 $0.0002",
    "· · model gpt-4o-429",
  ],
  "py-logfire": [
    "run weather_agent $0.0003",
    "· model gpt-4o-mini-2024-07-18 $0.0001",
    "· tool get_weather",
    "· model gpt-4o-mini-2024-07-18 $0.0002",
  ],
};

async function openTrace(h: Harness, name: string) {
  const { contentType, body, expected } = await recordedExport(name);
  h.nowMs = Date.UTC(2026, 10, 22, 12);
  const sent = await h.post("/v1/traces", body, { headers: { "Content-Type": contentType } });
  assertEquals(sent.status, 200);
  await h.worker.idle();
  const path = `/dashboard/runs/run_eu_${expected.runs[0]?.trace}`;
  const browser = await signedIn(h);
  return { path, get: async (query = "") => (await browser.get(path + query)).text };
}

function rowsOf(page: string): string[] {
  return [
    ...page.matchAll(/<tr role="row" id="[^"]*" class="is-(\w+)[^>]*aria-level="(\d)".*?<\/tr>/gs),
  ]
    .map(([row, kind, level]) => {
      const name = textOf(/<b>(.*?)<\/b>/s.exec(row)?.[1] ?? "");
      const cost = textOf(/class="c-cost num">(.*?)<\/td>/s.exec(row)?.[1] ?? "").replace("▲ ", "");
      return `${"· ".repeat(Number(level) - 1)}${kind} ${name} ${cost}`.trim();
    });
}

for (const [name, tree] of Object.entries(TREES)) {
  Deno.test(`${name}: the page of a trace shows the tree of its spans`, async () => {
    await using h = await Harness.open();
    const { get } = await openTrace(h, name);
    assertEquals(rowsOf(await get()), tree);
  });
}

Harness.test("the page of a trace shows the messages of its agent, and which call is not counted", async (h) => {
  const { get } = await openTrace(h, "py-traceloop");
  const panelOf = (page: string) => textOf(page.split('id="step"')[1]?.split("</aside>")[0] ?? "");
  const page = await get();
  // The run shows the span that it begins with, also where a link names that span.
  assertMatch(
    panelOf(page),
    /^[^]*plan-trip .*Assistant plan-trip Thought: I now can give a great answer/,
  );
  const [, first = ""] = /<dt>Event<\/dt>\s*<dd><code>(evt_\w+)/.exec(page) ?? [];
  assertEquals(panelOf(await get(`?event=${first}`)), panelOf(page));
  const [, twin = ""] = /<tr role="row" id="(evt_\w+)"(?:(?!<\/tr>).)*not counted/s.exec(page) ??
    [];
  const shown = await get(`?event=${twin}`);
  const panel = panelOf(shown);
  assertMatch(
    panel,
    /Sent by opentelemetry\.instrumentation\.anthropic System: long .*User Thought: .*Assistant/,
  );
  assertMatch(panel, /Not counted: another instrumentation sent the same call/);
  const [, counted = ""] = /another instrumentation sent\s*<a href="[^"]*#(evt_\w+)"/.exec(shown) ??
    [];
  assertMatch(
    panelOf(await get(`?event=${counted}`)),
    /Sent by com\.anthropic\.sdk\.python .*= Cost/,
  );
  // An agent takes the time of its calls, so the slowest step is one of these.

  assertMatch(page, /class="is-model(?:(?!<\/tr>).)*aria-label="slowest"/s);
});

Harness.test("content of spans is escaped on the page, cut to its limit, and erased with the run", async (h) => {
  const bad = `"><img src=x onerror=alert(1)></script><script>alert(2)</script>'`;
  const long = `${bad}${"x".repeat(ATTRIBUTE_CHARS_MAX)}`;
  const trace = "c".repeat(32);
  const keys = [...INPUT_KEYS, ...OUTPUT_KEYS, ...ERROR_KEYS, ...MODEL_KEYS, ...PROVIDER_KEYS];
  const names = ["gen_ai.agent.name", "tool.name", "customer_id", "session.id", "error.type"];
  const startNs = `${h.nowMs - 60_000}000000`;
  const spans = ["chat", "execute_tool", bad, "invoke_agent"].map((operation, n) => ({
    traceId: trace,
    spanId: `${n + 1}`.repeat(16),
    ...n < 3 ? { parentSpanId: "4".repeat(16) } : {},
    name: bad,
    startTimeUnixNano: startNs,
    endTimeUnixNano: startNs,
    status: { code: 2, message: bad },
    attributes: [
      { key: "gen_ai.operation.name", value: { stringValue: operation } },
      ...keys.map((key) => ({ key, value: { stringValue: long } })),
      ...names.map((key) => ({ key, value: { stringValue: bad } })),
    ],
  }));
  const body = { resourceSpans: [{ scopeSpans: [{ scope: { name: bad }, spans }] }] };
  const headers = { "Content-Type": "application/json" };
  assertEquals((await h.post("/v1/traces", body, { headers })).status, 200);
  const run = (await h.getFinal(`/v1/runs/run_eu_${trace}`)).json;
  assertEquals([run.goal.length, run.output.length], [ATTRIBUTE_CHARS_MAX, ATTRIBUTE_CHARS_MAX]);
  const { text } = await (await signedIn(h)).get(`/dashboard/runs/run_eu_${trace}`);
  assert(text.includes("&lt;img src=x onerror=alert(1)&gt;"));
  assert(!/<img|<script>|href="javascript/i.test(text));
  assertEquals((await h.request("DELETE", `/v1/runs/run_eu_${trace}`)).status < 300, true);
  await h.work.idle();
  const rows = (await h.dump()).filter((row) => row.includes(`run_eu_${trace}`));
  // Blobs of content are bytes, and a tombstone has none.
  assertEquals(rows.filter((row) => row.includes("Uint8Array")), []);
});
