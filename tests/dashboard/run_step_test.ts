/** The selected step of a run: messages, tool calls and JSON. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { anEvent, aRun, at, eventId, runId } from "../support/builders/requests.ts";
import { session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

/** Sends events and returns the panel of one of them. */
async function stepOf(
  h: Harness,
  n: number,
  ...events: readonly (readonly [string, Record<string, unknown>])[]
): Promise<string> {
  await h.post("/v1/runs", aRun(1));
  const items = events.map(([type, data], i) => anEvent(i + 1, { type, data }));
  assertEquals((await h.post(`/v1/runs/${runId(1)}/events`, { events: items })).status, 202);
  const { text } = await (await signedIn(h)).get(`${PAGE}?event=${eventId(n)}`);
  return text.split('id="step"')[1]?.split("</aside>")[0] ?? "";
}

Harness.test("a model call is shown as messages, with Markdown and the outcome of its tool call", async (h) => {
  const step = await stepOf(
    h,
    1,
    ["llm_call", {
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "first" },
        { role: "assistant", content: "second" },
        { role: "user", content: "Where is **it**?" },
      ],
      choices: [{
        message: {
          role: "assistant",
          content: "[Here](https://x.example/y), ![not](https://x.example/z.png) <b>raw</b>",
          tool_calls: [{ id: "c1", function: { name: "find", arguments: '{"q":1}' } }],
        },
      }],
    }],
    ["tool_call", { name: "find", call_id: "c1", arguments: { q: 1 }, error: "gone" }],
  );
  const content = textOf(step);
  assertMatch(content, /System: Be brief\. .*1 earlier message .*User first/);
  assertMatch(content, /Assistant m second User Where is it \? Assistant m Here , \[image: not\]/);
  assertMatch(content, /find c1 \{ "q": 1 \} Failed gone/);
  assert(step.includes("<strong>it</strong>"));
  assert(
    step.includes('<a href="https://x.example/y" rel="noopener noreferrer nofollow">Here</a>'),
  );
  assert(step.includes("&lt;b&gt;raw&lt;/b&gt;"));
  assert(!/<img|<b>raw/.test(step));
  assertMatch(content, /JSON as sent .*"messages": \[/);
});

Harness.test("a tool call is shown with its result, and each value can be copied", async (h) => {
  const step = await stepOf(h, 1, ["tool_call", { name: "find", args: { q: 1 }, result: [1, 2] }]);
  assertMatch(textOf(step), /find \{ "q": 1 \} Result \[ 1, 2 \]/);
  const copied = [...step.matchAll(/data-copy="([^"]*)"/g)].map(([, id]) => id);
  assertEquals(copied, ["tool-input", "tool-result", "raw-json"]);
  for (const id of copied) assert(step.includes(`id="${id}"`), id);
});

Harness.test("long texts are shown as text, and a panel is bounded", async (h) => {
  const long = "**word** ".repeat(2_000);
  const messages = Array.from({ length: 12 }, () => ({ role: "user", content: long }));
  const step = await stepOf(h, 1, ["llm_call", { model: "m", messages, text: "**short**" }]);
  assert(step.includes("<strong>short</strong>"));
  assert(!step.includes("<strong>word</strong>"));
  assert(step.length < 120_000, `${step.length}`);
});

session.test("the selected step of a child run is read with its run", async ({ h, reader }) => {
  await h.post("/v1/runs", aRun(1));
  await h.post("/v1/runs", aRun(2, { agent: "helper", parent_run_id: runId(1) }));
  await h.post(`/v1/runs/${runId(2)}/events`, { events: [anEvent(7)] });
  await h.worker.idle();
  const { text } = await reader.get(`${PAGE}?in=${runId(2)}&event=${eventId(7)}`);
  assertMatch(text, new RegExp(`id="${runId(2)}.${eventId(7)}"[^>]*aria-selected="true"`));
  assertMatch(textOf(text), /Log log At \+7 ms Agent helper Log line 7/);
  const unknown = await reader.get(`${PAGE}?event=${eventId(99)}`);
  assertMatch(textOf(unknown.text), /The selected step is not on this page/);
});

