/** Agent pages: metrics, name and notes, ping tokens. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { hrefsOf, session, signedIn, textOf, walk } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { aContribution, DOLLAR, storeSpend } from "../support/builders/spend.ts";

const AGENTS = "/dashboard/agents";
const DAY_MS = 86_400_000;

/** Returns the HTML of a table row by the text of its first cell. */
function rowOf(html: string, first: string): string {
  const rows = [...html.matchAll(/<tr>[\s\S]*?<\/tr>/g)].map(([row]) => row);
  return rows.find((row) => textOf(row).startsWith(first)) ?? "";
}

/** Returns the classes of chart segments in document order. */
function coloursOf(html: string): string[] {
  // Icons of the frame have colours of their own.
  const content = html.slice(Math.max(0, html.indexOf("<main")));
  return [...content.matchAll(/<(?:path|rect) class="(\w+)" (?:d=|x="[\d.]+%" )/g)]
    .flatMap(([, colour = ""]) => colour === "place" ? [] : [colour]);
}

async function sendAll(h: Harness, agent: string, statuses: readonly string[], from = 1) {
  for (const [i, status] of statuses.entries()) {
    const fields = { agent, status, cost_usd: 0.5 };
    assertEquals((await h.post("/v1/heartbeats", aHeartbeat(from + i, fields))).status, 202);
  }
  await h.worker.idle();
}

Harness.test("an agent's row shows its last arrival, its open runs, and seven days of failures and costs", async (h) => {
  await sendAll(h, "nightly", ["ok", "ok", "timeout", "fail"]);
  await sendAll(h, "idle", ["start"], 10);
  const day = (ago: number) => new Date(h.nowMs - ago * DAY_MS).toISOString().slice(0, 10);
  const labels = { agent: "nightly" };
  await storeSpend(h, [6, 7].map((ago) => aContribution({ day: day(ago), labels, cost: DOLLAR })));
  h.nowMs += 3 * 3_600_000;
  const { text } = await (await signedIn(h)).get(AGENTS);
  const row = rowOf(text, "nightly");
  assertMatch(
    textOf(row),
    /^nightly 3 h ago – 4 40% Failed: Nov 15: 0%, .* Nov 21: 50% – \$3\.0000 \$1\.0000$/,
  );
  assertMatch(row, /title="2 of 5 that ended"/);
  assertMatch(
    textOf(rowOf(text, "idle")),
    /^idle 3 h ago 1 running 1 – – \$0\.5000 no success, \$0\.5000$/,
  );
});

Harness.test("an agent's days include today and exclude days older than the last 30", async (h) => {
  await sendAll(h, "a", ["ok"]);
  const day = (ago: number) => new Date(h.nowMs - ago * DAY_MS).toISOString().slice(0, 10);
  const run = (ago: number) => aContribution({ day: day(ago), labels: { agent: "a" } });
  await storeSpend(h, [run(30), run(29), run(29), run(1)]);
  const { text } = await (await signedIn(h)).get(`${AGENTS}/a`);
  assertMatch(text, /4 runs in 30 days, .* most on Oct 23: 2/);
  const rows = [...text.matchAll(/<th scope="row">([A-Z][a-z]{2} \d+)</g)].map(([, day]) => day);
  assertEquals(rows, ["Nov 21", "Nov 20", "Oct 23"], "the same as a table, latest first");
});

session.test("the agent list is sorted as requested and hides archived agents by default", async ({ h, reader }) => {
  for (let n = 0; n < 23; n++) {
    h.nowMs++;
    await sendAll(h, `a${String(n).padStart(2, "0")}`, ["ok"], 100 + n);
  }
  await h.request("PATCH", "/v1/agents/a05", { body: { archived: true } });
  const names = async (query: string) =>
    (await walk(reader, AGENTS + query)).flatMap((html) =>
      [...html.matchAll(/href="\/dashboard\/agents\/(a\d\d)"/g)].map(([, agent]) => agent)
    );
  const all = Array.from({ length: 23 }, (_, n) => `a${String(n).padStart(2, "0")}`);
  const used = all.filter((name) => name !== "a05");
  assertEquals(await names(""), used.toReversed());
  assertEquals(await names("?sort=agent&archived=true"), all);
  assertEquals((await reader.get(`${AGENTS}?sort=cost`)).status, 400);
  assertMatch(await reader.words(`${AGENTS}?archived=true&sort=agent`), /a05 archived/);
});

