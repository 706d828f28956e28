/** `GET /docs`: a self-contained page, and the same reference in the frame of a session. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { curlOf } from "../../routes/docs/curl.ts";
import { documentedCalls } from "../../routes/docs/document.ts";
import { ERRORS } from "../../domain/core/errors.ts";
import { signedIn } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";
import { describedApi } from "../support/oracles/openapi.ts";

/** Maximum size of the compressed page in bytes. */
const PAGE_BYTES_MAX = 60_000;

const SIGN_IN = "/dashboard/sign-in?next=%2Fdocs";

async function page() {
  await using h = await Harness.open();
  return await h.get("/docs", { key: null });
}

Deno.test("the page allows only its own style, by its hash", async () => {
  const { headers, text } = await page();
  assertEquals(headers.get("content-type"), "text/html; charset=UTF-8");
  const styles = [...text.matchAll(/<style>([^<]*)<\/style>/g)].map(([, style = ""]) => style);
  assertEquals(styles.length, 1);
  const hash = createHash("sha256").update(styles[0] ?? "").digest("base64");
  const policy = headers.get("content-security-policy") ?? "";
  assert(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}'; `), policy);
  assert(!/ style=| on\w+=|<script|<link|<img|<iframe|@import|url\(/i.test(text));
});

Deno.test("a session sees the reference in its frame, in its theme, and no cache keeps it", async () => {
  await using h = await Harness.open();
  const open = await h.get("/docs", { key: null });
  const { cookie } = await signedIn(h);
  const get = (headers: Record<string, string>) => h.get("/docs", { key: null, headers });
  const { status, text, headers } = await get({ Cookie: `${cookie}; runledger-theme=dark` });
  assertEquals([status, headers.get("cache-control")], [200, "no-store"]);
  assertMatch(headers.get("vary") ?? "", /Cookie/);
  assertMatch(open.headers.get("vary") ?? "", /Cookie/);
  assertMatch(text, /data-theme="dark"/);
  assertMatch(text, /<nav class="nav" aria-label="Pages">/);
  assert(!text.includes("htmx.js"), "nothing on it changes in place");
  const sectionsOf = (html: string) => html.match(/<section id="/g)?.length;
  assertEquals(sectionsOf(text), sectionsOf(open.text));
  const tag = open.headers.get("etag") ?? "";
  assertEquals((await get({ Cookie: cookie, "If-None-Match": tag })).status, 200);
  const stale = await get({ Cookie: `__Host-runledger=${"x".repeat(40)}` });
  assertEquals([stale.status, stale.text], [200, open.text], "a session that ended");
});

Deno.test("the page links only to itself, the document and the dashboard", async () => {
  const { text } = await page();
  const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const targets = [...text.matchAll(/(?:href|src|action)="([^"]+)"/g)].map(([, to = ""]) => to);
  assert(targets.length > 50);
  for (const to of targets) {
    const isElsewhere = ["/openapi.json", "/dashboard", SIGN_IN].includes(to);
    assert(isElsewhere || (to.startsWith("#") && ids.has(to.slice(1))), to);
  }
});

Deno.test("the page has each call with its shell line, each error, header and schema", async () => {
  const { text } = await page();
  const document = describedApi();
  const plain = text.replaceAll("&quot;", '"').replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  for (const placed of documentedCalls(document)) {
    assert(text.includes(`<section id="${placed.call.operationId}">`), placed.call.operationId);
    assert(plain.includes(`<pre>${curlOf(placed)}</pre>`), curlOf(placed));
  }
  for (const code of Object.keys(ERRORS)) assert(text.includes(`id="error-${code}"`), code);
  for (const name of Object.keys(document.components.headers)) {
    assert(text.includes(`<code>${name}</code>`), name);
  }
  for (const name of Object.keys(document.components.schemas)) {
    assert(text.includes(`id="schema-${name}"`), name);
  }
  // A field with an empty schema.
  assert(!/undefined|\[object|<td>anything/.test(text));
});

Deno.test("a shell parses each line as the call that it shows", async () => {
  for (const placed of documentedCalls(describedApi())) {
    const script = `curl() { printf '%s\\0' "$@"; }; U=http://host K=key; ${curlOf(placed)}`;
    const { code, stdout } = await new Deno.Command("bash", { args: ["-c", script] }).output();
    assertEquals(code, 0, script);
    const words = new TextDecoder().decode(stdout).split("\0");
    const written = words.includes("-X") ? words[words.indexOf("-X") + 1] : undefined;
    const method = words.includes("-I") ? "HEAD" : written;
    const body = words.includes("-d") ? words[words.indexOf("-d") + 1] : undefined;
    assertEquals(method ?? (body === undefined ? "GET" : "POST"), placed.method);
    const displayed = placed.call.requestBody?.content["application/json"]?.example;
    assertEquals(body === undefined ? undefined : JSON.parse(body), displayed);
    const url = new URL(words.find((word) => word.startsWith("http://host/")) ?? "");
    const pattern = placed.path.replaceAll(/\{\w+\}/g, "[^/]+");
    assertMatch(url.pathname, new RegExp(`^${pattern}$`));
  }
});

Deno.test("the page fits a phone and follows its light and dark mode", async (t) => {
  const { text } = await page();
  assert(text.includes('<meta name="viewport" content="width=device-width, initial-scale=1"/>'));
  assert(text.includes("light-dark("));
  assert(text.startsWith('<!DOCTYPE html><html lang="en">'));
  const bytes = gzipSync(text).length;
  await t.step(`${bytes} bytes compressed, of ${text.length} characters`, () => {
    assert(bytes < PAGE_BYTES_MAX);
  });
});
