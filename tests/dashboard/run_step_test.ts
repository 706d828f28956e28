/** The selected step of a run: messages, tool calls and JSON. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { anEvent, aRun, eventId, runId } from "../support/builders/requests.ts";
import { signedIn, textOf } from "../support/harness/dashboard.ts";
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

Deno.test("a model call is shown as messages, with Markdown and the outcome of its tool call", async () => {
  await using h = await Harness.open();
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
  assertMatch(content, /System Be brief\. .*1 earlier message .*User first/);
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

Deno.test("a tool call is shown with its result, and each value can be copied", async () => {
  await using h = await Harness.open();
  const step = await stepOf(h, 1, ["tool_call", { name: "find", args: { q: 1 }, result: [1, 2] }]);
  assertMatch(textOf(step), /find \{ "q": 1 \} Result \[ 1, 2 \]/);
  const copied = [...step.matchAll(/data-copy="([^"]*)"/g)].map(([, id]) => id);
  assertEquals(copied, ["tool-input", "tool-result", "raw-json"]);
  for (const id of copied) assert(step.includes(`id="${id}"`), id);
});

Deno.test("long texts are shown as text, and a panel is bounded", async () => {
  await using h = await Harness.open();
  const long = "**word** ".repeat(2_000);
  const messages = Array.from({ length: 12 }, () => ({ role: "user", content: long }));
  const step = await stepOf(h, 1, ["llm_call", { model: "m", messages, text: "**short**" }]);
  assert(step.includes("<strong>short</strong>"));
  assert(!step.includes("<strong>word</strong>"));
  assert(step.length < 120_000, `${step.length}`);
});

Deno.test("the selected step of a child run is read with its run", async () => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  await h.post("/v1/runs", aRun(2, { agent: "helper", parent_run_id: runId(1) }));
  await h.post(`/v1/runs/${runId(2)}/events`, { events: [anEvent(7)] });
  await h.worker.idle();
  const reader = await signedIn(h);
  const { text } = await reader.get(`${PAGE}?in=${runId(2)}&event=${eventId(7)}`);
  assertMatch(text, new RegExp(`id="${runId(2)}.${eventId(7)}"[^>]*aria-selected="true"`));
  assertMatch(textOf(text), /Log log At \+7 ms Agent helper Log line 7/);
  const unknown = await reader.get(`${PAGE}?event=${eventId(99)}`);
  assertMatch(textOf(unknown.text), /The selected step is not on this page/);
});

Deno.test("the row of a model call begins with the answer, in the shapes of all providers", async () => {
  await using h = await Harness.open();
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
