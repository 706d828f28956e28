/** The overview of a new team, a busy team, and a team with problems. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { keys } from "../../kv/base/keys.ts";
import { openIncident } from "../support/builders/alerts.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { hrefsOf, type Reader, session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";
import {
  aContribution,
  DOLLAR,
  LINE,
  storeSpend,
  UNCOUNTED,
  UNPRICED,
} from "../support/builders/spend.ts";

const PAGE = "/dashboard";
const HOUR_MS = 3_600_000;

/** Returns the page after the worker has processed everything. */
async function seen(h: Harness, reader: Reader): Promise<string> {
  await h.worker.idle();
  const { status, text } = await reader.get(PAGE);
  assertEquals(status, 200, text);
  return text;
}

/** Returns the list of what needs attention. */
function attentionOf(text: string): string {
  const needed = section(text, "Needs attention");
  return needed.slice(needed.indexOf("<ul"));
}

/** Returns a section of the page by its heading. */
function section(text: string, heading: string): string {
  const from = text.indexOf(`<h2>${heading}</h2>`);
  assert(from >= 0, heading);
  return text.slice(from, text.indexOf("</section>", from));
}

session.test("a new team sees the command for its first run, and afterwards its metrics", async ({ h, reader }) => {
  const empty = await seen(h, reader);
  assertMatch(textOf(empty), /Send your first run .* This page changes by itself/);
  const line = textOf(/<pre id="first-ping"[^>]*>(.*?)<\/pre>/s.exec(empty)?.[1] ?? "");
  const match = /^curl -u "\$RUNLEDGER_KEY:" "(.*)\/v1\/ping\?(.*)"$/.exec(line);
  assertEquals(match?.[1], h.url);
  const poll = async () => {
    const { cookie: Cookie } = reader;
    return await h.get(PAGE, { key: null, headers: { Cookie, "HX-Request": "true" } });
  };
  const waiting = await poll();
  assertEquals([waiting.status, waiting.text], [204, ""]);
  const basic = `Basic ${btoa(`${h.key}:`)}`;
  const ping = await h.get(`/v1/ping?${match?.[2]}`, {
    key: null,
    headers: { Authorization: basic },
  });
  assertEquals([ping.status, ping.text], [200, "OK\n"]);
  await h.worker.idle();
  assertEquals((await poll()).headers.get("hx-refresh"), "true");
  const text = textOf(await seen(h, reader));
  assertMatch(text, /Runs 1 nothing to compare with yet/);
  assertEquals((await reader.get(PAGE)).headers.get("hx-refresh"), null);
});

Harness.test("a team without recent runs sees when its newest run began", async (h) => {
  const started_at = at(-20 * 24 * HOUR_MS);
  await h.post("/v1/heartbeats", aHeartbeat(1, { started_at, finished_at: started_at }));
  const text = textOf(await seen(h, await signedIn(h)));
  assertMatch(text, /No recent runs No run began today .* the newest one began 20 days ago/);
});

session.test("today is compared with the average of the days before, in words", async ({ h, reader }) => {
  const runs = (day: string, many: number, status: "success" | "failed") =>
    Array.from({ length: many }, () => aContribution({ day, labels: { status } }));
  await storeSpend(h, [
    ...runs("2026-11-19", 9, "success"),
    ...runs("2026-11-19", 1, "failed"),
    ...runs("2026-11-20", 10, "success"),
    ...runs("2026-11-21", 16, "success"),
    ...runs("2026-11-21", 4, "failed"),
    // Older than the days that count.
    ...runs("2026-11-06", 500, "failed"),
  ]);
  const html = await seen(h, reader);
  const text = textOf(html);
  assertMatch(text, /Saturday, November 21 at 12:00 UTC; a day is a UTC day/);
  // Only sums are stored, so the hours of their runs are unknown.
  assertMatch(text, /Runs 20 usual day: 10 /);
  assertMatch(text, /Failed or timed out 4 20% of 20 ended usual day: 1 /);
  assertMatch(text, /Cost \$20\.0000 usual day: \$10\.0000/);
  assertMatch(text, /Usual is the average of the 2 days before today\./);
  assertMatch(html, /role="group" aria-label="Failures a day, 14 days"/);
  const failed = "/dashboard/runs?status=failed&amp;status=timeout&amp;from=2026-11-19" +
    "&amp;to=2026-11-19&amp;root=false";
  assertStringIncludes(html, `href="${failed}" aria-label="Nov 19: 1 of 10 runs failed"`);
  assertStringIncludes(html, 'aria-label="Nov 19: $10.0000, 10 runs"');
  assert(!html.includes("Nov 6"));
  const month = (await reader.get(`${PAGE}?days=30`)).text;
  assertMatch(month, /aria-label="Nov 6: 500 of 500 runs failed"/);
  assertEquals((await reader.get(`${PAGE}?days=8`)).status, 400);
});

