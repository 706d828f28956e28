/** The timeline of a run: paged events with their data and the explanation of their cost. */
import { gzipSync } from "node:zlib";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { anEvent, aRun, at, eventId, runId } from "../support/builders/requests.ts";
import { type Reader, session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { aCall, ATLAS, putPrice, sendEvents, TIERED } from "../support/oracles/run_cost.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

/** Returns the ids of the events on a page, in order. */
function shownOn(html: string): string[] {
  return [...html.matchAll(/<tr role="row" id="(evt_eu_[0-9a-f]{32})"/g)].map(([, id = ""]) => id);
}

/** Returns the path of the link to more events; null on the last page. */
function nextOf(html: string): string | null {
  const [, to] = /<a id="more" class="[^"]*" rel="next" href="([^"#]*)#timeline"/.exec(html) ?? [];
  return to?.replaceAll("&amp;", "&") ?? null;
}

/** Returns the row of an event. */
function rowOf(html: string, n: number): string {
  return html.split(`<tr role="row" id="${eventId(n)}"`)[1]?.split("</tr>")[0] ?? "";
}

async function pageOf(h: Harness, key?: string): Promise<string> {
  const reader: Reader = await signedIn(h, key);
  return (await reader.get(PAGE)).text;
}

/** Returns the panel of an event that is selected. */
async function stepOf(h: Harness, n: number, key?: string): Promise<string> {
  const { text } = await (await signedIn(h, key)).get(`${PAGE}?event=${eventId(n)}`);
  return text.split('id="step"')[1]?.split("</aside>")[0] ?? "";
}

session.test("5,000 events are on pages of 100, each event once and in order, and no page is large", async ({ h, reader }) => {
  await h.post("/v1/runs", aRun(1));
  for (let from = 1; from <= 5_000; from += 50) {
    const events = Array.from({ length: 50 }, (_, i) => {
      const data = { message: `line ${from + i} `.padEnd(400, "x") };
      return anEvent(from + i, { data });
    });
    await sendEvents(h, ...events);
  }
  const ids: string[] = [];
  let path: string | null = PAGE;
  let pages = 0;
  while (path !== null) {
    const { status, text } = await reader.get(path);
    assertEquals(status, 200);
    const pageIds = shownOn(text);
    assertEquals(pageIds.length, 100);
    const bytes = gzipSync(text).length;
    assert(bytes < 60_000, `${path} has ${bytes} bytes`);
    ids.push(...pageIds);
    path = nextOf(text);
    pages++;
  }
  assertEquals(pages, 50);
  assertEquals(ids, Array.from({ length: 5_000 }, (_, i) => eventId(i + 1)));
  const last = /<a class="[^"]*" href="([^"#]*)#timeline">Last steps<\/a>/.exec(
    (await reader.get(PAGE)).text,
  );
  assertEquals(shownOn((await reader.get(last?.[1] ?? "")).text).at(-1), eventId(5_000));
});

session.test("the link to further steps opens the next page, and a filter keeps it short", async ({ h, reader }) => {
  await h.post("/v1/runs", aRun(1));
  const failing = { type: "tool_call", data: { name: "fetch", error: "gone" } };
  for (let from = 1; from <= 201; from += 50) {
    const count = Math.min(50, 202 - from);
    await sendEvents(
      h,
      ...Array.from(
        { length: count },
        (_, i) => anEvent(from + i, from + i === 190 ? failing : {}),
      ),
    );
  }
  const { text } = await reader.get(PAGE);
  assertEquals(shownOn(text).length, 100);
  const second = (await reader.get(nextOf(text) ?? "")).text;
  const third = (await reader.get(nextOf(second) ?? "")).text;
  assertEquals(shownOn(third), [eventId(201)]);
  assertMatch(textOf(third), /201 events First steps/);
  assertEquals(nextOf(third), null);
  for (const filter of ["failed=1", "kind=tool", "text=GONE"]) {
    const html = (await reader.get(`${PAGE}?${filter}`)).text;
    assertEquals(shownOn(html), [eventId(190)], filter);
  }
  assertMatch(await reader.words(`${PAGE}?text=nowhere`), /No step matches\./);
});

Harness.test("steps are nested by the spans in their data, and child runs by their parent", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await sendEvents(
    h,
    anEvent(1, { type: "plan", data: { span: { id: "s1" } } }),
    anEvent(2, { data: { message: "inside", span: { id: "s2", parent: "s1" } } }),
    anEvent(3, { data: { message: "beside", span: { parent: "gone" } } }),
  );
  await h.post("/v1/runs", aRun(2, { agent: "helper", parent_run_id: runId(1) }));
  const error = { type: "tool_call", data: { name: "look_up", error: "no such key" } };
  await h.post(`/v1/runs/${runId(2)}/events`, { events: [anEvent(9, error)] });
  for (const n of [2, 1]) {
    await h.post(`/v1/runs/${runId(n)}/finish`, { status: "failed", finished_at: at(5_000) });
  }
  await h.worker.idle();
  const text = await pageOf(h);
  const levels = [...text.matchAll(/<tr role="row" id="([^"]*)"[^>]*aria-level="(\d)"/g)]
    .map(([, id, level]) => `${level} ${id}`);
  assertEquals(levels, [
    `1 ${runId(1)}`,
    `2 ${runId(2)}`,
    `3 ${runId(2)}.${eventId(9)}`,
    `2 ${eventId(1)}`,
    `3 ${eventId(2)}`,
    `2 ${eventId(3)}`,
  ]);
  // The failed child is named, and its failing call is selected.
  assertMatch(textOf(text), /Failed: no such key In helper look_up at/);
  assertMatch(text, new RegExp(`id="${runId(2)}.${eventId(9)}"[^>]*aria-selected="true"`));
});

Harness.test("bars are placed at the time of their events and are as long as their latency", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`/v1/runs/${runId(1)}/finish`, { status: "success", finished_at: at(10_000) });
  await sendEvents(
    h,
    anEvent(1, { ts: at(0), type: "tool_call", data: { name: "a", latency_ms: 5_000 } }),
    anEvent(2, { ts: at(5_000), type: "tool_call", data: { name: "b", latency_ms: 2_500 } }),
    anEvent(3, { ts: at(10_000), data: { message: "end" } }),
  );
  const text = await pageOf(h);
  const bars = [1, 2, 3].map((n) =>
    /<rect [^>]*x="([^"]*)"[^>]*width="([^"]*)"/.exec(rowOf(text, n))?.slice(1)
  );
  assertEquals(bars, [["0%", "50%"], ["50%", "25%"], ["100%", "1.5"]]);
  assertMatch(textOf(rowOf(text, 2)), /Tool call b Starts at \+5 s 2\.5 s/);
  assertMatch(textOf(text), /Step Time 0 2 s 4 s 6 s 8 s Took Cost/);
});