Harness.test("the row of a model call begins with the answer, in the shapes of all providers", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const answers = [
    { choices: [{ message: { role: "assistant", content: "from choices" } }] },
    { content: [{ type: "text", text: "from content" }, { type: "tool_use", name: "find" }] },
    { candidates: [{ content: { role: "model", parts: [{ text: "from candidates" }] } }] },
    { text: "from text" },
    { choices: [{ message: { content: null, tool_calls: [{ function: { name: "find" } }] } }] },
  ];
  const events = answers.map((data, i) =>
    anEvent(i + 1, { type: "llm_call", data: { model: "m", ...data } })
  );
  assertEquals((await h.post(`/v1/runs/${runId(1)}/events`, { events })).status, 202);
  const { text } = await (await signedIn(h)).get(PAGE);
  const shown = [...text.matchAll(/<b>m<\/b><span class="args">([^<]*)</g)].map(([, args]) => args);
  assertEquals(shown, ["from choices", "from content", "from candidates", "from text", "find"]);
});

Harness.test("texts in outputs and results are Markdown, also where JSON is sent as a text", async (h) => {
  const result = JSON.stringify({ report: "One\n\n**two**", size: 2 });
  const step = await stepOf(h, 1, ["tool_call", { name: "read", result }]);
  assert(step.includes("<strong>two</strong>"), step);
  assertMatch(textOf(step), /Result report One two size 2/);
  await h.post(`/v1/runs/${runId(1)}/finish`, {
    status: "success",
    finished_at: at(5_000),
    output: {
      answer: "**three**",
      parts: { report: "One\n\n**four**" },
      list: '{"big":12345678901234567890}',
    },
  });
  const { text } = await (await signedIn(h)).get(PAGE);
  for (const word of ["three", "four"]) assert(text.includes(`<strong>${word}</strong>`), word);
  assertMatch(textOf(text), /list \{ "big": 12345678901234567890 \}/);
});

Harness.test("rows show first words without marks of Markdown, and name failures briefly", async (h) => {
  await h.post("/v1/runs", aRun(1, { goal: "Find **it**" }));
  const rows = [
    ["llm_call", { model: "m", text: "# Plan\n\n1. the `order`\n2. [refund](https://x.example)" }],
    ["tool_call", { name: "a", error: "The ledger answered 502: upstream connect error" }],
    ["tool_call", { name: "b", error: "The call timed out after 10 s of waiting for it" }],
    ["tool_call", { name: "c", error: "ReadError: connection lost" }],
    ["tool_call", { name: "d", error: "gone" }],
  ] as const;
  const events = rows.map(([type, data], i) => anEvent(i + 1, { type, data }));
  assertEquals((await h.post(`/v1/runs/${runId(1)}/events`, { events })).status, 202);
  const { text } = await (await signedIn(h)).get(PAGE);
  assertMatch(text, /<h1>Find it<\/h1>/);
  assertMatch(text, /<span class="args">Plan the order refund<\/span>/);
  const tags = [...text.matchAll(/<span class="tag bad">([^<]*)</g)].map(([, tag]) => tag);
  assertEquals(tags, ["502", "timed out", "ReadError", "gone"]);
});

Harness.test("a call without messages shows only what its heading and its cost do not", async (h) => {
  const facts = { provider: "openai", model: "gpt-4o", latency_ms: 5, input_tokens: 7 };
  const step = await stepOf(h, 1, ["llm_call", { ...facts, output_tokens: 3, temperature: 0.2 }]);
  assertMatch(
    textOf(step),
    /Tokens 7 in, 3 out This call was sent without messages\. temperature 0\.2 /,
  );
  const members = [...step.matchAll(/<dt>([^<]*)<\/dt><dd><pre/g)].map(([, name]) => name);
  assertEquals(members, ["temperature"]);
});
