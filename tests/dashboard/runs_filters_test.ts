/** The filters and the paging of the run list. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { RunId } from "../../domain/core/ids.ts";
import { aHeartbeat, at, runId } from "../support/builders/requests.ts";
import { hrefsOf, session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { listedOn, RUNS, storeSome } from "../support/builders/dashboard_runs.ts";
import { aRow } from "../support/builders/exports.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { RUN_FILTERS } from "../../routes/api/runs/run_list.ts";
import { FILTERS } from "../../routes/dashboard/runs/query.ts";
import type { RunListStore } from "../../kv/run_list/run_list.ts";

const DAY_MS = 86_400_000;

session.test("runs: each filter finds the same runs on the page as in the API", async ({ h, reader }) => {
  await storeSome(h);
  const queries = [
    "",
    "status=failed",
    "agent=researcher&status=cancelled",
    "agent=nobody",
    "customer_id=c",
    "feature=f",
    "feature=%28unattributed%29&from=2026-11-01",
    "model=atlas&provider=acme",
    "kind=heartbeat",
    "has=unpriced",
    "has=orphan",
    "min_cost_usd=1.5",
    `q=${runId(1)}`,
    "q=00000003",
    "from=2026-11-20&to=2026-11-21",
    "to=2026-11-20",
    "limit=2",
    "agent=researcher",
  ];
  let rows = 0;
  for (const query of queries) {
    const { runs } = (await h.get(`/v1/runs?${query}`)).json;
    const { status, text } = await reader.get(`${RUNS}?${query}`);
    assertEquals(status, 200, query);
    assertEquals(listedOn(text), runs.map(({ id }: { id: string }) => id), query);
    rows += runs.length;
    // A form sends empty fields too, and a page ignores unknown parameters.
    const submitted = await reader.get(`${RUNS}?status=&limit=&unknown=1&${query}`);
    assertEquals([submitted.status, listedOn(submitted.text)], [200, listedOn(text)], query);
  }
  assert(rows > 15, String(rows));
});

Deno.test("runs: the page has each filter of the API", () => {
  // The page searches texts, ids and periods in fields of their own.
  const others = ["text", "run", "since", "from", "to"];
  const onPage = [...FILTERS.flatMap(({ name, not = name }) => [name, not]), ...others];
  assertEquals(new Set(onPage), new Set(Object.keys(RUN_FILTERS)));
});

session.test("runs: a refused filter shows the API's message with its own label, and keeps the other filters", async ({ h, reader }) => {
  const cases = [
    ["status", "done"],
    ["from", "yesterday"],
    ["min_cost_usd", "-1"],
    ["has", "fun"],
    ["provider", "acme"],
    ["limit", "0"],
    ["q", "<b>"],
  ] as const;
  const labels: Readonly<Record<string, string>> = {
    ...{ status: "Status", min_cost_usd: "Cost at least", has: "Has", provider: "Provider" },
    q: "Id contains",
  };
  for (const [name, value] of cases) {
    const query = new URLSearchParams({ [name]: value, agent: "typed & kept" });
    const api = await h.get(`/v1/runs?${query}`);
    const { status, text } = await reader.get(`${RUNS}?${query}`);
    assertEquals([status, api.status, api.json.field], [400, 400, name]);
    const label = labels[name] ?? `Parameter "${name}"`;
    assertStringIncludes(textOf(text), api.json.message.replace(`Parameter "${name}"`, label));
    assertMatch(text, /<p role="alert"/, name);
    assertStringIncludes(textOf(text), "Agent typed & kept");
    assert(!text.includes("<table"));
  }
  for (const query of ["cursor=x", "x=%FF"]) {
    const { status, text } = await reader.get(`${RUNS}?${query}`);
    assertEquals(status, 400);
    assertMatch(text, /role="alert"/);
    assert(hrefsOf(text).includes(RUNS));
  }
});

session.test("runs: each filter in use links to the list without it, and opens its known values", async ({ h, reader }) => {
  await storeSome(h);
  const { text } = await reader.get(
    `${RUNS}?status=running&agent=researcher&not_agent=a%26b&live=1&limit=7&cursor=`,
  );
  const chips = text.split('<span class="chip">').slice(1);
  assertEquals(chips.map((chip) => textOf(chip.split("<div>")[0] ?? "")), [
    "Agent researcher",
    "Agent is not a&b",
  ]);
  assertEquals(chips.map((chip) => hrefsOf(chip, 'class="off"')[0]), [
    `${RUNS}?status=running&not_agent=a%26b&limit=7&live=1`,
    `${RUNS}?status=running&agent=researcher&limit=7&live=1`,
  ]);
  // Each value is a link that adds or removes it, with its number of runs.
  const [ofAgent = ""] = chips;
  assertEquals(hrefsOf(ofAgent.split("<form")[0] ?? ""), [
    `${RUNS}?status=running&not_agent=a%26b&limit=7&live=1`,
    `${RUNS}?status=running&agent=researcher&limit=7&live=1&not_agent=a%26b&not_agent=researcher`,
    `${RUNS}?status=running&not_agent=a%26b&limit=7&live=1&agent=researcher&agent=nightly`,
    `${RUNS}?status=running&agent=researcher&limit=7&live=1&not_agent=a%26b&not_agent=nightly`,
  ]);
  assertStringIncludes(textOf(ofAgent), "researcher 2 ≠ nightly 1 ≠");
  assert(hrefsOf(text).includes(`${RUNS}?limit=7&live=1`), "clear all");
});

session.test("runs: a preset replaces another one, keeps other filters and says how many runs it has", async ({ h, reader }) => {
  await storeSome(h);
  const presetsOf = (html: string) =>
    html.split('aria-label="Presets"')[1]?.split("</nav>")[0] ?? "";
  const all = presetsOf((await reader.get(RUNS)).text);
  assertEquals(textOf(all.slice(1)), "All Failed 1 Running 1 Slow Expensive");
  const failed = (await reader.get(`${RUNS}?status=failed&status=timeout&agent=nightly`)).text;
  assertEquals(hrefsOf(presetsOf(failed)), [
    `${RUNS}?agent=nightly`,
    `${RUNS}?agent=nightly&status=failed&status=timeout`,
    `${RUNS}?agent=nightly&status=running`,
    `${RUNS}?agent=nightly&unusual=slow`,
    `${RUNS}?agent=nightly&unusual=expensive`,
  ]);
  // A run may be open for longer than the days that are counted.
  h.nowMs += 40 * DAY_MS;
  const later = presetsOf((await (await signedIn(h)).get(RUNS)).text);
  assertEquals(textOf(later.slice(1)), "All Failed Running 1 Slow Expensive");
  // Counts are of all runs, so a filtered list has none.
  assertEquals(textOf(presetsOf(failed).slice(1)), "All Failed Running Slow Expensive");
  assertEquals(hrefsOf(presetsOf(failed), 'aria-current="page"').length, 1);
  assertEquals(listedOn(failed), [runId(3)]);
});

session.test("runs: pages continue to the end with the same filters, list each run once, and link back", async ({ h, reader }) => {
  for (let n = 1; n <= 7; n++) {
    await h.post("/v1/heartbeats", aHeartbeat(n, { started_at: at(n) }));
  }
  await h.post("/v1/heartbeats", aHeartbeat(8, { agent: "other" }));
  await h.worker.idle();
  const listed: string[] = [];
  let path: string | null = `${RUNS}?agent=nightly&limit=3`;
  for (let pages = 0; path !== null; pages++) {
    assert(pages < 3);
    const { text } = await reader.get(path);
    listed.push(...listedOn(text));
    path = hrefsOf(text, 'rel="next"')[0] ?? null;
    if (path !== null) assertMatch(path, /^\/dashboard\/runs\?agent=nightly&limit=3&cursor=/);
    assertEquals(/<a [^>]*>Newest</.test(text), pages > 0);
  }
  assertEquals(listed, [7, 6, 5, 4, 3, 2, 1].map((n) => runId(n)));
});

Deno.test("runs: a search that stopped shows how far it went and a link to continue, even without results", async () => {
  const next = { at: NOON - DAY_MS, run: runId(9) as RunId };
  let rows = [aRow(1)];
  const runList: RunListStore = {
    starts: () => Promise.resolve(null),
    page: () => Promise.resolve({ rows, next, searchedTo: next.at }),
  };
  await using h = await Harness.open({ deps: { runList } });
  const reader = await signedIn(h);
  for (rows of [[aRow(1)], []]) {
    const { text } = await reader.get(`${RUNS}?q=abc`);
    assertStringIncludes(textOf(text), "Searched back to 24 h ago ( 2026-11-20T12:00:00.000Z )");
    assertEquals(hrefsOf(text, 'rel="next"').length, 1);
    assert(!textOf(text).includes("No runs match"));
    assertStringIncludes(textOf(text), "searched since 24 h ago");
    assert(hrefsOf(text).includes(`${RUNS}?q=abc&since=7d`));
  }
});

session.test("runs: the days of a list are written as in its rows' exports, and are UTC", async ({ reader }) => {
  const periodOf = async (query: string) => {
    const { text } = await reader.get(`${RUNS}?${query}`);
    const [, period = ""] =
      /<details class="menu period"><summary[^>]*>(.*?)<\/summary>/s.exec(text) ??
        [];
    return { period: textOf(period), text };
  };
  const { period, text } = await periodOf("from=2026-11-20&to=2026-11-21");
  assertEquals(period, "From 2026-11-20 to 2026-11-21 UTC");
  assertMatch(
    text,
    /<input type="text" value="2026-11-20"[^>]* name="from"[^>]* placeholder="YYYY-MM-DD"/,
  );
  assertEquals((await periodOf("to=2026-11-21")).period, "to 2026-11-21 UTC");
  assertEquals((await periodOf("since=7d")).period, "Last 7 days");
  assertEquals((await periodOf("from=2026-11-20T00:00:00Z")).period, "From 2026-11-20T00:00:00Z");
});

Deno.test("runs: a page has at most 200 rows, whatever limit its URL has", async () => {
  const limits: number[] = [];
  const runList: RunListStore = {
    starts: () => Promise.resolve(null),
    page: (_team, _query, _after, limit) => {
      limits.push(limit);
      return Promise.resolve({ rows: [], next: null, searchedTo: null });
    },
  };
  await using h = await Harness.open({ deps: { runList } });
  const reader = await signedIn(h);
  for (const limit of [7, 200, 1_000]) await reader.get(`${RUNS}?limit=${limit}`);
  assertEquals(limits, [7, 200, 200]);
});
