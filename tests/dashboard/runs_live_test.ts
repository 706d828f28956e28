/** Live updates of the run list: the requests that a page makes, and their responses. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { LISTENERS_MAX } from "../../domain/core/limits.ts";

import {
  ListQuery,
  newOf,
  tailCursorOf,
  tailCursorText,
} from "../../routes/dashboard/runs/query.ts";
import { aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { hrefsOf, type Reader, signedIn, textOf } from "../support/harness/dashboard.ts";
import { RUNS } from "../support/builders/dashboard_runs.ts";
import { aRow } from "../support/builders/exports.ts";
import { Harness } from "../support/harness/harness.ts";
import { follow, type Listener } from "../support/harness/live.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

/** Returns the path that a live page polls. */
function nextLook(html: string): string {
  const [, path] = /hx-get="([^"]*)"/.exec(html) ?? [];
  assert(path !== undefined, "the page is not live");
  return path.replaceAll("&amp;", "&");
}

/** Returns the runs of a page that are marked as new. */
function markedOf(html: string): string[] {
  return html.split(/<tr[^>]*>/).filter((row) => row.includes("<mark"))
    .flatMap((row) => /id="(run_\w+)"/.exec(row)?.[1] ?? []);
}

/** Returns the announcement of new runs on a live page. */
function newsOf(html: string): string {
  return textOf(/<span id="news"[^>]*role="status".*?<\/span>/.exec(html)?.[0] ?? "no news");
}

/** Polls once; the session cookie is all that a browser adds. */
async function look(reader: Reader, html: string): Promise<string> {
  const { status, text } = await reader.get(nextLook(html));
  assertEquals(status, 200);
  return text;
}

Deno.test("live runs: live and pause are links, and only the first page can be live", async () => {
  await using h = await Harness.open();
  for (let n = 1; n < 4; n++) await h.post("/v1/heartbeats", aHeartbeat(n, { started_at: at(n) }));
  await h.worker.idle();
  const reader = await signedIn(h);
  const still = (await reader.get(`${RUNS}?agent=nightly&limit=2`)).text;
  assert(!/hx-|http-equiv/.test(still.replace(/<meta name="htmx-config"[^>]*>/, "")));
  const live = hrefsOf(still).find((href) => href.includes("live=1")) ?? "";
  assertEquals(live, `${RUNS}?agent=nightly&limit=2&live=1`);
  const { text } = await reader.get(live);
  assertMatch(text, /<noscript><meta http-equiv="refresh" content="5"\/><\/noscript>/);
  assertMatch(text, /hx-trigger="every 2s"/);
  assertMatch(
    nextLook(text),
    /^\/dashboard\/runs\?agent=nightly&limit=2&live=1&seen=[\w-]+&shown=/,
  );
  assert(hrefsOf(text).includes(`${RUNS}?agent=nightly&limit=2`));
  assertMatch(text, /<input type="hidden" name="live" value="1"\/>/);
  // Nothing is new on the first view, and no link contains the marks of seen runs.
  assertEquals([markedOf(text), newsOf(text)], [[], ""]);
  const [next = ""] = hrefsOf(text, 'rel="next"');
  assert(!(await reader.get(`${next}&live=1`)).text.includes("hx-get"));
});

Deno.test("live runs: a poll is answered when the next run arrives, which is marked and counted", async () => {
  await using h = await Harness.open();
  await h.post("/v1/heartbeats", aHeartbeat(1, { started_at: at(1) }));
  await h.worker.idle();
  const reader = await signedIn(h);
  const first = (await reader.get(`${RUNS}?live=1`)).text;
  const waiting = look(reader, first);
  await h.post("/v1/heartbeats", aHeartbeat(2, { started_at: at(2) }));
  const second = await waiting;
  assertEquals([markedOf(second), newsOf(second)], [[runId(2)], "1 new run"]);
  // A change since the last poll is returned immediately; a run that only ended is not new.
  await h.post("/v1/runs", aRun(3, { started_at: at(3) }));
  const third = await look(reader, second);
  assertEquals([markedOf(third), newsOf(third)], [[runId(3)], "1 new run"]);
  await h.post("/v1/heartbeats", aHeartbeat(3, { agent: "researcher", started_at: at(3) }));
  const fourth = await look(reader, third);
  assertEquals([markedOf(fourth), newsOf(fourth)], [[], ""]);
});

Deno.test("live runs: an empty list fills, and a run is new once it matches the filters", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  const none = (await reader.get(`${RUNS}?live=1&status=failed`)).text;
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start" }));
  const stillNone = await look(reader, none);
  assertStringIncludes(textOf(stillNone), "No runs match");
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "fail" }));
  assertEquals(markedOf(await look(reader, stillNone)), [runId(1)]);
});

Deno.test("live runs: a shutdown answers a waiting poll, and the next service continues", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  const first = (await reader.get(`${RUNS}?live=1`)).text;
  const waiting = look(reader, first);
  await h.get("/healthz", { key: null });
  const startMs = performance.now();
  await h.restart();
  const second = await waiting;
  assert(performance.now() - startMs < 3_000);
  const next = look(reader, second);
  await h.post("/v1/heartbeats", aHeartbeat(1));
  assertEquals(markedOf(await next), [runId(1)]);
});

ofInstance("live runs: without a free slot the page is answered immediately", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  const first = (await reader.get(`${RUNS}?live=1`)).text;
  const listeners: Listener[] = [];
  for (let n = 0; n < LISTENERS_MAX.team; n++) listeners.push(await follow(h));
  const startMs = performance.now();
  await look(reader, first);
  assert(performance.now() - startMs < 5_000);
  for (const listener of listeners) await listener[Symbol.asyncDispose]();
});

Deno.test("live runs: an ended session makes the browser reload the complete page", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  const path = nextLook((await reader.get(`${RUNS}?live=1`)).text);
  await reader.send("/dashboard/sign-out");
  const headers = { "Cookie": reader.cookie, "HX-Request": "true" };
  const answer = await h.get(path, { key: null, headers, redirect: "manual" });
  assertEquals([answer.status, answer.headers.get("hx-refresh"), answer.text], [401, "true", ""]);
});

Deno.test("live runs: a poll without valid marks is answered immediately, with nothing marked as new", async () => {
  await using h = await Harness.open();
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  const reader = await signedIn(h);
  for (const query of ["seen=x", "seen=", "shown=000001", "seen=x&shown=zz"]) {
    const { status, text } = await reader.get(`${RUNS}?live=1&${query}`);
    assertEquals([status, markedOf(text)], [200, []], query);
  }
});

Deno.test("live runs: runs above a seen one are new, and all runs if none was seen", () => {
  const rows = [5, 4, 3, 2, 1].map((n) => aRow(n));
  const seenBy = (...numbers: number[]) => {
    const text = new URLSearchParams(tailCursorText(7, numbers.map((n) => aRow(n))));
    const seen = tailCursorOf(new ListQuery(String(text)));
    assertEquals(seen?.change, 7);
    return [...newOf(rows, seen)].map((id) => Number(`0x${id.slice(-8)}`));
  };
  assertEquals(seenBy(5, 4, 3, 2, 1), []);
  assertEquals(seenBy(3, 2, 1), [5, 4]);
  assertEquals(seenBy(5, 3, 1), [4, 2]);
  // The last ones moved up when others were deleted.
  assertEquals(seenBy(9, 5, 4, 3), []);
  assertEquals(seenBy(), [5, 4, 3, 2, 1]);
  assertEquals(seenBy(9, 8), [5, 4, 3, 2, 1]);
  assertEquals([...newOf(rows, null)], []);
});
