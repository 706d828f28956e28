/** The run list: its rows, empty states, exports, and access. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { hrefsOf, type Reader, session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { listedOn, RUNS, storeSome } from "../support/builders/dashboard_runs.ts";
import { aRow, FakeRunList } from "../support/builders/exports.ts";
import { Harness } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

/** Returns the text of a run's row. */
function rowOf(html: string, n: number): string {
  const row = html.split(/<\/?tr[^>]*>/).find((row) => row.includes(`id="${runId(n)}"`));
  assert(row !== undefined, `no row of run ${n}`);
  return textOf(row);
}

Harness.test("runs: a row shows status, name, agent, labels, duration, cost, tokens and notes of a run", async (h) => {
  const call = (n: number, model: string) =>
    anEvent(n, { type: "llm_call", data: { provider: "openai", model, input_tokens: 1_000_000 } });
  await h.post(
    "/v1/runs",
    aRun(1, { agent: "a/b c", started_at: at(-180_000), customer_id: "acme", feature: "search" }),
  );
  const events = [
    call(1, "gpt-4o"),
    call(2, "unheard-of"),
    anEvent(3, { data: { level: "error" } }),
  ];
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  await h.post(
    `/v1/runs/${runId(1)}/finish`,
    aFinish({ status: "failed", finished_at: at(-90_000) }),
  );
  await h.worker.idle();
  h.nowMs += 5;
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(4)] });
  await h.post("/v1/runs", aRun(2, { started_at: at(-60_000) }));
  await h.post("/v1/heartbeats", aHeartbeat(3, { started_at: at(-45_000), finished_at: at() }));
  await h.post(`/v1/runs/${runId(4)}/finish`, aFinish());
  await h.worker.idle();
  const reader = await signedIn(h);
  const { status, text } = await reader.get(RUNS);
  assertEquals(status, 200);
  assertEquals(
    rowOf(text, 1),
    "failed a/b c …00000001 a/b c acme search today 11:57 1 min 30 s $2.5000 2M " +
      "no price: unheard-of +1",
  );
  assert(hrefsOf(text).includes("/dashboard/agents/a%2Fb%20c"));
  assertEquals(rowOf(text, 2), "running researcher …00000002 researcher today 11:59 1 min – –");
  assertEquals(rowOf(text, 3), "success nightly …00000003 nightly today 11:59 45 s – –");
  // A run without an opening is listed only on request.
  const orphans = await reader.get(`${RUNS}?has=orphan`);
  assertEquals(listedOn(orphans.text), [runId(4)]);
  assertMatch(
    rowOf(orphans.text, 4),
    /A run without its opening not known yet today 12:00 – – – no opening yet$/,
  );
});

session.test("runs: a run is named by the first line of the goal, else of the error or the output, on each page", async ({ h, reader }) => {
  const ended = async (n: number, open: Record<string, unknown>, finish = {}) => {
    await h.post("/v1/runs", aRun(n, { started_at: at(n), ...open }));
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ finished_at: at(n), ...finish }));
  };
  const failed = {
    status: "failed",
    output: { error: { message: "502 from the ledger\nat line 3" } },
  };
  await ended(1, { goal: "\n  Refund order 7\nas asked" });
  await ended(2, { goal: "Refund order 8" }, failed);
  await ended(3, {}, failed);
  await ended(4, {}, { output: "All done.\nBye" });
  await ended(5, {}, { output: { count: 3, report: "Four databases" } });
  await ended(6, { goal: "\u200b" }, { output: [1, 2] });
  await h.worker.idle();
  const { text } = await reader.get(RUNS);
  for (let n = 1; n <= 6; n++) {
    const [, name] = new RegExp(`id="${runId(n)}" href="[^"]*" title="([^"]+)"`).exec(text) ?? [];
    const page = await reader.get(`${RUNS}/${runId(n)}`);
    assertStringIncludes(page.text, `<title>${name} · `);
  }
  const starts = [1, 2, 3, 4, 5, 6].map((n) => rowOf(text, n).split(" researcher ")[0]);
  assertEquals(starts, [
    "success Refund order 7",
    "failed Refund order 8 502 from the ledger",
    "failed 502 from the ledger",
    "success All done.",
    "success Four databases",
    "success [1,2]",
  ]);
});