session.test("without agents the page shows a command that creates one, and the command works", async ({ h, reader }) => {
  const page = await reader.words(AGENTS);
  assertMatch(page, /No agent yet/);
  const [, url = ""] = /curl -u "\$RUNLEDGER_KEY:" "(\S+)"/.exec(page) ?? [];
  assertEquals(url, `${h.url}/v1/ping?agent=hello`);
  assertEquals((await h.get(url.slice(h.url.length))).status, 200);
  await h.worker.idle();
  assertMatch(await reader.words(AGENTS), /hello just now – 1 0% /);
});

Harness.test("an agent's page shows its latest runs, its failures separately, and links to all", async (h) => {
  for (let n = 1; n <= 22; n++) {
    const started = new Date(h.nowMs - n * 60_000).toISOString();
    await h.post(
      "/v1/runs",
      aRun(n, { agent: "a/b c", started_at: started, customer_id: `c${n}`, goal: `Job ${n}` }),
    );
    const status = n === 12 ? "failed" : n === 11 ? "timeout" : "success";
    const finished = new Date(h.nowMs - n * 60_000 + 1_500).toISOString();
    await h.post(
      `/v1/runs/${runId(n)}/finish`,
      aFinish({ status, finished_at: finished, output: { error: `502 of ${n}` } }),
    );
  }
  const tool = anEvent(1, { type: "tool_call", data: { name: "get_transfer", error: "502" } });
  await h.post(`/v1/runs/${runId(12)}/events`, { events: [tool] });
  await h.worker.idle();
  const reader = await signedIn(h);
  const path = `${AGENTS}/${encodeURIComponent("a/b c")}`;
  const { status, text } = await reader.get(path);
  assertEquals(status, 200);
  const [, failures = ""] = text.split("<h2>Latest failures</h2>");
  const [, latest = ""] = (await reader.get(`${path}?tab=runs`)).text.split("<h2>Latest runs</h2>");
  const idsIn = (html: string) =>
    [...html.matchAll(/href="\/dashboard\/runs\/(run_[^"]+)"/g)].map(([, id]) => id);
  assertEquals(idsIn(latest), Array.from({ length: 20 }, (_, i) => runId(i + 1)));
  assertEquals(idsIn(failures), [runId(11), runId(12)]);
  assertMatch(textOf(latest), /success Job 1 c1 today 11:59 1\.5 s –/);
  assertMatch(
    textOf(failures),
    /timeout Job 11 502 of 11 .* failed Job 12 502 of 12 · get_transfer .* All its failures · its incidents/,
  );
  assertMatch(textOf(text), /Typical duration 1\.5 s 95% within 1\.5 s, of the latest 22 runs/);
  const [all = ""] = hrefsOf(failures, "").filter((href) => href.startsWith("/dashboard/runs?"));
  assertEquals(all, "/dashboard/runs?agent=a%2Fb+c&status=failed&status=timeout");
  assertMatch(await reader.words(all), /Job 11 .* Job 12 /);
});

Harness.test("the board shows the median and the 95th percentile of each agent's latest runs", async (h) => {
  for (let n = 1; n <= 20; n++) {
    const startMs = h.nowMs - n * 60_000;
    const started_at = new Date(startMs).toISOString();
    const finished_at = new Date(startMs + n * 1_000).toISOString();
    await h.post("/v1/runs", aRun(n, { agent: "slower", started_at }));
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ finished_at }));
  }
  await sendAll(h, "reported", ["ok"], 30);
  const { text } = await (await signedIn(h)).get(AGENTS);
  assertMatch(textOf(rowOf(text, "slower")), / 10 s \/ 19 s /);
  assertMatch(text, /title="Of its latest 20 runs"/);
  assertMatch(textOf(rowOf(text, "reported")), /^reported just now – 1 0% – \$0/);
});

session.test("an agent's page has a tab each for its overview, runs, monitor and settings", async ({ h, reader }) => {
  await sendAll(h, "a", ["fail"]);
  const headings = async (tab: string) => {
    const { text } = await reader.get(`${AGENTS}/a${tab}`);
    const [, tabs = ""] = /<nav class="tabs"([^]*?)<\/nav>/.exec(text) ?? [];
    const [, current] = /aria-current="page">(\w+)/.exec(tabs) ?? [];
    return [current, ...[...text.matchAll(/<h2>([^<]+)<\/h2>/g)].map(([, name]) => name)];
  };
  const overview = ["Overview", "Runs a day, last 30 days", "Latest failures"];
  assertEquals(await headings(""), overview);
  assertEquals(await headings("?tab=unknown"), overview);
  assertEquals(await headings("?tab=runs"), ["Runs", "Latest runs"]);
  assertEquals(await headings("?tab=monitor"), ["Monitor", "Monitor", "Create a monitor"]);
  assertEquals(await headings("?tab=settings"), [
    "Settings",
    "Name, notes and archive",
    "Ping tokens",
  ]);
});

