/** `/v1/rate-card`: a team's own prices, which override the service's defaults. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { at } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { match, MODEL, ownRows, PRICE, put, remove } from "../support/builders/rate_cards.ts";

const { model: _, ...RATES } = PRICE;
const ID = /^rate_[0-9A-HJKMNP-TV-Z]{26}$/;

Harness.test("PUT /v1/rate-card: a row is 202 with its provenance, and prices from then on", async (h) => {
  assertEquals((await match(h, { model: MODEL })).row, null);
  const answer = await put(h, {
    provider: "azure",
    effective_from: "2026-03-01T00:00:00Z",
    cached_input_usd_per_million: 0.1,
    note: "contract 7",
    tiers: [{ ...RATES, above_input_tokens: 200_000, cache_write_usd_per_million: 0 }],
  });
  assertEquals([answer.status, answer.headers.get("idempotent-replayed")], [202, null]);
  const { id, created_by, ...fields } = answer.json;
  assertMatch(id, ID);
  const rates = {
    input_usd_per_million: 2.5,
    output_usd_per_million: 10,
    cached_input_usd_per_million: null,
    cache_write_usd_per_million: null,
  };
  assertEquals(fields, {
    source: "own",
    provider: "azure",
    model: MODEL,
    effective_from: "2026-03-01T00:00:00.000Z",
    ...rates,
    cached_input_usd_per_million: 0.1,
    tiers: [{ above_input_tokens: 200_000, ...rates, cache_write_usd_per_million: 0 }],
    batch_percent: null,
    created_at: at(),
    note: "contract 7",
  });
  const [key] = (await h.get("/v1/keys")).json.keys;
  assertEquals(created_by, key.id);
  assertEquals(await ownRows(h), [answer.json]);
  const { created_at: _, created_by: __, note: ___, ...row } = answer.json;
  const result = await match(h, { provider: "azure", model: MODEL });
  assertEquals(result, {
    provider: "azure",
    model: MODEL,
    at: at(),
    matched_by: "exact",
    row,
  });
});

Harness.test("PUT /v1/rate-card: a repeat is 200 with the first row, whichever key sends it", async (h) => {
  const first = await put(h, { effective_from: "2026-03-01T00:00:00Z" });
  const other = await h.addKey({ kind: "api_key", scopes: ["admin"] });
  const before = await h.dump();
  h.nowMs += 60_000;
  const again = await put(h, { effective_from: "2026-03-01T00:00:00.000+00:00", tiers: [] }, other);
  assertEquals([again.status, again.text], [200, first.text]);
  assertEquals(again.headers.get("idempotent-replayed"), "true");
  assertEquals(await h.dump(), before);
});

Harness.test("PUT /v1/rate-card: another price from the same date replaces the row with a new one", async (h) => {
  const first = (await put(h)).json;
  h.nowMs += 1_000;
  const answer = await put(h, { output_usd_per_million: 11 });
  assertEquals([answer.status, answer.json.created_at], [202, at(1_000)]);
  assert(answer.json.id !== first.id);
  assertEquals(await ownRows(h), [answer.json]);
  assertEquals((await match(h, { model: MODEL })).row.id, answer.json.id);
});

Harness.test("a row prices calls from its date on, and the earlier row until then", async (h) => {
  const always = (await put(h)).json.id;
  const later = (await put(h, { effective_from: at(), input_usd_per_million: 3 })).json.id;
  assertEquals((await match(h, { model: MODEL, at: at(-1) })).row.id, always);
  assertEquals((await match(h, { model: MODEL, at: at() })).row.id, later);
  assertEquals((await match(h, { model: MODEL })).row.id, later);
  h.nowMs = NOON - 1;
  assertEquals((await match(h, { model: MODEL })).row.id, always);
});

Harness.test("an own row overrides the default row, and DELETE restores the default", async (h) => {
  const query = { provider: "openai", model: "gpt-4o-mini" };
  const usual = (await match(h, query)).row;
  assertEquals([usual.source, usual.provider], ["default", "openai"]);
  const { id } = (await put(h, query)).json;
  assertEquals((await match(h, query)).row.id, id);
  const deleted = await remove(h, id);
  assertEquals([deleted.status, deleted.json.id, deleted.json.source], [200, id, "own"]);
  assertEquals((await match(h, query)).row, usual);
  assertEquals(await ownRows(h), []);
});

Harness.test("GET /v1/rate-card/match returns the step that found the row", async (h) => {
  await put(h, { model: "atlas-4-5" });
  for (
    const [model, step] of [
      ["atlas-4-5", "exact"],
      ["ATLAS-4-5", "exact"],
      ["atlas-4.5", "dots_to_dashes"],
    ] as const
  ) assertEquals([model, (await match(h, { model })).matched_by], [model, step]);
  const none = await match(h, { model: "no such model" });
  assertEquals([none.matched_by, none.row], [null, null]);
});