Harness.test("today is compared with the same time of the days before, from the starts of their runs", async (h) => {
  const send = async (n: number, hours: number, status = "ok") => {
    const started_at = at(hours * HOUR_MS);
    const sent = aHeartbeat(n, { started_at, finished_at: started_at, status });
    assertEquals((await h.post("/v1/heartbeats", sent)).status, 202);
  };
  // It is noon: of yesterday's four runs, three had begun by now.
  await send(1, -24);
  await send(2, -25);
  await send(3, -30);
  await send(4, -23);
  await send(5, -1, "fail");
  const html = await seen(h, await signedIn(h));
  const text = textOf(html);
  assertMatch(text, /Runs 1 ▼ 2 fewer than usual by now/);
  assertMatch(text, /Failed or timed out 1 100% of 1 ended ▲ 1 more than usual by now/);
  assertEquals(html.match(/<svg class="line"/g)?.length, 3);
});

session.test("running now has the runs that the list and the agents have, with their usual time", async ({ h, reader }) => {
  for (let n = 1; n <= 5; n++) {
    await h.post("/v1/heartbeats", aHeartbeat(n, { agent: "a", duration_ms: 60_000 }));
  }
  const open = (n: number, minutes: number) =>
    h.post(
      "/v1/runs",
      aRun(n, { agent: "a", goal: `Goal ${n}`, started_at: at(-minutes * 60_000) }),
    );
  // One began yesterday.
  await open(6, 13 * 60);
  await open(7, 1);
  const html = await seen(h, reader);
  assertMatch(textOf(html), /Running now 2 1 far over the usual time/);
  const running = textOf(section(html, "Running now"));
  assertMatch(running, /^Running now 2 All Goal 6 .*13 h usual 1 min Goal 7 .*1 min usual 1 min$/);
  assertMatch(await reader.words("/dashboard/agents"), /1 agent, 2 running/);
  const list = await reader.get("/dashboard/runs?status=running");
  assertEquals(list.text.match(/href="\/dashboard\/runs\/run_/g)?.length, 2);
});

session.test("checks that runs of today failed are listed, the most failures first; disabled ones are not", async ({ h, reader }) => {
  const put = async (slug: string, body: Record<string, unknown>) => {
    const { status, text } = await h.request("PUT", `/v1/checks/${slug}`, { body });
    assertEquals(status, 202, text);
  };
  await h.post("/v1/heartbeats", aHeartbeat(1));
  assert(!(await seen(h, reader)).includes("Failed checks today"), "without checks");
  await put("ended-well", { expression: 'status == "success"', description: "No run fails" });
  await put("never", { expression: 'status == "none"' });
  await put("unused", { expression: 'status == "none"', enabled: false });
  const checks = async () => section(await seen(h, reader), "Failed checks today");
  assertMatch(textOf(await checks()), /Failed checks today 0 All checks No run failed a check\./);
  await h.post("/v1/heartbeats", aHeartbeat(2));
  await h.post("/v1/heartbeats", aHeartbeat(3, { status: "fail" }));
  const html = await checks();
  assertMatch(
    textOf(html),
    /^Failed checks today 2 All checks never 2 of 2 failed ended-well No run fails 1 of 2 failed$/,
  );
  assertEquals(hrefsOf(html), ["", "/never", "/ended-well"].map((to) => `/dashboard/checks${to}`));
});

Harness.test("failed runs of all open incidents are left out, also of those that are not listed", async (h) => {
  for (let n = 0; n < 7; n++) await openIncident(h, `agent-${n}`);
  const needed = section(await seen(h, await signedIn(h)), "Needs attention");
  assertMatch(textOf(needed), /^Needs attention 7 All agents All failures All alerts agent-\d /);
  const links = hrefsOf(needed);
  assertEquals(links.slice(0, 1), ["/dashboard/agents"]);
  assertEquals(links.filter((to) => to.startsWith("/dashboard/alerts/incidents/")).length, 5);
  assertEquals(links.filter((to) => to.startsWith("/dashboard/runs/")), []);
});

session.test("the page updates itself in place, and the guide's poll reloads it", async ({ h, reader }) => {
  await h.post("/v1/heartbeats", aHeartbeat(1));
  const html = await seen(h, reader);
  assertMatch(html, /id="overview"[^>]* hx-get="\/dashboard" hx-trigger="every 30s"/);
  const poll = async (target: Record<string, string>) => {
    const { cookie: Cookie } = reader;
    const headers = { Cookie, "HX-Request": "true", ...target };
    return (await h.get(PAGE, { key: null, headers })).headers.get("hx-refresh");
  };
  assertEquals([await poll({}), await poll({ "HX-Target": "overview" })], ["true", null]);
});

Harness.test("failures of the last 24 hours have their reason, and exclude other runs and other teams", async (h) => {
  const send = (n: number, status: string, agent: string, key = h.key) => {
    const started_at = at(n * 60_000 - HOUR_MS);
    const output = { error: `broken ${agent}` };
    return h.post("/v1/heartbeats", aHeartbeat(n, { status, agent, started_at, output }), { key });
  };
  await send(-1_440, "fail", "old");
  await send(1, "fail", "older");
  await send(2, "ok", "fine");
  await send(3, "timeout", "slow");
  await send(4, "fail", "latest");
  await send(5, "fail", "latest");
  const tool = anEvent(1, { type: "tool_call", data: { name: "fetch_page", status: "error" } });
  await h.post(`/v1/runs/${runId(3)}/events`, { events: [tool] });
  const { key } = await h.addTeam("business");
  await send(6, "fail", "theirs", key);
  const text = attentionOf(await seen(h, await signedIn(h)));
  const links = [...text.matchAll(/href="\/dashboard\/runs\/([^"]+)"/g)].map(([, id]) => id);
  assertEquals(links, [runId(5), runId(3), runId(1)]);
  assertMatch(
    textOf(text),
    /broken latest .* 2 runs .*broken slow Timed out · fetch_page · slow .*broken older /,
  );
  assert(!/fine|theirs|old\b/.test(text));
});

session.test("the slowest runs are found among the newest of today, and the caption names the number", async ({ h, reader }) => {
  const send = (n: number, ms: number, startMs: number) =>
    h.post("/v1/heartbeats", aHeartbeat(n, { started_at: at(startMs), duration_ms: ms }));
  // The slowest of all began before midnight, in UTC.
  await send(1, 9_000_000, -12 * HOUR_MS - 1);
  await send(2, 5_000_000, -12 * HOUR_MS);
  for (let n = 3; n <= 51; n++) await send(n, n * 1_000, -n * 1_000);
  const all = section(await seen(h, reader), "Slowest today");
  assertMatch(textOf(all), /of today's 50 runs/);
  const links = [...all.matchAll(/runs\/([^"]+)"/g)].map(([, id]) => id);
  assertEquals(links, [runId(2), runId(51), runId(50), runId(49), runId(48)]);
  await send(52, 1, 0);
  const some = section(await seen(h, reader), "Slowest today");
  assertMatch(textOf(some), /of today's 50 newest runs/);
  assert(!some.includes(runId(2)));
});

Harness.test("spend by agent covers today and the days before, and escapes names in links", async (h) => {
  const hostile = `"><img src=x onerror=alert(1)>&a=b/../`;
  const of = (agent: string, day: string, dollars: number) =>
    aContribution({
      day,
      labels: { agent },
      models: [{ ...LINE, cost: BigInt(dollars) * DOLLAR }],
    });
  await storeSpend(h, [
    of("cheap", "2026-11-21", 1),
    of(hostile, "2026-11-21", 7),
    of(hostile, "2026-11-21", 7),
    of(hostile, "2026-11-07", 30),
    of(hostile, "2026-11-06", 500),
    of("gone", "2026-11-20", 3),
  ]);
  const text = section(await seen(h, await signedIn(h)), "Spend by agent today");
  assert(!text.includes("<img"));
  const name = encodeURIComponent(hostile).replaceAll("'", "%27");
  assertStringIncludes(text, `href="/dashboard/agents/${name}"`);
  const content = textOf(text);
  const at = ["93% 2 $14.0000 $30.0000", "cheap 7% 1 $1.0000 $0.0000", "gone 0% 0 $0.0000 $3.0000"]
    .map((row) => content.indexOf(row));
  assert(at.every((index) => index > 0), content);
  assertEquals(at, at.toSorted((a, b) => a - b));
});

session.test("the top agents are listed; with too many agents the page links to the spend page", async ({ h, reader }) => {
  const agents = (day: string, many: number) =>
    Array.from({ length: many }, (_, n) => aContribution({ day, labels: { agent: `agent-${n}` } }));
  await storeSpend(h, [...agents("2026-11-20", 1_500), ...agents("2026-11-21", 9)]);
  const some = textOf(section(await seen(h, reader), "Spend by agent today"));
  assertMatch(some, /1 more agents spent less/);
  assertMatch(some, /agent-0 11% 1 \$1\.0000 see all/);
  await storeSpend(h, agents("2026-11-21", 500));
  const many = textOf(section(await seen(h, reader), "Spend by agent today"));
  assertMatch(many, /All spend by agent So many agents ran today/);
});

session.test("calls without a price are counted, with a link to add one", async ({ h, reader }) => {
  await storeSpend(h, [aContribution()]);
  assert(!(await seen(h, reader)).includes("#unpriced"));
  await storeSpend(h, [aContribution({ models: [UNPRICED, { ...UNPRICED, model: "other" }] })]);
  const html = await seen(h, reader);
  assertStringIncludes(html, 'href="/dashboard/spend#unpriced"');
  assertMatch(
    textOf(html),
    /2 calls have no price They count as \$0, so costs are too low Add a price/,
  );
});

session.test("R27: calls without tokens are counted", async ({ h, reader }) => {
  await storeSpend(h, [aContribution({ models: [UNCOUNTED] })]);
  assertMatch(
    textOf(await seen(h, reader)),
    /1 call has no token counts It counts as \$0, .* See the models/,
  );
  await storeSpend(h, [aContribution({ models: [UNPRICED, UNCOUNTED] })]);
  assertMatch(textOf(await seen(h, reader)), /2 calls have no price or no token counts /);
});

Harness.test("a dead stage is shown with its run, its error and the command to retry it", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  const run = runId(1) as RunId;
  const failure = { work: "cost", tries: 8, at: h.nowMs, error: "Error: <b>no</b>" };
  await h.store.writer.commit({
    team: h.team.id,
    sets: [{ key: keys.runFailure(h.team.id, run), value: failure }],
  });
  const html = await seen(h, await signedIn(h));
  assertStringIncludes(html, `href="/dashboard/runs/${run}"`);
  assert(!html.includes("<b>no</b>"));
  const text = textOf(html);
  assertMatch(text, /1 run is stuck: .* deno task jobs --redrive=RUN_ID/);
  assertMatch(text, /cost of run_eu_\d+ after 8 tries: Error: <b>no<\/b>/);
  const { key } = await h.addTeam("business");
  assert(!(await seen(h, await signedIn(h, key))).includes("stuck"));
});

operator.test("the operator, who has no runs, is redirected to the teams", async (h) => {
  const { status, headers } = await (await signedIn(h, OPERATOR_KEY)).get(PAGE);
  assertEquals([status, headers.get("location")], [303, "/dashboard/teams"]);
});

session.test("commands to copy contain the address that the browser sees, also after a TLS proxy", async ({ h, reader }) => {
  const { port } = new URL(h.url);
  const text = await reader.get(PAGE);
  assertStringIncludes(text.text, `http://127.0.0.1:${port}/v1/ping`);
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  const head = `GET ${PAGE} HTTP/1.1\r\nHost: ledger.example\r\nCookie: ${reader.cookie}\r\n` +
    "Connection: close\r\n\r\n";
  await conn.write(new TextEncoder().encode(head));
  const answer = await new Response(conn.readable).text();
  assertStringIncludes(answer, "https://ledger.example/v1/ping");
});

session.test("runs that are open for more than a day need attention; without any, nothing is shown", async ({ h, reader }) => {
  const open = async (n: number, hours: number) => {
    const started_at = at(-hours * HOUR_MS);
    assertEquals((await h.post("/v1/runs", aRun(n, { agent: `a${n}`, started_at }))).status, 202);
  };
  await open(1, 24);
  const calm = await seen(h, reader);
  assertMatch(calm, /No incident is open/, "24 hours are not too long");
  await open(2, 25);
  await open(3, 49);
  const text = attentionOf(await seen(h, reader));
  assertEquals(hrefsOf(text), [2, 3].map((n) => `/dashboard/runs/${runId(n)}`));
  assertMatch(textOf(text), /a3 …0+3 Does not end: open since Nov 19, 11:00 · a3 2 d 1 h/);
  const list = await reader.get("/dashboard/runs?status=running");
  assertEquals(textOf(list.text).match(/\b(stuck|running) a\d …0+\d/g), [
    "running a1 …00000001",
    "stuck a2 …00000002",
    "stuck a3 …00000003",
  ]);
  for (let n = 4; n <= 7; n++) await open(n, 30);
  const more = attentionOf(await seen(h, reader));
  assertEquals(hrefsOf(more).length, 5);
  const all = section(await seen(h, reader), "Running now");
  assert(hrefsOf(all).includes("/dashboard/runs?status=running"));
});

Deno.test("a run that was closed because it was idle is named on all pages, and why", async () => {
  await using h = await Harness.open({ clockGapMaxMs: Infinity });
  const fields = { agent: "quiet", idle_timeout_seconds: 1_800 };
  await h.post("/v1/runs", aRun(1, fields));
  await h.post("/v1/runs", aRun(2, { ...fields, idle_timeout_status: "success" }));
  const reader = await signedIn(h);
  assertMatch(section(await seen(h, reader), "Needs attention"), /nothing failed in 24 hours/);
  h.nowMs += HOUR_MS;
  await h.work.idle();
  const attention = attentionOf(await seen(h, reader));
  assertEquals(hrefsOf(attention), [`/dashboard/runs/${runId(1)}`]);
  assertMatch(textOf(attention), /^quiet …0+1 No event for 30 min · quiet 1 h ago$/);
  const list = await reader.words("/dashboard/runs");
  assertMatch(list, / closed without an event timeout quiet …0+1 No event for 30 min /);
  const pageOf = async (n: number) => await reader.words(`/dashboard/runs/${runId(n)}`);
  assertMatch(await pageOf(1), /Timed out: closed after 30 min without an event /);
  assertMatch(await pageOf(2), / success closed after 30 min without an event /);
  h.nowMs += 24 * HOUR_MS;
  const later = await seen(h, await signedIn(h));
  assert(!later.includes("No event for 30 min"), "a day later it is history");
});