session.test("the form of a ping token suggests the agents that are known", async ({ h, reader }) => {
  await sendAll(h, "nightly", ["ok"]);
  for (
    const { text } of [
      await reader.get("/dashboard/keys/new?kind=ping_token"),
      await reader.send("/dashboard/keys", { kind: "ping_token", name: "", agent: "n" }),
    ]
  ) {
    assertMatch(text, /<input[^>]* name="agent"[^>]* list="known-agents"/);
    assertMatch(text, /<datalist id="known-agents"><option value="nightly">/);
  }
  const { text } = await reader.get("/dashboard/keys/new?kind=api_key");
  assert(!text.includes("datalist"));
});

session.test("an agent's chart colours each run by status; a running run has not failed", async ({ h, reader }) => {
  await sendAll(h, "healthy", ["start"]);
  await sendAll(h, "mixed", ["fail", "timeout", "start", "ok", "ok"], 10);
  const { text } = await reader.get(`${AGENTS}/healthy`);
  assertEquals(coloursOf(text), ["running"]);
  assertMatch(text, />Nov 21: 1 run, 1 running<\/text>/);
  const mixed = await reader.get(`${AGENTS}/mixed`);
  assertEquals(coloursOf(mixed.text), ["success", "running", "timeout", "failed"]);
  assertMatch(mixed.text, />Nov 21: 5 runs, 2 succeeded, 1 running, 1 timed out, 1 failed<\/text>/);
});

session.test("the agent form changes name, notes and archive as the API does, and logs the actor", async ({ h, reader }) => {
  await sendAll(h, "a", ["ok"]);
  h.nowMs++;
  const fields = { name: "Nightly <job>", notes: "one\r\ntwo & three", archived: "true" };
  const saved = await reader.send(`${AGENTS}/a`, fields);
  assertEquals([saved.status, saved.headers.get("location")], [
    303,
    `${AGENTS}/a?tab=settings&done=saved`,
  ]);
  assertMatch(
    await reader.words(`${AGENTS}/a?done=saved`),
    /Nightly <job> Slug: a Pause agent… Saved\./,
  );
  const other = await reader.words(`${AGENTS}/a?done=Send+money`);
  assert(!/Saved|money/.test(other));
  const { name, notes, archived } = (await h.get("/v1/agents/a")).json;
  assertEquals({ name, notes, archived }, {
    name: "Nightly <job>",
    notes: "one\ntwo & three",
    archived: true,
  });
  const { text } = await reader.get(`${AGENTS}/a`);
  assertMatch(text, /<h1>Nightly &lt;job&gt;<\/h1>/);
  assertMatch(text, /<p class="notes">one\ntwo &amp; three<\/p>/);
  assertMatch(textOf(text), /Archived: the board does not show it/);
  assertEquals((await h.get("/v1/audit")).json.entries[0].action, "agent.changed");
  await reader.send(`${AGENTS}/a`, { name: "", notes: "" });
  const cleared = (await h.get("/v1/agents/a")).json;
  assertEquals([cleared.name, cleared.notes, cleared.archived], ["a", null, false]);
});

session.test("an agent's page lists its ping tokens, with links to rotate and revoke each", async ({ h, reader }) => {
  await sendAll(h, "a", ["ok"]);
  await h.addKey({ kind: "ping_token", agent: "a" });
  await h.addKey({ kind: "ping_token", agent: "b" });
  const { keys } = (await h.get("/v1/keys?agent=a")).json;
  const { text } = await reader.get(`${AGENTS}/a?tab=settings`);
  const ids = [...text.matchAll(/href="\/dashboard\/keys\?id=([^"]+)"/g)].map(([, id]) => id);
  assertEquals(ids, [keys[0].id], "those of no other agent");
  assert(text.includes(`/dashboard/keys?confirm=rotate&amp;id=${keys[0].id}`));
  assert(text.includes(`/dashboard/keys?confirm=revoke&amp;id=${keys[0].id}`));
  assert(text.includes("/dashboard/keys/new?kind=ping_token&amp;agent=a"));
});

Deno.test("a failing store gives an error page that does not reveal the cause", async () => {
  const fails = () => Promise.reject(new StorageUnavailable("disk of secrets"));
  const spend = { rows: fails as never, ask: fails, some: fails };
  await using h = await Harness.open({ deps: { spend } });
  await sendAll(h, "a", ["ok"]);
  const reader = await signedIn(h);
  for (const path of [AGENTS, `${AGENTS}/a`]) {
    const { status, headers, text } = await reader.get(path);
    assertEquals([status, headers.get("content-type")], [503, "text/html; charset=UTF-8"]);
    assertMatch(textOf(text), /That did not work .* Try again/);
    assert(!text.includes("secret"));
  }
});
