/** `/v1/rate-card`: ownership and access of rows, and the result of races and restarts. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DEFAULT_RATES } from "../../domain/pricing/default_rates.ts";
import { RATE_ROWS_MAX } from "../../domain/core/limits.ts";
import { Harness } from "../support/harness/harness.ts";
import {
  aSpec,
  CARD,
  cardsOf,
  match,
  MODEL,
  monotonicClockAheadBy,
  NOTICED_WITHIN_MS,
  ownRows,
  PRICE,
  put,
  refusalOf,
  remove,
  UNKNOWN,
} from "../support/builders/rate_cards.ts";

Deno.test("DELETE /v1/rate-card/{id}: ids outside the team are all the same 404", async () => {
  await using h = await Harness.open();
  const other = await h.addTeam("team");
  const theirs = (await put(h, {}, other.key)).json;
  const before = await h.dump();
  const unknown = await remove(h, UNKNOWN);
  assertEquals(refusalOf(unknown), [404, "not_found", undefined]);
  const odd = ["match", "x", "\u0000", "💩", "r".repeat(3_000), DEFAULT_RATES.rows[0]?.id ?? ""];
  for (const id of [theirs.id, ...odd]) {
    const answer = await remove(h, id);
    assertEquals([answer.status, answer.text], [404, unknown.text], id.slice(0, 20));
  }
  assertStringIncludes(unknown.json.message, "add an own row");
  assertEquals(await h.dump(), before);
  assertEquals(await ownRows(h, other.key), [theirs]);
});

Deno.test("decision 32: another team neither sees a row nor is priced by it", async () => {
  await using h = await Harness.open();
  const other = await h.addTeam("team");
  const { id } = (await put(h)).json;
  assertEquals(await ownRows(h, other.key), []);
  assertEquals((await match(h, { model: MODEL }, other.key)).row, null);
  const theirs = await put(h, {}, other.key);
  assertEquals([theirs.status, theirs.json.id === id], [202, false]);
  assertEquals((await match(h, { model: MODEL }, other.key)).row.id, theirs.json.id);
  assertEquals((await match(h, { model: MODEL })).row.id, id);
});

Deno.test("the rate card needs scope admin; a ping token may not use it", async () => {
  await using h = await Harness.open();
  const { id } = (await put(h)).json;
  const before = await h.dump();
  const routes = [
    ["GET", CARD],
    ["GET", `${CARD}/match?model=${MODEL}`],
    ["PUT", CARD],
    ["DELETE", `${CARD}/${id}`],
  ] as const;
  const key = await h.addKey({ kind: "api_key", scopes: ["ingest", "read"] });
  const token = await h.addKey({ kind: "ping_token", agent: "nightly" });
  const added = (await h.dump()).length - before.length;
  for (const [method, path] of routes) {
    const body = method === "PUT" ? { ...PRICE, output_usd_per_million: 99 } : undefined;
    assertEquals((await h.request(method, path, { key: null, body })).status, 401, path);
    const refused = await h.request(method, path, { key, body });
    assertEquals(refusalOf(refused), [403, "forbidden", undefined], `${method} ${path}`);
    const pinged = await h.request(method, path, { key: token, body });
    assertEquals(refusalOf(pinged), [401, "scope_violation", undefined], `${method} ${path}`);
  }
  const admin = await h.addKey({ kind: "api_key", scopes: ["admin"] });
  assertEquals((await ownRows(h, admin)).map((row) => row.id), [id]);
  assertEquals((await h.dump()).length, before.length + added + 3, "a key is three rows");
});

Deno.test("racing puts: of equal ones one is 202, different ones are all 202, and one row stays", async () => {
  await using h = await Harness.open();
  const equal = await Promise.all(Array.from({ length: 16 }, () => put(h)));
  const statuses = equal.map(({ status }) => status).sort();
  assertEquals(statuses, [...Array.from({ length: 15 }, () => 200), 202]);
  assertEquals(new Set(equal.map(({ text }) => text)).size, 1);
  const different = await Promise.all(
    Array.from({ length: 16 }, (_, n) => put(h, { output_usd_per_million: 20 + n })),
  );
  assert(different.every(({ status }) => status === 202));
  const rows = await ownRows(h);
  assertEquals(rows.length, 1);
  assert(different.some(({ json }) => json.id === rows[0]?.id));
  assertEquals((await match(h, { model: MODEL })).row.id, rows[0]?.id);
});

Deno.test("RATE_ROWS_MAX: a row beyond the limit is refused, and a price on the card can still change", async () => {
  await using h = await Harness.open();
  await put(h);
  const key = ["rate", h.team.id];
  await h.store.writer.commit({ sets: [{ key, value: RATE_ROWS_MAX - 1 }] });
  assertEquals((await put(h, { model: "last" })).status, 202);
  const refused = await put(h, { model: "one more" });
  assertEquals(refusalOf(refused), [400, "invalid_field", "model"]);
  assertStringIncludes(refused.json.message, String(RATE_ROWS_MAX));
  assertEquals((await put(h, { model: "last", output_usd_per_million: 1 })).status, 202);
  assertEquals((await ownRows(h)).length, 2);
});

Deno.test("a restart keeps the card", async () => {
  await using h = await Harness.open();
  const row = (await put(h)).json;
  await h.restart();
  assertEquals(await ownRows(h), [row]);
  assertEquals((await match(h, { model: MODEL })).row.id, row.id);
});

Deno.test("a row put by another process prices here within 10 s", async () => {
  await using h = await Harness.open();
  // This request puts the card into the serving process's cache.
  assertEquals((await match(h, { model: MODEL })).row, null);
  const outcome = await cardsOf(h.store).put(h.team, aSpec(), "key_elsewhere");
  assert(outcome.kind === "stored");
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  assertEquals((await match(h, { model: MODEL })).row.id, outcome.rate.row.id);
});

Deno.test("decision 7: 405 and OPTIONS list the methods of the card's paths", async () => {
  await using h = await Harness.open();
  for (
    const [path, wrong, allow] of [
      [CARD, "POST", "GET, PUT, HEAD, OPTIONS"],
      [`${CARD}/match`, "POST", "GET, DELETE, HEAD, OPTIONS"],
      [`${CARD}/${UNKNOWN}`, "GET", "DELETE, OPTIONS"],
    ] as const
  ) {
    const refused = await h.request(wrong, path, { key: null });
    assertEquals([refused.status, refused.headers.get("allow")], [405, allow], path);
    const options = await h.request("OPTIONS", path, { key: null });
    assertEquals([options.status, options.headers.get("allow")], [204, allow], path);
  }
});

Deno.test("decision 35: managing the card does not count as events", async () => {
  await using h = await Harness.open();
  const { id } = (await put(h)).json;
  await h.get(CARD);
  await remove(h, id);
  assertEquals(await h.usage(), 0);
});
