/** `/v1/rate-card`: ownership and access of rows, and the result of races and restarts. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
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
  put,
  refusalOf,
  remove,
} from "../support/builders/rate_cards.ts";

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

Harness.test("a restart keeps the card", async (h) => {
  const row = (await put(h)).json;
  await h.restart();
  assertEquals(await ownRows(h), [row]);
  assertEquals((await match(h, { model: MODEL })).row.id, row.id);
});

Harness.test("a row put by another process prices here within 10 s", async (h) => {
  // This request puts the card into the serving process's cache.
  assertEquals((await match(h, { model: MODEL })).row, null);
  const outcome = await cardsOf(h.store).put(h.team, aSpec(), "key_elsewhere");
  assert(outcome.kind === "stored");
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  assertEquals((await match(h, { model: MODEL })).row.id, outcome.rate.row.id);
});

Harness.test("decision 35: managing the card does not count as events", async (h) => {
  const { id } = (await put(h)).json;
  await h.get(CARD);
  await remove(h, id);
  assertEquals(await h.usage(), 0);
});
