/** `/dashboard/rate-card`: prices of calls, and storing and deleting own rows. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Reader, session, textOf } from "../support/harness/dashboard.ts";
import { aHeartbeat } from "../support/builders/requests.ts";
import { MODEL, ownRows, put, UNKNOWN } from "../support/builders/rate_cards.ts";

const CARD = "/dashboard/rate-card";
/** Prices as a person types them: $2.50 in, $10 out. */
const TYPED = { model: MODEL, input_usd_per_million: "2.50", output_usd_per_million: "10" };

/** Submits the form; returns the page or the redirect. */
async function typed(reader: Reader, fields: Record<string, string>) {
  const { status, text, headers } = await reader.send(CARD, { ...TYPED, ...fields });
  return { status, text, location: headers.get("location") };
}

session.test("rate card: the form stores what the API stores for the same price", async ({ h, reader }) => {
  const stored = await typed(reader, {
    provider: " in-house ",
    effective_from: "2026-11-01",
    cached_input_usd_per_million: "0.000001",
    note: "their list",
    batch_percent: "100",
    "tiers[1].above_input_tokens": "200000",
    "tiers[1].input_usd_per_million": "5",
    "tiers[1].output_usd_per_million": "20",
  });
  assertEquals(stored.status, 303);
  assertEquals(stored.location, `${CARD}/reprice?model=${MODEL}&done=saved`);
  const [row] = await ownRows(h);
  const { id: _id, created_at: _at, created_by, ...fields } = row ?? {};
  assertMatch(String(created_by), /^key_eu_/);
  assertEquals(fields, {
    source: "own",
    provider: "in-house",
    model: MODEL,
    effective_from: "2026-11-01T00:00:00.000Z",
    input_usd_per_million: 2.5,
    output_usd_per_million: 10,
    cached_input_usd_per_million: 0.000001,
    cache_write_usd_per_million: null,
    tiers: [{
      above_input_tokens: 200_000,
      input_usd_per_million: 5,
      output_usd_per_million: 20,
      cached_input_usd_per_million: null,
      cache_write_usd_per_million: null,
    }],
    batch_percent: 100,
    note: "their list",
  });
  const hint = await reader.get(stored.location ?? "");
  assertMatch(textOf(hint.text), /do not change until you reprice them\. Saved\./);
});

session.test("rate card: a price with the same name and date replaces the previous one", async ({ h, reader }) => {
  await typed(reader, {});
  const [before] = await ownRows(h);
  const form = await reader.get(`${CARD}/new?row=${before?.id}`);
  assertMatch(form.text, /value="2.5"[^>]*name="input_usd/);
  await typed(reader, { input_usd_per_million: "3" });
  const rows = await ownRows(h);
  assertEquals(rows.map((row) => row.input_usd_per_million), [3]);
});

session.test("rate card: the form for an unpriced model is prefilled from the nearest one, under its own name", async ({ reader }) => {
  const { text } = await reader.get(`${CARD}/new?model=claude-opus-9&provider=anthropic`);
  assertMatch(textOf(text), /Filled in from anthropic\/claude-opus-\S+, the nearest model/);
  const valueOf = (name: string) =>
    new RegExp(`<input[^>]*name="${name}"[^>]*>`).exec(text)?.[0].match(/value="([^"]*)"/)?.[1];
  assertEquals(valueOf("model"), "claude-opus-9");
  assertEquals(valueOf("provider"), "anthropic");
  const [, action = ""] = /<form method="post" action="([^"]*)" class="rate-form"/.exec(text) ??
    [];
  assertEquals(action, `${CARD}?model=claude-opus-9&amp;provider=anthropic`);
  assert(Number(valueOf("input_usd_per_million")) > 0);
});