session.test("runs: without filters the list has root runs, which show their children and what they cost", async ({ h, reader }) => {
  const call = { provider: "openai", model: "gpt-4o", input_tokens: 1_000_000 };
  const run = async (n: number, fields: Record<string, unknown>, finish = {}) => {
    await h.post("/v1/runs", aRun(n, { started_at: at(n), ...fields }));
    const events = [anEvent(n, { type: "llm_call", data: call })];
    await h.post(`/v1/runs/${runId(n)}/events`, { events });
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ finished_at: at(n), ...finish }));
  };
  const failed = { status: "failed", output: { error: "502 from the ledger" } };
  await run(1, { goal: "Ticket 1" }, { status: "failed" });
  await run(2, { goal: "Find the order", parent_run_id: runId(1) });
  await run(3, { goal: "Find the refund", agent: "billing", parent_run_id: runId(1) }, failed);
  const unreachable = { status: "failed", output: { error: "ledger: connect error" } };
  await run(4, { goal: "Ask the ledger", agent: "ledger", parent_run_id: runId(3) }, unreachable);
  // The tool that failed last counts, and the events of run 4 arrive late.
  const tool = (n: number, name: string) =>
    anEvent(n, { type: "tool_call", ts: at(n), data: { name, error: "connect error" } });
  const tools = [tool(41, "get_transfer"), tool(40, "get_account")];
  await h.post(`/v1/runs/${runId(4)}/events`, { events: tools });
  await run(5, { goal: "Ticket 5" });
  await run(6, { parent_run_id: runId(5), agent: "helper" }, failed);
  await h.worker.idle();
  const { text } = await reader.get(RUNS);
  assertEquals(listedOn(text), [runId(5), runId(1)]);
  // The reason of the deepest failure, the agents on the way to it, and its tool.
  const why = "ledger: connect error · billing › ledger › get_transfer";
  assertStringIncludes(rowOf(text, 1), `failed Ticket 1 2 ${why} `);
  assertStringIncludes(rowOf(text, 1), "$10.0000 4M");
  assertMatch(rowOf(text, 5), /^success Ticket 5 1 .* 1 child failed$/);
  assertStringIncludes(textOf(text), "All 2 root runs, newest first");
  const [open = ""] = hrefsOf(text, 'aria-label="Show 2 child runs"');
  assertEquals(open, `${RUNS}?open=${runId(1)}#${runId(1)}`);
  const opened = await reader.get(open.split("#")[0] ?? "");
  assertEquals(listedOn(opened.text), [runId(5), runId(1), runId(2), runId(3)]);
  assertMatch(rowOf(opened.text, 3), /^failed Find the refund 502 from the ledger /);
  assertEquals(hrefsOf(opened.text, 'aria-label="Hide 2 child runs"'), [`${RUNS}#${runId(1)}`]);
  // A filter also finds child runs.
  assertEquals(listedOn((await reader.get(`${RUNS}?agent=billing`)).text), [runId(3)]);
  assertEquals(listedOn((await reader.get(`${RUNS}?root=false`)).text).length, 6);
  const exported = hrefsOf(text, "download");
  assertEquals(exported, [`${RUNS}.csv?root=true`, `${RUNS}.ndjson?root=true`]);
});

Harness.test("runs: a run that took twice the usual time of its agent says so", async (h) => {
  for (const [n, seconds] of [10, 10, 10, 10, 10, 25].entries()) {
    await h.post("/v1/runs", aRun(n, { started_at: at(-1_000 * seconds) }));
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ finished_at: at() }));
  }
  await h.worker.idle();
  const { text } = await (await signedIn(h)).get(RUNS);
  assertMatch(rowOf(text, 5), /2\.5× usual time$/);
  assertMatch(rowOf(text, 4), /–$/);
});

session.test("runs: two ticked runs are compared, another number is refused", async ({ h, reader }) => {
  const pick = (...runs: number[]) =>
    h.get(`/dashboard/compare?${runs.map((n) => `run=${runId(n)}`).join("&")}`, {
      key: null,
      headers: { Cookie: reader.cookie },
      redirect: "manual",
    });
  const two = await pick(1, 2);
  assertEquals(two.status, 303);
  assertEquals(two.headers.get("location"), `${RUNS}/${runId(1)}/compare?with=${runId(2)}`);
  assertEquals((await pick()).headers.get("location"), RUNS);
  for (const runs of [[1], [1, 2, 3]]) {
    const { status, text } = await pick(...runs);
    assertEquals(status, 400);
    assertStringIncludes(textOf(text), "tick exactly two");
  }
});

