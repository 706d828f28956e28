/** The page of a run: its state, why it failed, and its relatives. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  aScore,
  at,
  runId,
} from "../support/builders/requests.ts";
import { hrefsOf, session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

/** Matches the row of a failed event that is selected. */
function selectedRow(event: string): RegExp {
  return new RegExp(`<tr role="row" id="${event}" class="[^"]*failed"[^>]*aria-selected="true"`);
}

/** Sends a complete run with its events. */
async function sendRun(
  h: Harness,
  { open = {}, events = [], finish = null }: {
    readonly open?: Record<string, unknown>;
    readonly events?: readonly unknown[];
    readonly finish?: Record<string, unknown> | null;
  },
): Promise<void> {
  assertEquals((await h.post("/v1/runs", aRun(1, open))).status, 202);
  if (events.length > 0) await h.post(`/v1/runs/${runId(1)}/events`, { events });
  if (finish !== null) await h.post(`/v1/runs/${runId(1)}/finish`, aFinish(finish));
  await h.worker.idle();
}

Harness.test("a run's page shows its goal, status, duration, cost and usage", async (h) => {
  const data = { provider: "openai", model: "gpt-4o", input_tokens: 1_000, output_tokens: 100 };
  await sendRun(h, {
    open: {
      goal: "Find the leak",
      customer_id: "a&b",
      feature: "triage",
      metadata: { shard: 3 },
      idle_timeout_seconds: 600,
      idle_timeout_status: "timeout",
    },
    events: [
      anEvent(1, { type: "llm_call", data: { ...data, latency_ms: 800 } }),
      anEvent(2, { type: "tool_call", data: { name: "grep", error: "no such file" } }),
    ],
    finish: { output: { found: true }, scores: { quality: 0.5, useful: false } },
  });
  await h.post(`/v1/runs/${runId(1)}/scores`, aScore(1, { source: "people" }));
  const { status, text } = await (await signedIn(h)).get(PAGE);
  assertEquals(status, 200);
  const content = textOf(text);
  const patterns = [
    /Find the leak success/,
    /Duration 5 s/,
    /Cost \$0\.0035/,
    /Tokens 1\.1K 1K in, 100 out Model calls 1 1 model Tool calls 1 1 step failed/,
    /Customer a&b/,
    /Closes when idle after 10 min, as timeout/,
    /Goal Find the leak Go to the output .*Output found true/,
    /quality 0\.5 the run itself useful ✕ false the run itself quality 0\.125 people/,
    /Metadata shard 3/,
    /Model Calls Input Cached Output Cost gpt-4o openai 1 1,000 0 100 \$0\.0035/,
  ];
  for (const pattern of patterns) assertMatch(content, pattern);
  assert(!/Processing|skipped/.test(content), "all stages are done, or have nothing to do");
  assert(text.includes('href="/dashboard/agents/researcher"'));
  assert(text.includes('href="/dashboard/runs?customer_id=a%26b"'));
  assert(
    text.includes(`curl -sS -u &quot;$RUNLEDGER_KEY:&quot; &quot;${h.url}/v1/runs/${runId(1)}`),
  );
  assert(!/hx-trigger|http-equiv="refresh"/.test(text), "a final run is not polled");
  assertEquals(text.split("found</dt>").length, 2, "the output is shown once");
});

session.test("a failed run shows the reason first, with a link to the failing event", async ({ h, reader }) => {
  await sendRun(h, {
    events: [
      anEvent(1),
      anEvent(2, { type: "tool_call", data: { name: "fetch", error: { message: "503 again" } } }),
      anEvent(3, { data: { message: "Giving up" } }),
    ],
    finish: { status: "failed", output: { error: "The tracker is gone" } },
  });
  const { text } = await reader.get(PAGE);
  const content = textOf(text);
  assertMatch(
    content,
    /Failed: The tracker is gone In fetch at \+2 ms: 503 again Show in timeline/,
  );
  const [, to = "", event = ""] =
    /<a href="([^"]*event=(evt_eu_[0-9a-f]{32})#\2)" data-select/.exec(text) ?? [];
  const eventPage = (await reader.get(to.split("#", 1)[0] ?? "")).text;
  assertMatch(eventPage, selectedRow(event));
  // The page of a failed run opens at the failing step.
  assertMatch(text, selectedRow(event));
});

for (const lastFailed of [371, 204]) {
  Deno.test(`a failed run of 400 events names its last failing event, number ${lastFailed}`, () =>
    namesLastFailure(lastFailed));
}

