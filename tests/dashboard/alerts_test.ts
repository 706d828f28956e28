/** Incidents on pages: the open ones, one of them, the history, and the pages of others. */
import { gzipSync } from "node:zlib";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { openIncident, reportRuns, RUN_ERROR } from "../support/builders/alerts.ts";
import { hrefsOf, type Reader, session, textOf } from "../support/harness/dashboard.ts";

const ALERTS = "/dashboard/alerts";

/** Sends a form; returns the path that it redirects to. */
async function sent(reader: Reader, path: string, fields = {}): Promise<string> {
  const { status, headers, text } = await reader.send(path, fields);
  assertEquals(status, 303, text);
  return headers.get("location") ?? "";
}

session.test("alerts: without incidents the page says what opens one, and leads to channels", async ({ reader }) => {
  const { text } = await reader.get(ALERTS);
  assertMatch(textOf(text), /No incident is open An incident opens when 3 runs of an agent fail/);
  assert(hrefsOf(text).includes(`${ALERTS}/channels/new/channel`));
  assert(!/class="count/.test(text));
});

session.test("alerts: failed runs open an incident, shown with its runs on each page about them", async ({ h, reader }) => {
  const id = await openIncident(h);
  const { text } = await reader.get(ALERTS);
  const words = textOf(text);
  assertMatch(words, /Alerts 1 open/);
  assertMatch(words, /billing failed 3 times in a row/);
  assertMatch(words, /Rule failures : 3 failed or timed-out runs in a row of one agent/);
  assertMatch(words, new RegExp(`Counted 3 runs .*Runs 3 .*${RUN_ERROR}`));
  assert(!words.includes("Compare with last success"), "there is no success");
  assertMatch(words, /Story .* Opened after 3 runs/);
  assert(hrefsOf(text).includes("/dashboard/runs?agent=billing&status=failed"));
  const own = await reader.get(`${ALERTS}/incidents/${id}`);
  assertMatch(own.text, /<title>billing failed 3 times in a row · Runledger/);
  const run = hrefsOf(own.text, 'class="row"').find((to) => to.startsWith("/dashboard/runs/")) ??
    "";
  assertMatch(await reader.words(run), /Incident billing failed 3 times in a row \(open for/);
  assertMatch(
    await reader.words("/dashboard"),
    /Needs attention .*billing failed 3 times in a row/,
  );
  const agent = await reader.get("/dashboard/agents/billing");
  assertMatch(textOf(agent.text), /Open incidents All its incidents billing failed 3 times/);
  assert(hrefsOf(agent.text).includes(`${ALERTS}/history?state=any&agent=billing`));
});

session.test("alerts: an incident is acknowledged, silenced and resolved, and its story says so", async ({ h, reader }) => {
  const id = await openIncident(h);
  const path = `${ALERTS}/incidents/${id}`;
  assertEquals(await sent(reader, path, { change: "acknowledge", note: "rotating the key" }), path);
  assertMatch(await reader.words(path), /Acknowledged by first key : “rotating the key”/i);
  assertEquals(await sent(reader, `${path}/silence`, { length: "week" }), path);
  const silences = await reader.words(`${ALERTS}/silences`);
  assertMatch(silences, /Current .*rule failures, agent billing/);
  const { json } = await h.get("/v1/silences");
  assertEquals(json.silences.length, 1);
  assertEquals(Date.parse(json.silences[0].until) - h.nowMs, 168 * 3_600_000);
  assertEquals(await sent(reader, path, { change: "resolve", note: "done" }), path);
  const after = await reader.words(path);
  assertMatch(after, /Was open for/);
  assertMatch(after, /Resolved: by first key : “done”/i);
  assert(!/Resolve Silence/.test(after));
  const history = await reader.words(`${ALERTS}/history`);
  assertMatch(
    history,
    /billing failed 3 times in a row: 502 from the payments ledger critical failures/,
  );
  assertMatch(await reader.words(`${ALERTS}/history?agent=other`), /No incident matches/);
});

session.test("alerts: a silence until tomorrow ends at 9 in the zone of the page", async ({ h, reader }) => {
  const id = await openIncident(h);
  const cookie = `${reader.cookie}; runledger-zone=America/New_York`;
  const { status } = await h.request("POST", `${ALERTS}/incidents/${id}/silence`, {
    key: null,
    headers: {
      "Cookie": cookie,
      "Content-Type": "application/x-www-form-urlencoded",
      "Origin": new URL(h.url).origin,
    },
    body: "length=tomorrow",
    redirect: "manual",
  });
  assertEquals(status, 303);
  const { json } = await h.get("/v1/silences");
  // Noon of November 21 in UTC is 7 in the morning there.
  assertEquals(json.silences[0].until, "2026-11-22T14:00:00.000Z");
});

session.test("alerts: of many open incidents the page lists 50 and counts the others", async ({ h, reader }) => {
  const put = await h.request("PUT", "/v1/rules/failures", {
    body: { kind: "run_failed", group_by: "agent", severity: "critical" },
  });
  assertEquals(put.status, 202, put.text);
  for (let n = 0; n < 60; n++) await reportRuns(h, `worker-${n}`, 1);
  const { text } = await reader.get(ALERTS);
  assertEquals(text.match(/<li[^>]*>\s*<span class="st st-bad"/g)?.length, 50);
  assertMatch(textOf(text), /And 10 more/);
  assertMatch(textOf(text), /Alerts 60 open/);
  assert(gzipSync(text).length < 60_000);
  const { text: more } = await reader.get(`${ALERTS}/history?state=unresolved`);
  assert(hrefsOf(more, 'rel="next"').length === 1);
});