Deno.test("runs: a cost is shown down to the smallest unit", async () => {
  const amounts = [0n, 1n, 9n, 10n, 123n, 5_000_000_000n, 10n ** 12n, 123_456_789n * 10n ** 12n];
  const rows = amounts.map((amount, n) => aRow(n, { cost: { ...aRow(n).cost, amount } }));
  const page = () => Promise.resolve({ rows, next: null, searchedTo: null });
  await using h = await Harness.open({
    deps: { runList: { page, starts: () => Promise.resolve(null) } },
  });
  const { text } = await (await signedIn(h)).get(RUNS);
  const shown = [...text.matchAll(/<span class="money"(?: title="([^"]*)")?>(.*?)<\/span>/g)];
  const texts = shown.map(([, exact, amount = ""]) => exact ?? textOf(`${amount}</span>`));
  assertEquals(texts, [
    "$0.000000000001",
    "$0.000000000009",
    "$0.00000000001",
    "$0.000000000123",
    "$0.0050",
    "$1.0000",
    "$123,456,789.0000",
  ]);
});

session.test("runs: without runs the page shows a command that sends one; without a match, how to find more", async ({ h, reader }) => {
  const none = await reader.get(RUNS);
  const line = `curl -u "$RUNLEDGER_KEY:" "${h.url}/v1/ping?agent=hello"`;
  assertStringIncludes(textOf(none.text), `No runs yet Paste this into a terminal.`);
  assertStringIncludes(textOf(none.text), line);
  const unlike = await reader.get(`${RUNS}?agent=a`);
  assertMatch(textOf(unlike.text), /No runs match .* clear all of them/);
  assert(!unlike.text.includes("RUNLEDGER_KEY"));
  assertEquals((await h.get("/v1/ping?agent=hello")).status, 200);
  await h.worker.idle();
  assertEquals(listedOn((await reader.get(RUNS)).text).length, 1);
});

session.test("runs: exports equal the API's with the filters of the page, and require a session", async ({ h, reader }) => {
  await storeSome(h);
  const { text } = await reader.get(`${RUNS}?agent=researcher&limit=1&live=1`);
  const files = hrefsOf(text, "download");
  assertEquals(files, [`${RUNS}.csv?agent=researcher`, `${RUNS}.ndjson?agent=researcher`]);
  for (const file of files) {
    const own = await reader.get(file);
    const api = await h.get(file.replace("/dashboard", "/v1"));
    assertEquals(own.text, api.text);
    assertMatch(own.text, new RegExp(runId(2)));
    for (const header of ["content-type", "content-disposition"]) {
      assertEquals(own.headers.get(header), api.headers.get(header));
    }
    const out = await h.get(file, { key: null, redirect: "manual" });
    assertEquals([out.status, out.text], [303, ""]);
  }
  const refused = await reader.get(`${RUNS}.csv?status=done`);
  assertEquals(refused.status, 400);
  assertMatch(textOf(refused.text), /Parameter "status" must be one of/);
});

session.test("runs: an export of ticked rows has these rows only, and none of another team", async ({ h, reader }) => {
  await storeSome(h);
  const { text } = await reader.get(RUNS);
  const bar = /<form id="picked".*?<\/form>/s.exec(text)?.[0] ?? "";
  const files = [...bar.matchAll(/formaction="([^"]*)"/g)].map(([, file = ""]) => file);
  assertEquals(files, [`${RUNS}.csv`, `${RUNS}.ndjson`]);
  const ticked = [1, 3].map((n) => `run=${runId(n)}`).join("&");
  for (const file of files) {
    const { status, text } = await reader.get(`${file}?${ticked}`);
    assertEquals(status, 200);
    const exported = [...text.matchAll(/run_eu_\w+/g)].map(([id]) => id);
    assertEquals(new Set(exported), new Set([runId(1), runId(3)]), file);
    const other = await signedIn(h, (await h.addTeam("team")).key);
    assert(!(await other.get(`${file}?${ticked}`)).text.includes("run_eu"), file);
  }
  assertEquals((await reader.get(`${RUNS}.csv?run=7`)).status, 400);
});

ofInstance(
  "runs: exports of pages and of the API share a team's limit of concurrent exports",
  async () => {
    await using h = await Harness.open({ deps: { runList: new FakeRunList(1_000_000) } });
    const reader = await signedIn(h);
    const open: Response[] = [];
    for (const [path, headers] of half(h, reader).flatMap((way) => [way, way])) {
      open.push(await fetch(h.url + path, { headers }));
    }
    assertEquals(open.map(({ status }) => status), [200, 200, 200, 200]);
    assertEquals((await reader.get(`${RUNS}.csv`)).status, 503);
    assertEquals((await h.get("/v1/runs.csv")).status, 503);
    for (const { body } of open) await body?.cancel();
  },
);

/** Returns the two paths of an export, with their credentials. */
function half(h: Harness, { cookie }: Reader): [string, Record<string, string>][] {
  return [
    [`${RUNS}.csv`, { Cookie: cookie }],
    ["/v1/runs.csv", { Authorization: `Bearer ${h.key}` }],
  ];
}
