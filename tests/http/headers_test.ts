/** Headers of every response: instructions for browsers and caches. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { aFinish, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { dashboardRoutes } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { put } from "../support/builders/rate_cards.ts";

/** Sends a request and ignores the body: some are endless. */
async function headersOf(
  h: Harness,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ readonly status: number; readonly headers: Headers }> {
  const body = ["POST", "PUT", "PATCH"].includes(method) ? "{}" : null;
  const answer = await fetch(h.url + path, { method, headers, body, redirect: "manual" });
  await answer.body?.cancel();
  return answer;
}

Harness.test("every response has its caching policy and nosniff", async (h) => {
  for (const n of [1, 2]) await h.post("/v1/runs", aRun(n));
  const seen = new Map<number, number>();
  const check = async (method: string, path: string, headers: Record<string, string>) => {
    const { status, headers: answered } = await headersOf(h, method, path, headers);
    seen.set(status, (seen.get(status) ?? 0) + 1);
    const what = `${method} ${path} ${status}`;
    assertEquals(answered.get("x-content-type-options"), "nosniff", what);
    const cacheControl = answered.get("cache-control") ?? "";
    assert(cacheControl.split(",").length <= 3 && cacheControl !== "", what);
    const isForAll = cacheControl.includes("public");
    assert(isForAll || /no-cache|no-store/.test(cacheControl), what);
    const mayBeForAll = method === "GET" &&
      /^\/(docs|docs\/reference\.js|openapi\.json|dashboard\/assets\/.*\.css)$/.test(path);
    assertEquals(isForAll, mayBeForAll, what);
    // A cache keyed by URL alone must not share it between callers.
    const vary = answered.get("vary") ?? "";
    const isRead = method === "GET" && path.startsWith("/v1/");
    if (isRead) assert(vary.includes("Authorization, X-AgentPing-Key"), `${what} ${vary}`);
  };
  const page = await h.get("/dashboard/sign-in", { key: null });
  const asset = /\/dashboard\/assets\/[^"]+\.css/.exec(page.text)?.[0] ?? "";
  const table = [...ENDPOINTS, ...dashboardRoutes()];
  for (const { method, path } of table) {
    const real = path.replace(":name", asset.split("/").at(-1) ?? "")
      .replace(/:id\b/, runId(1)).replaceAll(/:\w+/g, "nobody");
    for (const key of [h.key, "wrong"]) {
      await check(method, real, { Authorization: `Bearer ${key}` });
    }
    await check("OPTIONS", real, {});
    await check("PURGE", real, {});
  }
  await check("GET", "/nowhere", {});
  await check("GET", "/dashboard/nowhere", {});
  await check("GET", "/docs", { "Accept-Encoding": "gzip" });
  const own = { Authorization: `Bearer ${h.key}` };
  for (const path of [`/v1/runs/${runId(2)}`, "/v1/usage", "/docs", "/openapi.json"]) {
    await check("GET", path, { ...own, "If-None-Match": "*" });
    await check("GET", path, { ...own, "If-None-Match": "*", "Accept-Encoding": "gzip" });
  }
  for (const status of [200, 204, 303, 304, 400, 401, 403, 404, 405]) {
    assert(seen.has(status), `no answer was ${status}`);
  }
});

const RUN = `/v1/runs/${runId(1)}`;

/** Each record with a tag, and a change to it. */
const RECORDS: Readonly<Record<string, (h: Harness) => Promise<unknown>>> = {
  [RUN]: (h) => h.post(`${RUN}/events`, { events: [anEvent(9)] }),
  [`${RUN}/cost`]: (h) => h.post(`${RUN}/finish`, aFinish()),
  "/v1/agents/researcher": (h) => h.post("/v1/runs", aRun(2)),
  "/v1/rate-card?source=own": (h) => put(h, { model: "atlas" }),
  "/v1/usage": (h) => h.post("/v1/runs", aRun(3)),
};

for (const [path, change] of Object.entries(RECORDS)) {
  Harness.test(`ETag: ${path} is 304 until it changes`, async (h) => {
    await h.post("/v1/runs", aRun(1));
    const first = await h.getFinal(path);
    const tag = first.headers.get("etag") ?? "";
    assertMatch(tag, /^"[^"]+"$/);
    for (const knownTag of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const same = await h.get(path, { headers: { "If-None-Match": knownTag } });
      assertEquals([same.status, same.text, same.headers.get("etag")], [304, "", tag], knownTag);
      assertEquals(same.headers.get("content-type"), null);
      for (const name of ["x-request-id", "ratelimit", "ratelimit-policy"]) {
        assert(same.headers.has(name), name);
      }
    }
    for (const other of ['"other"', tag.slice(1, -1), "", `${tag.slice(0, -1)}x"`]) {
      const complete = await h.get(path, { headers: { "If-None-Match": other } });
      assertEquals([complete.status, complete.text], [200, first.text], other);
    }
    await change(h);
    const later = await h.getFinal(path, { headers: { "If-None-Match": tag } });
    assertEquals(later.status, 200);
    assertNotEquals(later.headers.get("etag"), tag);
    assertNotEquals(later.text, first.text);
  });
}

Harness.test("ETag: HEAD has the tag of GET, and a page of events its own", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`${RUN}/events`, { events: [anEvent(1), anEvent(2)] });
  await h.worker.idle();
  const tagOf = async (method: string, query = "") =>
    (await h.request(method, RUN + query)).headers.get("etag");
  assertEquals(await tagOf("HEAD"), await tagOf("GET"));
  assertNotEquals(await tagOf("GET", "?events_limit=1"), await tagOf("GET"));
});

Harness.test("ETag: a refusal has none, and knowing a tag gives no access", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const tag = (await h.getFinal(RUN)).headers.get("etag") ?? "";
  const other = await h.addTeam("business");
  const headers = { "If-None-Match": tag };
  for (const [key, status] of [[other.key, 404], [null, 401]] as const) {
    const refused = await h.get(RUN, { key, headers });
    assertEquals([refused.status, refused.headers.get("etag")], [status, null]);
  }
});