async function namesLastFailure(lastFailed: number): Promise<void> {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  for (let from = 1; from <= 400; from += 50) {
    const events = Array.from({ length: 50 }, (_, i) => {
      const n = from + i;
      return n === lastFailed || n === 20
        ? anEvent(n, { type: "tool_call", data: { name: `tool-${n}`, status: "error" } })
        : anEvent(n);
    });
    await h.post(`/v1/runs/${runId(1)}/events`, { events });
  }
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ status: "timeout" }));
  const reader = await signedIn(h);
  const { text } = await reader.get(PAGE);
  assertMatch(
    textOf(text),
    new RegExp(`Timed out: error In tool-${lastFailed} at \\+${lastFailed} ms`),
  );
  const [, to = ""] = /<a href="([^"]*events_cursor=[^"]*event=[^"]*)" data-select/.exec(text) ??
    [];
  const eventPage = textOf(
    (await reader.get(to.replaceAll("&amp;", "&").split("#", 1)[0] ?? "")).text,
  );
  const [first, before, after] = [lastFailed - 8, lastFailed - 1, lastFailed + 1];
  const around = new RegExp(`line ${first}.*line ${before}.*tool-${lastFailed}.*line ${after}`);
  // The run opens at its failure, as the link does.
  for (const page of [textOf(text), eventPage]) assertMatch(page, around);
}

session.test("a failure without a reason says what to send, and a note is shown if there is one", async ({ h, reader }) => {
  await sendRun(h, { finish: { status: "failed" } });
  assertMatch(await reader.words(PAGE), /It does not say why: .*"output": {"error"/);
  await h.get(`/v1/ping?id=${runId(2)}&agent=backup&status=fail&metadata=disk+full`);
  const { text } = await reader.get(`/dashboard/runs/${runId(2)}`);
  assertMatch(textOf(text), /Failed: disk full/);
});

session.test("the page of a running run polls, with and without scripts", async ({ h, reader }) => {
  await sendRun(h, { events: [anEvent(1)] });
  h.nowMs += 90_000;
  const { text } = await reader.get(PAGE);
  assertMatch(textOf(text), /running .*Running for 1 min 30 s/);
  assertMatch(text, /<noscript><meta http-equiv="refresh" content="3"/);
  const [, attributes = ""] = /<div id="facts"([^>]*)>/.exec(text) ?? [];
  assertMatch(attributes, new RegExp(`hx-get="${PAGE}" hx-trigger="every 3s" hx-swap="none"`));
  const parts = /hx-select-oob="([^"]*)"/.exec(attributes)?.[1]?.split(",") ?? [];
  assertEquals(parts, ["#facts", "#steps", "#results"]);
  for (const part of parts) assert(text.includes(`id="${part.slice(1)}"`), part);
});

session.test("a run without an opening is shown as such until the opening arrives", async ({ h, reader }) => {
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] });
  const { text } = await reader.get(PAGE);
  assertMatch(textOf(text), /A run without its opening running .*No opening yet:/);
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  await h.post("/v1/runs", aRun(1));
  const complete = await reader.words(PAGE);
  assertMatch(complete, /researcher …00000001 success/);
  assert(!complete.includes("No opening yet"));
});

session.test("late events are reported, and a stated cost is distinguished", async ({ h, reader }) => {
  await sendRun(h, { finish: {} });
  h.nowMs += 1_000;
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] });
  await h.worker.idle();
  assertMatch(await reader.words(PAGE), /Late events: they arrived after the run finished/);
  await h.post("/v1/heartbeats", aHeartbeat(2, { cost_usd: 1.25 }));
  await h.worker.idle();
  const { text } = await reader.get(`/dashboard/runs/${runId(2)}`);
  assertMatch(textOf(text), /success .*Cost \$1\.2500 stated by the agent/);
});

session.test("R6 to R14: the page reports lost data of a run and the affected fields", async ({ h, reader: browser }) => {
  await sendRun(h, {
    open: { started_at: at(90 * 86_400_000), goal: "g".repeat(16_385), parent_run_id: "none" },
    finish: { scores: { quality: null, good: true }, finished_at: at(91 * 86_400_000) },
  });
  const content = await browser.words(PAGE);
  for (
    const words of [
      /Fields not stored: unreadable values: see Runledger-Dropped/,
      /Cut to a limit:/,
      /Affected fields: goal, parent_run_id, scores\./,
      /Starts in the future: more than a day after it arrived/,
    ]
  ) assertMatch(content, words);
  const list = await browser.words("/dashboard/runs");
  assertMatch(list, /fields not stored \+2/);
});

