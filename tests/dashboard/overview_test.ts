/** The overview of a new team, a busy team, and a team with problems. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { keys } from "../../kv/base/keys.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { hrefsOf, type Reader, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { openWithOperator, OPERATOR_KEY } from "../support/harness/operator.ts";
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

/** Returns a section of the page by its heading. */
function section(text: string, heading: string): string {
  const from = text.indexOf(`<h2>${heading}</h2>`);
  assert(from >= 0, heading);
  return text.slice(from, text.indexOf("</section>", from));
}

Deno.test("a new team sees the command for its first run, and afterwards its metrics", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
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
  assertMatch(text, /Runs today 1 nothing to compare with yet/);
  assertEquals((await reader.get(PAGE)).headers.get("hx-refresh"), null);
});

Deno.test("a session that may not create keys gets no link to the keys page", async () => {
  await using h = await Harness.open();
  const read = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  const text = await seen(h, read);
  assert(!text.includes("/dashboard/keys"));
  assertMatch(textOf(text), /a team member with the scope admin creates them/);
  assertStringIncludes(await seen(h, await signedIn(h)), 'href="/dashboard/keys">create one');
});

Deno.test("a team without recent runs sees when its newest run began", async () => {
  await using h = await Harness.open();
  const started_at = at(-20 * 24 * HOUR_MS);
  await h.post("/v1/heartbeats", aHeartbeat(1, { started_at, finished_at: started_at }));
  const text = textOf(await seen(h, await signedIn(h)));
  assertMatch(text, /No recent runs No run began today .* the newest one began 20 days ago/);
});

Deno.test("today is compared with the average of the days before, in words", async () => {
  await using h = await Harness.open();
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
  const html = await seen(h, await signedIn(h));
  const text = textOf(html);
  assertMatch(text, /2026-11-21 \(UTC\), 12 h of 24 h/);
  assertMatch(text, /Runs today 20 ▲ more than usual usual day: 10 /);
  assertMatch(text, /Failed or timed out 4 ▲ more than usual 20% of those that ended usually 5%/);
  assertMatch(text, /Cost today \$20\.0000 ▲ more than usual usual day: \$10\.0000/);
  assertMatch(text, /the average of the 2 days before today/);
  assertMatch(html, /<svg[^>]* role="img"[^>]*><title>Runs of each day [^<]*: 40 runs, 5 of them/);
  assertStringIncludes(html, "<title>2026-11-19: 10 runs, 1 failed or timed out</title>");
  assertStringIncludes(html, "<title>2026-11-19: $10.0000</title>");
  assertMatch(
    text,
    /2026-11-21 \(today, so far\) 20 4 20% \$20\.0000 2026-11-20 10 0 0% \$10\.0000/,
  );
  assert(!html.includes("2026-11-06"));
});

Deno.test("the latest failures link to their runs, and exclude other runs and other teams", async () => {
  await using h = await Harness.open();
  const send = (n: number, status: string, agent: string, key = h.key) => {
    const started_at = at(n * 60_000 - HOUR_MS);
    return h.post("/v1/heartbeats", aHeartbeat(n, { status, agent, started_at }), { key });
  };
  await send(1, "fail", "older");
  await send(2, "ok", "fine");
  await send(3, "timeout", "slow");
  await send(4, "fail", "latest");
  const { key } = await h.addTeam("business");
  await send(5, "fail", "theirs", key);
  const text = section(await seen(h, await signedIn(h)), "Latest failures");
  const links = [...text.matchAll(/href="\/dashboard\/runs\/([^"]+)"/g)].map(([, id]) => id);
  assertEquals(links, [runId(4), runId(3), runId(1)]);
  assertMatch(textOf(text), /failed latest .* timeout slow .* failed older /);
  assert(!text.includes("fine") && !text.includes("theirs"));
});