Harness.test("a call's cost is shown as tokens times rate, with the row that priced it", async (h) => {
  const id = await putPrice(h, TIERED);
  await h.post("/v1/runs", aRun(1));
  const tokens = { input_tokens: 200, cached_input_tokens: 50, output_tokens: 1_000_000 };
  await sendEvents(h, aCall(1, { model: "tiered", ...tokens }));
  const step = await stepOf(h, 1);
  const content = textOf(step);
  assertMatch(content, /Tokens 200 in, 1,000,000 out/);
  assertMatch(textOf(rowOf(await pageOf(h), 1)), /\$20\.0010/);
  assertMatch(content, /input 150 5 \$0\.00075 input read from a cache 50 5 \$0\.00025/);
  assertMatch(content, /output 1,000,000 20 \$20 Total \$20\.001/);
  assertMatch(
    content,
    new RegExp(`Priced by ${id} , the team's own row, in force since 2026-01-01`),
  );
  assertMatch(content, /its rates for more than 100 input tokens/);
  const [, search = ""] = /<a href="([^"]*)"><code>/.exec(step) ?? [];
  const reader = await signedIn(h);
  assertMatch(
    await reader.words(search.replaceAll("&amp;", "&")),
    /Calls of tiered They cost this/,
  );
  const key = await h.addKey({ kind: "api_key", scopes: ["read"] });
  assert(!(await stepOf(h, 1, key)).includes("/dashboard/rate-card?"), "a page for admins");
});

Harness.test("a call without a price links admins to the rate card, and explains it to others", async (h) => {
  const key = await h.addKey({ kind: "api_key", scopes: ["read"] });
  await h.post("/v1/runs", aRun(1));
  await sendEvents(h, aCall(1, { model: "atlas&co", provider: "in house", input_tokens: 10 }));
  const ours = await pageOf(h);
  assertMatch(textOf(ours), /1 call without a price/);
  const link = 'href="/dashboard/rate-card/new?provider=in+house&amp;model=atlas%26co">Add a price';
  assert((await stepOf(h, 1)).includes(link));
  const theirs = await pageOf(h, key);
  assert(!theirs.includes("/dashboard/rate-card/new"));
  assertMatch(textOf(await stepOf(h, 1, key)), /A key with the scope admin can add a price/);
  await putPrice(h, { ...ATLAS, model: "other" });
});

Harness.test("data is shown as received, with texts as Markdown", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const data = '{"b":12345678901234567890,"1":1.0,"deep":{"z":[1.50]},"text":"one\\n**two** <3"}';
  const event = `{"id":"${eventId(1)}","type":"x","ts":"${at()}","data":${data}}`;
  const response = await h.post(`/v1/runs/${runId(1)}/events`, `{"events":[${event}]}`);
  assertEquals(response.status, 202);
  const [content = ""] = (await stepOf(h, 1)).split("JSON as sent");
  const values = [...content.matchAll(/<pre[^>]*>([^<]*)<\/pre>/g)].map(([, value = ""]) =>
    value.trim()
  );
  assertEquals(values, [
    "12345678901234567890",
    "1.0",
    '{\n  "z": [\n    1.50\n  ]\n}'.replaceAll('"', "&quot;"),
  ]);
  assert(content.includes("<p>one\n<strong>two</strong> &lt;3</p>"), content);
});

