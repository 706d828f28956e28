/** Headers of every response: instructions for browsers and caches. */
import { assert, assertEquals } from "@std/assert";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { aRun, runId } from "../support/builders/requests.ts";
import { dashboardRoutes } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

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
