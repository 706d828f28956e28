/** Pages of runs whose content is made to be expensive. */
import { gzipSync } from "node:zlib";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { EVENT_BYTES_MAX } from "../../domain/core/limits.ts";
import { anEvent, aRun, eventId, runId } from "../support/builders/requests.ts";
import { session, signedIn } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

/** Maximum characters of a page of one run, before compression. */
const PAGE_CHARS_MAX = 100_000;

/** Characters that nearly fill an event. */
const LARGE = EVENT_BYTES_MAX - 2_000;

/** Repeats a text up to `chars` characters. */
function filled(text: string, chars = LARGE): string {
  return text.repeat(Math.floor(chars / text.length));
}

/** A JSON text of empty lists in lists. */
function nested(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

/** A list of `chars` characters of JSON at most. */
function many(item: unknown): unknown[] {
  const chars = JSON.stringify(item).length + 1;
  return Array.from({ length: Math.floor(LARGE / chars) }, () => item);
}

/** A table whose rows the parser completes to all columns of its head. */
const WIDE_TABLE = `|${"a|".repeat(700)}\n|${"-|".repeat(700)}\n${"|\n".repeat(1_500)}`;

/** Large or deep contents of an event, by what they would cost. */
const HOSTILE: Readonly<Record<string, readonly [type: string, data: Record<string, unknown>]>> = {
  "a wide table": ["llm_call", { model: "m", output: WIDE_TABLE }],
  "lines with deep indentation": ["tool_call", {
    name: "find",
    args: JSON.parse(`${"[".repeat(40)}${filled("1,")}1${"]".repeat(40)}`),
  }],
  "arguments as deep text": ["llm_call", {
    model: "m",
    tool_calls: [{ id: "c", function: { name: "find", arguments: nested(100_000) } }],
  }],
  "a result as deep text": ["tool_call", { name: "find", result: nested(100_000) }],
  "a long name of a tool": ["llm_call", {
    model: "m",
    tool_calls: [{ id: "c", function: { name: filled("n") } }],
  }],
  "many calls without arguments": ["llm_call", { model: "m", tool_calls: many({}) }],
  "many answers": ["llm_call", { model: "m", choices: many({ message: { content: "" } }) }],
  "many empty results": ["llm_call", {
    model: "m",
    choices: many({ message: { role: "tool", content: null } }),
  }],
  "many parts without text": ["llm_call", { model: "m", output: many({ type: "image" }) }],
  "many members": [
    "custom",
    Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 1])),
  ],
  "many texts of several lines": ["tool_call", {
    name: "read",
    result: Object.fromEntries(Array.from({ length: 12_000 }, (_, i) => [`k${i}`, "\n"])),
  }],
  "a long line": ["log", { message: filled("a") }],
  "a long level": ["log", { message: "m", level: filled("e") }],
  "a long type of an image": ["llm_call", { model: "m", output: [{ type: filled("image") }] }],
  "messages in messages": ["llm_call", {
    model: "m",
    output: Array.from({ length: 60 }).reduce<unknown>((message) => ({ message }), {
      content: "x",
    }),
  }],
};

session.test("the page of an event stays small, whatever it contains", async ({ h, reader }) => {
  for (const [i, [name, [type, data]]] of Object.entries(HOSTILE).entries()) {
    const id = runId(i + 1);
    await h.post("/v1/runs", aRun(i + 1));
    const sent = await h.post(`/v1/runs/${id}/events`, { events: [anEvent(1, { type, data })] });
    assertEquals(sent.status, 202, sent.text);
    const { status, text } = await reader.get(`/dashboard/runs/${id}?event=${eventId(1)}`);
    assertEquals(status, 200, name);
    assert(text.length < PAGE_CHARS_MAX, `${name}: ${text.length} characters`);
  }
});

Harness.test("the cause of a failure is followed through ten generations of child runs", async (h) => {
  const runs = 14;
  for (let n = 1; n <= runs; n++) {
    await h.post("/v1/runs", aRun(n, n === 1 ? {} : { parent_run_id: runId(n - 1) }));
    const close = { status: "failed", finished_at: new Date(h.nowMs).toISOString() };
    assertEquals((await h.post(`/v1/runs/${runId(n)}/finish`, close)).status, 202);
  }
  await h.worker.idle();
  const { text } = await (await signedIn(h)).get(`/dashboard/runs/${runId(1)}`);
  const where = text.split('class="where"')[1]?.split("</p>")[0] ?? "";
  assertEquals(where.match(/<a /g)?.length, 10);
  assertMatch(text, new RegExp(runId(11)));
  assert(!text.includes(runId(12)));
});

Harness.test("child runs with much data stay folded beyond the characters of a page", async (h) => {
  await h.post("/v1/runs", aRun(1));
  for (let n = 2; n <= 25; n++) {
    await h.post("/v1/runs", aRun(n, { parent_run_id: runId(1) }));
    const data = { name: `tool-${n}`, error: filled("e") };
    const event = anEvent(1, { type: "tool_call", data });
    await h.post(`/v1/runs/${runId(n)}/events`, { events: [event] });
  }
  await h.worker.idle();
  const { text } = await (await signedIn(h)).get(`/dashboard/runs/${runId(1)}`);
  const shown = text.match(/<b>tool-\d+<\/b>/g)?.length ?? 0;
  assert(shown > 0 && shown <= 8, `${shown} child runs are unfolded`);
  assertEquals(text.match(/class="is-run/g)?.length, 25);
});

Harness.test("a goal that cannot be seen is no title", async (h) => {
  await h.post("/v1/runs", aRun(1, { agent: "scout", goal: " \u200b\u202e" }));
  const { text } = await (await signedIn(h)).get(`/dashboard/runs/${runId(1)}`);
  assertMatch(text, /<h1>scout …/);
});

/** Text that does not compress. */
function noise(chars: number): string {
  return crypto.getRandomValues(new Uint8Array(chars)).toBase64().slice(0, chars);
}

Harness.test("a comparison of runs with hundreds of long names is at most 60 KB as sent", async (h) => {
  for (const n of [1, 2]) {
    await h.post("/v1/runs", aRun(n));
    for (let batch = 0; batch < 6; batch++) {
      const events = Array.from({ length: 50 }, (_, i) =>
        anEvent(batch * 50 + i + 1, {
          type: "tool_call",
          data: { name: noise(200), args: noise(200) },
        }));
      assertEquals((await h.post(`/v1/runs/${runId(n)}/events`, { events })).status, 202);
    }
  }
  const { text } = await (await signedIn(h)).get(
    `/dashboard/runs/${runId(1)}/compare?with=${runId(2)}`,
  );
  assertMatch(text, /The first of 600 steps differs/);
  const bytes = gzipSync(text).length;
  assert(bytes < 60_000, `${bytes} bytes`);
});
