/** `/v1/rate-card`: a team's own prices, which override the service's defaults. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { at } from "../support/builders/requests.ts";
import { type Answer, Harness, NOON } from "../support/harness/harness.ts";
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
} from "../support/builders/rate_cards.ts";
import { RATE_ROWS_MAX, RATES_PER_PAGE } from "../../domain/core/limits.ts";
import { DEFAULT_RATES } from "../../domain/pricing/default_rates.ts";

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

Harness.test("racing puts: of equal ones one is 202, different ones are all 202, and one row stays", async (h) => {
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

Harness.test("RATE_ROWS_MAX: a row beyond the limit is refused, and a price on the card can still change", async (h) => {
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

Harness.test("a row put by another process prices here within 10 s", async (h) => {
  // This request puts the card into the serving process's cache.
  assertEquals((await match(h, { model: MODEL })).row, null);
  const outcome = await cardsOf(h.store).put(h.team, aSpec(), "key_elsewhere");
  assert(outcome.kind === "stored");
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  assertEquals((await match(h, { model: MODEL })).row.id, outcome.rate.row.id);
});

Harness.test("GET /v1/rate-card: all own rows, default rows in pages, each row once", async (h) => {
  const own = [(await put(h)).json, (await put(h, { model: "b", provider: "x" })).json];
  const first = (await h.get(CARD)).json;
  assertEquals([first.own, first.default.length], [own, RATES_PER_PAGE.default]);
  const { name, version } = first.default_source;
  assertEquals(`${name}@${version}`, DEFAULT_RATES.generatedFrom);
  const ids: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const after: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const page: Answer = await h.get(`${CARD}?source=default&limit=1000${after}`);
    assertEquals([page.status, page.json.own], [200, []]);
    ids.push(...page.json.default.map(({ id }: { id: string }) => id));
    cursor = page.json.cursor;
  }
  assertEquals(ids.length, DEFAULT_RATES.rows.length);
  assertEquals(new Set(ids), new Set(DEFAULT_RATES.rows.map(({ id }) => id)));
  assertEquals(
    ids.slice(0, RATES_PER_PAGE.default),
    first.default.map((row: { id: string }) => row.id),
  );
});

Harness.test("GET /v1/rate-card: a default row shows its rates as dollars per million", async (h) => {
  const row = DEFAULT_RATES.rows.find(({ tiers, rates }) => tiers.length > 0 && rates.cachedInput);
  assert(row);
  const query = new URLSearchParams({ provider: row.provider ?? "", model: row.model });
  const { default: rows } = (await h.get(`${CARD}?${query}`)).json;
  const displayed = rows.find(({ id }: { id: string }) => id === row.id);
  assertEquals(displayed.input_usd_per_million, row.rates.input / 1e6);
  assertEquals(displayed.cached_input_usd_per_million, (row.rates.cachedInput ?? 0) / 1e6);
  assertEquals(displayed.tiers[0].above_input_tokens, row.tiers[0]?.aboveInputTokens);
  assertEquals(displayed.tiers[0].output_usd_per_million, (row.tiers[0]?.rates.output ?? 0) / 1e6);
  assertEquals(["created_at" in displayed, "note" in displayed], [false, false]);
});

Harness.test("GET /v1/rate-card: provider and a substring of the model filter own and default rows", async (h) => {
  await put(h, { provider: "OpenAI", model: "GPT-4o-ours" });
  await put(h, { provider: "anthropic", model: "gpt-4o-theirs" });
  await put(h);
  const { own, default: rows, cursor } = (await h.get(`${CARD}?provider=openai&model=gpt-4O`)).json;
  assertEquals(own.map(({ model }: { model: string }) => model), ["GPT-4o-ours"]);
  const expected = DEFAULT_RATES.rows
    .filter(({ provider, model }) => provider === "openai" && model.includes("gpt-4o"))
    .map(({ id }) => id).sort();
  assert(expected.length > 1);
  assertEquals([rows.map(({ id }: { id: string }) => id), cursor], [expected, null]);
  assertEquals((await h.get(`${CARD}?source=own&model=atlas`)).json.default, []);
  assertEquals((await h.get(`${CARD}?source=own&model=atlas`)).json.own.length, 1);
});