session.test("R2: an output that is not an object is shown, and a text is the reason of a failed run", async ({ h, reader: browser }) => {
  const outputs: [unknown, RegExp][] = [
    [["first", { b: 2 }], /Output \[ "first", \{ "b": 2 \} \]/],
    ["the disk is full", /Failed: the disk is full .*Output the disk is full/],
    [false, /Output false/],
    [7, /Output 7/],
  ];
  for (const [n, [output, wanted]] of outputs.entries()) {
    const path = `/v1/runs/${runId(n)}`;
    await h.post("/v1/runs", aRun(n));
    await h.post(`${path}/finish`, aFinish({ output, status: "failed" }));
    const { status, text } = await browser.get(`/dashboard/runs/${runId(n)}`);
    assertEquals(status, 200);
    assertMatch(textOf(text), wanted);
  }
});

session.test("a run is shown between its parent and its children, each with its status", async ({ h, reader }) => {
  await h.post("/v1/runs", aRun(1, { agent: "parent" }));
  await h.post("/v1/runs", aRun(2, { agent: "middle", parent_run_id: runId(1) }));
  for (let n = 3; n <= 30; n++) {
    const started_at = at(n * 1_000);
    await h.post("/v1/runs", aRun(n, { agent: "child", parent_run_id: runId(2), started_at }));
  }
  await h.post(`/v1/runs/${runId(30)}/finish`, aFinish({ status: "cancelled" }));
  await h.worker.idle();
  const { text } = await reader.get(`/dashboard/runs/${runId(2)}`);
  const content = textOf(text);
  assertMatch(content, new RegExp(`Started by run ${runId(1)} `));
  assert(hrefsOf(text).includes(`/dashboard/runs/${runId(1)}`));
  assertMatch(content, / Agent child Starts at \+30 s .*3 child runs that started earlier/);
  assertEquals(content.match(/ (Running|Agent) child /g)?.length, 25);
});

Harness.test("duration and cost are compared with what is usual for the agent", async (h) => {
  const beat = (n: number, duration_ms: number, cost_usd: number) => {
    const finished_at = at(n * 60_000);
    return aHeartbeat(n, { duration_ms, cost_usd, finished_at });
  };
  h.nowMs += 3_600_000;
  for (let n = 1; n <= 4; n++) await h.post("/v1/heartbeats", beat(n, 3_000, 0.01));
  await h.worker.idle();
  const reader = await signedIn(h);
  const factsOf = async (n: number) => {
    await h.worker.idle();
    const { text } = await reader.get(`/dashboard/runs/${runId(n)}`);
    return textOf(text.split('<dl class="facts')[1]?.split("</dl>")[0] ?? "");
  };
  assert(!/usual/.test(await factsOf(4)), "four runs do not say what is usual");
  await h.post("/v1/heartbeats", beat(5, 6_900, 0.01));
  assertMatch(await factsOf(5), /Duration 6\.9 s 2\.3× usual Cost \$0\.0100 as usual/);
});

Harness.test("the instants say how late a run was received, and a flag says that its clock is ahead", async (h) => {
  h.nowMs += 725_000;
  await sendRun(h, {});
  const reader = await signedIn(h);
  const late = await reader.words(PAGE);
  assertMatch(late, /Received after its start 12 min 5 s \(delayed upload or wrong client clock\)/);
  assert(!late.includes("Clock ahead"));
  await h.post("/v1/runs", aRun(2, { started_at: at(1_025_000) }));
  const ahead = await reader.words(`/dashboard/runs/${runId(2)}`);
  assertMatch(ahead, /Clock ahead: the client's clock, by 5 min or more\./);
  assert(!ahead.includes("Received after its start"));
});

session.test("a deletion asks for confirmation, and is logged under the key's name", async ({ h, reader }) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] });
  const { text } = await reader.get(PAGE);
  assert(
    text.includes(`href="${PAGE}?confirm=delete"`) &&
      !text.includes('<button type="submit" class="btn danger"'),
  );
  const confirmation = (await reader.get(`${PAGE}?confirm=delete`)).text;
  assertMatch(textOf(confirmation), /Delete this run\? It is deleted with its 1 event, .* Keep it/);
  assert(confirmation.includes(`method="post" action="${PAGE}/delete"`));
  assert(!/hx-trigger|http-equiv="refresh"/.test(confirmation), "the confirmation does not reload");
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 200);
  const done = await reader.send(`${PAGE}/delete`);
  assertEquals([done.status, done.headers.get("location")], [303, "/dashboard/runs?done=deleted"]);
  assertMatch(await reader.words("/dashboard/runs?done=deleted"), /Runs .*Deleted\./);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 404);
  const { entries } = (await h.get("/v1/audit")).json;
  const { keys } = (await h.get("/v1/keys")).json;
  assertEquals([entries[0].action, entries[0].actor.id], ["run.deleted", keys[0].id]);
});
