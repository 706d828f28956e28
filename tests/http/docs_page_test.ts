/** `GET /docs`: a page whose script has the library, and which allows nothing of other hosts. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { gzipSync } from "node:zlib";
import { Harness } from "../support/harness/harness.ts";

/** Maximum bytes of the page with all that it loads, compressed. */
const BYTES_MAX = 1_500_000;

Harness.test("the page loads one script of this service, which has the library", async (h, t) => {
  const page = await h.get("/docs", { key: null });
  assertEquals(page.headers.get("content-type"), "text/html; charset=UTF-8");
  const policy = page.headers.get("content-security-policy") ?? "";
  assert(policy.startsWith("default-src 'none'; script-src 'self'; "), policy);
  const sources = [...page.text.matchAll(/<script src="([^"]+)"/g)].map(([, path = ""]) => path);
  assertEquals([sources.length, page.text.match(/<script/g)?.length], [1, 1]);
  const script = await h.get(sources[0] ?? "", { key: null });
  assertEquals(script.headers.get("content-type"), "text/javascript; charset=UTF-8");
  // Compiles the script, and does not run it.
  new Function(script.text);
  assertMatch(script.text, /createApiReference/);
  const { text } = await h.get("/openapi.json", { key: null });
  const bytes = [page.text, script.text, text].reduce(
    (sum, each) => sum + gzipSync(each).length,
    0,
  );
  await t.step(`${bytes} bytes compressed`, () => assert(bytes < BYTES_MAX));
});

Harness.test("the script is compressed, and 304 while unchanged", async (h) => {
  const get = (headers: Record<string, string>) =>
    h.get("/docs/reference.js", { key: null, headers });
  const first = await get({ "Accept-Encoding": "gzip" });
  assertEquals([first.status, first.headers.get("content-encoding")], [200, "gzip"]);
  assertEquals(first.headers.get("cache-control"), "public, max-age=300");
  const tag = first.headers.get("etag") ?? "";
  assertMatch(tag, /^W\/"[0-9a-f]{32}"$/);
  const again = await get({ "If-None-Match": tag });
  assertEquals([again.status, again.text], [304, ""]);
});