session.test("large data is cut, with a link to the JSON of that event alone", async ({ h, reader }) => {
  await h.post("/v1/runs", aRun(1));
  const same = { ts: at() };
  const text = "word ".repeat(40_000);
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]));
  await sendEvents(h, anEvent(1, same), anEvent(2, { ...same, data: { text } }));
  await sendEvents(h, anEvent(3, { ...same, data: many }), anEvent(4, same));
  for (const n of [2, 3]) {
    const { text: page } = await reader.get(`${PAGE}?event=${eventId(n)}`);
    assert(page.length < 100_000, `${page.length}`);
    const [, to = ""] = /<a href="([^"]*)">Open the complete event/.exec(page) ?? [];
    const raw = await reader.get(to.replaceAll("&amp;", "&"));
    assertEquals(raw.json.events.map(({ id }: { id: string }) => id), [eventId(n)]);
  }
});

session.test("the raw record is the API's response, not a page", async ({ h, reader }) => {
  await h.post("/v1/runs", aRun(1));
  await sendEvents(h, anEvent(1, { data: { message: "<script>alert(1)</script>" } }), anEvent(2));
  await h.worker.idle();
  const { headers, text } = await reader.get(`${PAGE}/raw?events_limit=1`);
  assertEquals(text, (await h.get(`/v1/runs/${runId(1)}?events_limit=1`)).text);
  assertEquals(headers.get("content-type"), "application/json");
  assertEquals(headers.get("x-content-type-options"), "nosniff");
  const outside = await h.get(`${PAGE}/raw`, { key: null, redirect: "manual" });
  assertEquals(outside.status, 303);
});

Harness.test("a run without events says whether none were sent or they were removed by age", async (h) => {
  await h.post("/v1/heartbeats", { id: runId(1), agent: "a" });
  assertMatch(textOf(await pageOf(h)), /A heartbeat has no events of its own/);
  await h.post("/v1/runs", aRun(2, { metadata: { shard: 3 } }));
  await h.post(`/v1/runs/${runId(2)}/events`, { events: [anEvent(1)] });
  await h.worker.idle();
  h.nowMs += 100 * 86_400_000;
  await h.sweep.sweepNow();
  const { text } = await (await signedIn(h)).get(`/dashboard/runs/${runId(2)}`);
  const content = textOf(text);
  assertMatch(content, /1 event removed by age/);
  assertMatch(content, /Payload removed: .* Metadata shard removed by age/);
});

session.test("the numbers of a run include its child runs, in the facts, the tree and a comparison", async ({ h, reader }) => {
  const call = { model: "gpt-4o", provider: "openai", input_tokens: 1_000, output_tokens: 100 };
  const steps = [
    ["llm_call", call],
    ["tool_call", { name: "look_up", error: "no such key" }],
  ] as const;
  for (const n of [1, 2, 3]) {
    const parent = n === 1 ? {} : { parent_run_id: runId(n - 1) };
    await h.post("/v1/runs", aRun(n, parent));
    const events = steps.map(([type, data], i) => anEvent(10 * n + i, { type, data }));
    await h.post(`/v1/runs/${runId(n)}/events`, { events });
  }
  for (const n of [3, 2, 1]) {
    await h.post(`/v1/runs/${runId(n)}/finish`, { status: "success", finished_at: at(5_000) });
  }
  await h.worker.idle();
  const text = await pageOf(h);
  const content = textOf(text);
  assertMatch(
    content,
    /Cost \$0\.0105 \$0\.0035 own Tokens 3\.3K 3K in, 300 out Model calls 3 1 own,/,
  );
  assertMatch(content, /Tool calls 3 1 own, 3 steps failed Child runs 1 \$0\.0070/);
  assertMatch(content, /All Model 3 Tools 3 Logs 0 Failed 3/);
  const costs = [1, 2, 3].map((n) => {
    const row = text.split(`<tr role="row" id="${runId(n)}"`)[1]?.split("</tr>")[0] ?? "";
    return textOf(row).split(" ").at(-1);
  });
  assertEquals(costs, ["$0.0105", "$0.0070", "$0.0035"]);
  const compared = await reader.get(`${PAGE}/compare?with=${runId(3)}`);
  const sums = /Cost \$0\.0105 \$0\.0035 .* Input tokens 3K 1K \+2K .* Failed steps 3 1 \+2/;
  assertMatch(textOf(compared.text), sums);
});
