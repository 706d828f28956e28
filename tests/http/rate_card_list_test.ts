/** `GET /v1/rate-card`: own and default rows, paged and filtered. */
import { assert, assertEquals } from "@std/assert";
import { DEFAULT_RATES } from "../../domain/pricing/default_rates.ts";
import { RATES_PER_PAGE } from "../../domain/core/limits.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import { CARD, put } from "../support/builders/rate_cards.ts";

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
