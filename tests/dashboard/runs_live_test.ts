/** Live updates of the run list: the requests that a page makes, and their responses. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { LISTENERS_MAX } from "../../domain/core/limits.ts";

import { aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { hrefsOf, type Reader, session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { listedOn, RUNS } from "../support/builders/dashboard_runs.ts";
import { Harness } from "../support/harness/harness.ts";
import { follow, type Listener } from "../support/harness/live.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

/** Returns the path that a live page polls. */
function nextReload(html: string): string {
  const [, path] = /hx-get="([^"]*)"/.exec(html) ?? [];
  assert(path !== undefined, "the page is not live");
  return path.replaceAll("&amp;", "&");
}

/** Polls once; the session cookie is all that a browser adds. */
async function reload(reader: Reader, html: string): Promise<string> {
  const { status, text } = await reader.get(nextReload(html));
  assertEquals(status, 200);
  return text;
}

session.test("live runs: live and pause are links, and only the first page can be live", async ({ h, reader }) => {
  for (let n = 1; n < 4; n++) await h.post("/v1/heartbeats", aHeartbeat(n, { started_at: at(n) }));
  await h.worker.idle();
  const still = (await reader.get(`${RUNS}?agent=nightly&limit=2`)).text;
  assert(!/hx-|http-equiv/.test(still.replace(/<meta name="htmx-config"[^>]*>/, "")));
  const live = hrefsOf(still).find((href) => href.includes("live=1")) ?? "";
  assertEquals(live, `${RUNS}?agent=nightly&limit=2&live=1`);
  const { text } = await reader.get(live);
  assertMatch(text, /<noscript><meta http-equiv="refresh" content="5"\/><\/noscript>/);
  assertMatch(text, /hx-trigger="every 2s"/);
  assertMatch(nextReload(text), /^\/dashboard\/runs\?agent=nightly&limit=2&live=1&seen=[\w-]+"?$/);
  assert(hrefsOf(text).includes(`${RUNS}?agent=nightly&limit=2`));
  assertMatch(text, /<input type="hidden" name="live" value="1"\/>/);
  // No link has the change that was shown.
  assert(hrefsOf(text).every((href) => !href.includes("seen=")));
  const [next = ""] = hrefsOf(text, 'rel="next"');
  assert(!(await reader.get(`${next}&live=1`)).text.includes("hx-get"));
});

session.test("live runs: a poll is answered when the next run arrives", async ({ h, reader }) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { started_at: at(1) }));
  await h.worker.idle();
  const first = (await reader.get(`${RUNS}?live=1`)).text;
  const waiting = reload(reader, first);
  await h.post("/v1/heartbeats", aHeartbeat(2, { started_at: at(2) }));
  const second = await waiting;
  assertEquals(listedOn(second), [runId(2), runId(1)]);
  // A change since the last poll is returned immediately.
  await h.post("/v1/runs", aRun(3, { started_at: at(3) }));
  const third = await reload(reader, second);
  assertEquals(listedOn(third), [runId(3), runId(2), runId(1)]);
  await h.post("/v1/heartbeats", aHeartbeat(3, { agent: "researcher", started_at: at(3) }));
  const fourth = await reload(reader, third);
  assertEquals([third, fourth].map((html) => html.includes("st-run")), [true, false]);
});

session.test("live runs: an empty list fills once a run matches the filters", async ({ h, reader }) => {
  const none = (await reader.get(`${RUNS}?live=1&status=failed`)).text;
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start" }));
  const stillNone = await reload(reader, none);
  assertStringIncludes(textOf(stillNone), "No runs match");
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "fail" }));
  assertEquals(listedOn(await reload(reader, stillNone)), [runId(1)]);
});

session.test("live runs: a shutdown answers a waiting poll, and the next service continues", async ({ h, reader }) => {
  const first = (await reader.get(`${RUNS}?live=1`)).text;
  const waiting = reload(reader, first);
  await h.get("/healthz", { key: null });
  const startMs = performance.now();
  const restarted = h.restart();
  const second = await waiting;
  assert(performance.now() - startMs < 3_000);
  await restarted;
  const next = reload(reader, second);
  await h.post("/v1/heartbeats", aHeartbeat(1));
  assertEquals(listedOn(await next), [runId(1)]);
});

ofInstance("live runs: without a free slot the page is answered immediately", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  const first = (await reader.get(`${RUNS}?live=1`)).text;
  const listeners: Listener[] = [];
  for (let n = 0; n < LISTENERS_MAX.team; n++) listeners.push(await follow(h));
  const startMs = performance.now();
  await reload(reader, first);
  assert(performance.now() - startMs < 5_000);
  for (const listener of listeners) await listener[Symbol.asyncDispose]();
});

session.test("live runs: an ended session makes the browser reload the complete page", async ({ h, reader }) => {
  const path = nextReload((await reader.get(`${RUNS}?live=1`)).text);
  await reader.send("/dashboard/sign-out");
  const headers = { "Cookie": reader.cookie, "HX-Request": "true" };
  const answer = await h.get(path, { key: null, headers, redirect: "manual" });
  assertEquals([answer.status, answer.headers.get("hx-refresh"), answer.text], [401, "true", ""]);
});

session.test("live runs: a poll without a valid change is answered immediately", async ({ h, reader }) => {
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  for (const query of ["seen=x", "seen=", "shown=000001"]) {
    const { status, text } = await reader.get(`${RUNS}?live=1&${query}`);
    assertEquals([status, listedOn(text)], [200, [runId(1)]], query);
  }
});