Deno.test("the slowest runs are found among the newest of today, and the caption names the number", async () => {
  await using h = await Harness.open();
  const send = (n: number, ms: number, startMs: number) =>
    h.post("/v1/heartbeats", aHeartbeat(n, { started_at: at(startMs), duration_ms: ms }));
  // The slowest of all began before midnight, in UTC.
  await send(1, 9_000_000, -12 * HOUR_MS - 1);
  await send(2, 5_000_000, -12 * HOUR_MS);
  for (let n = 3; n <= 51; n++) await send(n, n * 1_000, -n * 1_000);
  const reader = await signedIn(h);
  const all = section(await seen(h, reader), "Slowest today");
  assertMatch(textOf(all), /The slowest of 50 runs of today\./);
  const links = [...all.matchAll(/runs\/([^"]+)"/g)].map(([, id]) => id);
  assertEquals(links, [runId(2), runId(51), runId(50), runId(49), runId(48)]);
  await send(52, 1, 0);
  const some = section(await seen(h, reader), "Slowest today");
  assertMatch(textOf(some), /among the newest 50 runs of today; older ones are not compared/);
  assert(!some.includes(runId(2)));
});

Deno.test("spend by agent covers today and the days before, and escapes names in links", async () => {
  await using h = await Harness.open();
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
  const text = section(await seen(h, await signedIn(h)), "Spend by agent");
  assert(!text.includes("<img"));
  const name = encodeURIComponent(hostile).replaceAll("'", "%27");
  assertStringIncludes(text, `href="/dashboard/agents/${name}"`);
  const query = new URLSearchParams({ agent: hostile, from: "2026-11-21", to: "2026-11-21" });
  assertStringIncludes(text, `href="/dashboard/runs?${String(query).replaceAll("&", "&amp;")}"`);
  const content = textOf(text);
  const at = ["$14.0000 $30.0000 2", "cheap $1.0000 $0.0000 1", "gone $0.0000 $3.0000 0"].map((
    row,
  ) => content.indexOf(row));
  assert(at.every((index) => index > 0), content);
  assertEquals(at, at.toSorted((a, b) => a - b));
});

Deno.test("the top agents are listed; with too many agents the page links to the spend page", async () => {
  await using h = await Harness.open();
  const agents = (day: string, many: number) =>
    Array.from({ length: many }, (_, n) => aContribution({ day, labels: { agent: `agent-${n}` } }));
  await storeSpend(h, [...agents("2026-11-20", 1_500), ...agents("2026-11-21", 9)]);
  const reader = await signedIn(h);
  const some = textOf(section(await seen(h, reader), "Spend by agent"));
  assertMatch(some, /1 more are not shown/);
  assertMatch(some, /agent-0 \$1\.0000 see all 1/);
  await storeSpend(h, agents("2026-11-21", 500));
  const many = textOf(section(await seen(h, reader), "Spend by agent"));
  assertMatch(many, /So many agents ran today .* All spend by agent/);
});

Deno.test("models without a price are named, with a link to add one", async () => {
  await using h = await Harness.open();
  const hostile = "<script>alert(1)</script>";
  const reader = await signedIn(h);
  await storeSpend(h, [aContribution()]);
  assert(!(await seen(h, reader)).includes("#unpriced"));
  await storeSpend(h, [aContribution({ models: [UNPRICED, { ...UNPRICED, model: hostile }] })]);
  const html = await seen(h, reader);
  assertStringIncludes(html, 'href="/dashboard/spend#unpriced"');
  assert(!html.includes(hostile));
  assertMatch(textOf(html), /2 calls have no price since 2026-11-07 and count as \$0/);
  assertMatch(textOf(html), /openai\/<script>alert\(1\)<\/script> , openai\/brand-new/);
});

Deno.test("R27: calls without tokens are named, with what to do", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  await storeSpend(h, [aContribution({ models: [UNCOUNTED] })]);
  assertMatch(
    textOf(await seen(h, reader)),
    /1 call has no token counts since .*: openai\/gpt-4o . See the models , and send the provider/,
  );
  await storeSpend(h, [aContribution({ models: [UNPRICED, UNCOUNTED] })]);
  assertMatch(textOf(await seen(h, reader)), /2 calls have no price or no token counts since/);
});

Deno.test("a dead stage is shown with its run, its error and the command to retry it", async () => {
  await using h = await Harness.open();
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

Deno.test("the operator, who has no runs, is redirected to the teams", async () => {
  await using h = await openWithOperator();
  const { status, headers } = await (await signedIn(h, OPERATOR_KEY)).get(PAGE);
  assertEquals([status, headers.get("location")], [303, "/dashboard/teams"]);
});

Deno.test("commands to copy contain the address that the browser sees, also after a TLS proxy", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
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

Deno.test("runs that are open for more than a day need attention; without any, nothing is shown", async () => {
  await using h = await Harness.open();
  const open = async (n: number, hours: number) => {
    const started_at = at(-hours * HOUR_MS);
    assertEquals((await h.post("/v1/runs", aRun(n, { agent: `a${n}`, started_at }))).status, 202);
  };
  const reader = await signedIn(h);
  await open(1, 24);
  const calm = await seen(h, reader);
  assert(!calm.includes("Needs attention"), "24 hours are not too long");
  await open(2, 25);
  await open(3, 49);
  const text = section(await seen(h, reader), "Needs attention");
  assertEquals(hrefsOf(text), [2, 3].map((n) => `/dashboard/runs/${runId(n)}`));
  assertMatch(textOf(text), /A run of a3 does not end Open since Nov 19, 11:00 2 d 1 h$/);
  const list = await reader.get("/dashboard/runs?status=running");
  assertEquals(textOf(list.text).match(/\b(stuck|running) a\d …0+\d/g), [
    "running a1 …00000001",
    "stuck a2 …00000002",
    "stuck a3 …00000003",
  ]);
  for (let n = 4; n <= 7; n++) await open(n, 30);
  const more = section(await seen(h, reader), "Needs attention");
  assertEquals(hrefsOf(more).length, 6);
  assert(hrefsOf(more).includes("/dashboard/runs?status=running"));
});

Deno.test("a run that was closed because it was idle is named on all pages, and why", async () => {
  await using h = await Harness.open({ absenceMs: Infinity });
  const fields = { agent: "quiet", idle_timeout_seconds: 1_800 };
  await h.post("/v1/runs", aRun(1, fields));
  await h.post("/v1/runs", aRun(2, { ...fields, idle_timeout_status: "success" }));
  const reader = await signedIn(h);
  assert(!(await seen(h, reader)).includes("Needs attention"));
  h.nowMs += HOUR_MS;
  await h.clock.idle();
  const attention = section(await seen(h, reader), "Needs attention");
  assertEquals(hrefsOf(attention), [`/dashboard/runs/${runId(1)}`]);
  assertMatch(
    textOf(attention),
    /A run of quiet fell silent No event since today 12:00 , so it was closed as timeout\. 1 h ago$/,
  );
  const list = textOf((await reader.get("/dashboard/runs")).text);
  assertMatch(list, / closed without an event timeout quiet …0+1 No event for 30 min /);
  const pageOf = async (n: number) =>
    textOf((await reader.get(`/dashboard/runs/${runId(n)}`)).text);
  assertMatch(await pageOf(1), /Timed out: closed after 30 min without an event /);
  assertMatch(await pageOf(2), / success closed after 30 min without an event /);
  h.nowMs += 24 * HOUR_MS;
  const later = await seen(h, await signedIn(h));
  assert(!later.includes("Needs attention"), "a day later it is history");
});