session.test("rate card: own and default rows are searched and paged as in the API", async ({ h, reader }) => {
  await put(h, { note: "why it is so" });
  const first = await reader.get(CARD);
  assertMatch(
    textOf(first.text),
    /Custom prices .* atlas-70b any 2\.5 10 as input as input always Change Delete set today 12:00 by first key : why it is so/,
  );
  const [, next = ""] = /<a href="([^"]*)" rel="next"/.exec(first.text) ?? [];
  const second = await reader.get(next.replaceAll("&amp;", "&"));
  assertEquals(second.status, 200);
  assert(!second.text.includes("Custom prices"), "they are on the first page");
  const idsOf = (html: string) => [...html.matchAll(/new\?row=([^"&]*)"/g)].map(([, id]) => id);
  const ids = [...idsOf(first.text).slice(1), ...idsOf(second.text)];
  assertEquals(ids.length, 100);
  assertEquals(new Set(ids).size, 100);
  const matches = textOf(
    (await reader.get(`${CARD}?model=O3&provider=openai&source=default`)).text,
  );
  assertMatch(
    matches,
    / o3 in a batch: 50% of these rates openai 2 8 0\.5 as input from Jun 10, 2025 /,
  );
  assertMatch(
    await reader.words(`${CARD}?model=no-such-model`),
    /No custom price matches.* No default price matches/,
  );
});

session.test("rate card: a search for a call's model shows the row that prices it and why, or a link to add a price", async ({ reader }) => {
  const match = await reader.get(`${CARD}?model=openai%2Fgpt-4o-2099-01-01`);
  assertMatch(
    textOf(match.text),
    /Calls of openai\/gpt-4o-2099-01-01 They cost this default price on Nov 21, 2026, 12:00:00 UTC\. It was found by its name without the date/,
  );
  const old = await reader.get(`${CARD}?model=o3&at=2025-07-01T00:00:00Z`);
  assertMatch(textOf(old.text), /default price on Jul 1, 2025\. It was found by its name as it/);
  const part = await reader.words(`${CARD}?model=gpt-`);
  assert(!/No price for|Calls of gpt- /.test(part), "a part of names is only searched");
  const none = await reader.get(`${CARD}?model=${MODEL}&provider=in-house`);
  assertMatch(textOf(none.text), /No price for atlas-70b of in-house on Nov 21, 2026/);
  assertStringIncludes(none.text, `${CARD}/new?provider=in-house&amp;model=${MODEL}`);
  assertEquals((await reader.get(`${CARD}?model=m&at=noon`)).status, 400);
});

session.test("rate card: deleting an own row asks for confirmation, and repricing is offered", async ({ h, reader }) => {
  const { json } = await put(h);
  const path = `${CARD}/rows/${json.id}/delete`;
  const form = await reader.get(`${CARD}/new?row=${json.id}&confirm=delete`);
  assertMatch(textOf(form.text), /Delete the price of atlas-70b\? .* Delete price Keep it/);
  assertEquals((await ownRows(h)).length, 1);
  const { headers } = await reader.send(path);
  assertEquals(headers.get("location"), `${CARD}/reprice?model=${MODEL}&done=deleted`);
  assertEquals(await ownRows(h), []);
  for (const id of [json.id, UNKNOWN, "default%2Fopenai%2Fo3"]) {
    const { text } = await reader.get(`${CARD}/new?row=${id}&confirm=delete`);
    assert(!text.includes("Delete price"), id);
    assertEquals((await reader.send(`${CARD}/rows/${id}/delete`)).status, 404);
  }
});

session.test("rate card: models that the team calls come first, those without a price before all", async ({ h, reader }) => {
  const usage = { provider: "openai", input_tokens: 1_000, output_tokens: 10 };
  await h.post("/v1/heartbeats", aHeartbeat(1, { ...usage, model: "o3-2025-04-16" }));
  await h.post("/v1/heartbeats", aHeartbeat(2, { ...usage, model: MODEL, provider: "in-house" }));
  await h.worker.idle();
  const { text } = await reader.get(CARD);
  assertMatch(
    textOf(text),
    /Models you use in-house\/atlas-70b has no price, so its calls cost \$0\. Set price .* o3 .*Custom prices/,
  );
  assertStringIncludes(text, `${CARD}/new?provider=in-house&amp;model=${MODEL}`);
  assert(!(await reader.get(`${CARD}?model=o3`)).text.includes("Models you use"));
});
