/** The page Connect: lines with a new key, which work, and when each product was last heard. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { PRODUCTS } from "../../domain/otlp/products.ts";
import { recordedExport } from "../support/builders/spans.ts";
import { session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

const PAGE = "/dashboard/connect";

/** Returns what the page says of each product that was heard. */
function heardOn(text: string): Record<string, string> {
  const rows = text.matchAll(/<th[^>]*scope="row"[^>]*>(.*?)<\/th>.*?<\/tr>/gs);
  return Object.fromEntries(
    Array.from(
      rows,
      ([row, name = ""]) => [textOf(name), /<time[^>]*>(.*?)<\/time>/.exec(row)?.[1] ?? ""],
    )
      .filter(([, heard]) => heard !== ""),
  );
}

Harness.test("connect: a new key sends the traces of a product, and the page says when it was heard", async (h) => {
  h.nowMs = Date.UTC(2026, 10, 22, 12);
  const reader = await signedIn(h);
  const before = await reader.get(`${PAGE}?product=litellm`);
  assertEquals(heardOn(before.text), {});
  assertMatch(
    textOf(before.text),
    /LiteLLM .*OTEL_ENDPOINT=http:\/\/[\d.:]+\/v1\/traces .*apk_eu_…/,
  );

  const { status, text } = await reader.send(PAGE, { product: "litellm" });
  assertEquals(status, 201);
  const [, endpoint = "", secret = ""] =
    /OTEL_ENDPOINT=http:\/\/[^/]*(\/\S+).*Bearer (apk_\w+)/s.exec(textOf(text)) ?? [];
  const { contentType, body } = await recordedExport("py-litellm");
  const headers = { "Content-Type": contentType };
  assertEquals((await h.post(endpoint, body, { key: secret, headers })).status, 200);
  // The key sends and reads nothing.
  assertEquals((await h.get("/v1/runs", { key: secret })).status, 403);

  await h.writeCounts();
  h.nowMs += 5 * 60_000;
  const after = await reader.get(PAGE);
  assertEquals(heardOn(after.text), { LiteLLM: "5 min ago" });
  // The page begins with the product that was heard last.
  assert(after.text.indexOf("OTEL_ENDPOINT=") > 0);
  const { key } = await h.addTeam("free");
  assertEquals(heardOn((await (await signedIn(h, key)).get(PAGE)).text), {});
});

Harness.test("connect: what was heard is written once a minute, and never older than another instance's", async (h) => {
  const { contentType, body } = await recordedExport("lf");
  const send = () =>
    h.post("/api/public/otel/v1/traces", body, { headers: { "Content-Type": contentType } });
  const stored = async () => (await h.dump()).filter((line) => line.includes('"product_use"'));
  const seen = new Set<string>();
  for (const seconds of [0, 30, 59, 60, 61, 119, 121]) {
    h.nowMs = Date.UTC(2026, 10, 22, 12, 0, seconds);
    assertEquals((await send()).status, 200);
    await h.writeCounts(false);
    const rows = await stored();
    assertEquals(rows.length, 1);
    seen.add(rows[0] ?? "");
  }
  assertEquals(seen.size, 3);
});

session.test("connect: a reader sees the lines and creates no key; each product has its lines", async ({ h, reader: admin }) => {
  const reader = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  const first = await reader.get(PAGE);
  assertMatch(textOf(first.text), /A team member with the scope admin creates keys/);
  assert(!first.text.includes("Create a key"));
  assertEquals((await reader.send(PAGE, { product: "vercel" })).status, 403);
  for (const product of ["", "nothing"]) {
    assertEquals((await admin.send(PAGE, { product })).status, 400);
  }
  for (const { slug, name, shows } of PRODUCTS) {
    const text = await reader.words(`${PAGE}?product=${slug}`);
    assert(text.includes(`${name} not heard yet`) && text.includes(`You see ${shows}.`), slug);
  }
});
