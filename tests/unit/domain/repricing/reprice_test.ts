/** Repricing calls gives the same result as pricing them by the new card in the first place. */
import { addCounts } from "../../../../domain/core/sums.ts";
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RunEvent } from "../../../../domain/runs/event.ts";
import { addEvents, type EventTotals, NO_EVENTS } from "../../../../domain/runs/event_totals.ts";
import type { EventId } from "../../../../domain/core/ids.ts";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import { type BatchPrices, priceEvents } from "../../../../domain/pricing/price.ts";
import type { RateCard } from "../../../../domain/pricing/rates.ts";
import { NO_CALLS, repriceBatch, type RepriceSpec } from "../../../../domain/repricing/reprice.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { eventId } from "../../../support/builders/requests.ts";
import { cardOf, rateRow } from "../../../support/builders/cards.ts";

const ALL: RepriceSpec = { model: "m", provider: null, from: null, to: null };

interface Tokens {
  readonly model: string | null;
  readonly provider: string | null;
  readonly input: number;
  readonly output: number;
  readonly counted: boolean;
  readonly ts: number;
}

function aCall({ model, provider, input, output, counted, ts }: Tokens, n = 0): RunEvent {
  const tokens = { inputTokens: input, outputTokens: output };
  const call = { model, provider, counted, ...tokens, cachedInputTokens: 0, cacheWriteTokens: 0 };
  const facts = { error: false, call };
  return {
    id: eventId(n) as EventId,
    type: "llm_call",
    ts,
    turn: undefined,
    data: rawOf({}),
    facts,
  };
}

const A_CALL: Tokens = {
  model: "m",
  provider: null,
  input: 10,
  output: 1,
  counted: true,
  ts: NOON,
};

/** Stores batches by a card, as ingest does. */
function stored(batches: readonly (readonly RunEvent[])[], card: RateCard) {
  const prices = batches.map((events) => priceEvents(events, card));
  const totals = batches.reduce(
    (sum, events, i) => addEvents(sum, events, prices[i] as BatchPrices),
    NO_EVENTS,
  );
  return { prices, totals };
}

/** Reprices batches in sequence. */
function repriced(
  spec: RepriceSpec,
  batches: readonly (readonly RunEvent[])[],
  old: readonly BatchPrices[],
  totals: EventTotals,
  card: RateCard,
) {
  let sum = NO_CALLS;
  const prices = batches.map((events, i) => {
    const result = repriceBatch(spec, events, old[i] as BatchPrices, totals, card);
    sum = addCounts(sum, result.sum);
    totals = result.totals;
    return result.prices ?? old[i] as BatchPrices;
  });
  return { prices, totals, sum };
}

const anyTokens: fc.Arbitrary<Tokens> = fc.record({
  model: fc.constantFrom("m", "m", "n", "o", null),
  provider: fc.constantFrom(null, "p", "q"),
  input: fc.oneof(fc.nat(1_000), fc.constant(Number.MAX_SAFE_INTEGER)),
  output: fc.nat(1_000),
  counted: fc.boolean(),
  ts: fc.integer({ min: NOON, max: NOON + 9 }),
});
const anyBatches = fc.array(fc.array(anyTokens.map((tokens) => aCall(tokens)), { maxLength: 6 }), {
  maxLength: 6,
});

/**
 * A card of prices for several models, each in force from an instant on; each row is one object.
 */
const anyCard: fc.Arbitrary<RateCard> = fc.uniqueArray(
  fc.record({
    model: fc.constantFrom("m", "n", "o"),
    provider: fc.constantFrom(null, "p"),
    from: fc.constantFrom(NOON, NOON + 3, NOON + 6),
    input: fc.nat(1_000_000),
    output: fc.nat(1_000_000),
    version: fc.nat(1),
  }),
  { selector: ({ model, provider, from }) => `${model} ${provider} ${from}` },
).map((specs) => {
  const rows = specs.map(({ model, provider, from, input, output, version }) => {
    const id = `${model} ${provider} ${from} ${version}`;
    return {
      row: { ...rateRow(model, input, output), id, provider, from },
      match: "exact" as const,
    };
  });
  return {
    find: (provider, model, ts) =>
      rows.filter(({ row }) =>
        row.model === model && (row.provider === null || row.provider === provider) &&
        (row.from ?? 0) <= ts
      ).sort((a, b) => (a.row.from ?? 0) - (b.row.from ?? 0)).at(-1) ?? null,
  };
});

/** Extracts each event's cost and the row that explains it. */
function pricesByEvent(events: readonly RunEvent[], { matches, by, costs }: BatchPrices) {
  return events.map((_, i) => [matches[by[i] ?? -1]?.row ?? null, BigInt(costs[i] ?? 0)]);
}

/** Prices by two cards: selected calls by the new one, others by the old one. */
function mixed(spec: RepriceSpec, old: RateCard, fresh: RateCard): RateCard {
  return {
    find: (provider, model, ts) => {
      const selected = model === spec.model && (spec.provider ?? provider) === provider;
      return (selected ? fresh : old).find(provider, model, ts);
    },
  };
}

const anySpec = fc.record({
  model: fc.constantFrom("m", "n"),
  provider: fc.constantFrom(null, "p"),
}).map((names): RepriceSpec => ({ ...ALL, ...names }));

Deno.test("repriced totals equal those of the new card from scratch, and the cost is the sum of all costs", () => {
  fc.assert(
    fc.property(anyBatches, anyCard, anyCard, anySpec, (batches, old, fresh, spec) => {
      const before = stored(batches, old);
      const after = repriced(spec, batches, before.prices, before.totals, fresh);
      const scratch = stored(batches, mixed(spec, old, fresh));
      // Rows with the same id and cost are equal; other changes cannot be seen here.
      assertEquals(after.totals, scratch.totals);
      assertEquals(after.sum.after - after.sum.before, after.totals.cost - before.totals.cost);
      const costs = after.prices.flatMap(({ costs }) => costs.map(BigInt));
      assertEquals(costs.reduce((sum, cost) => sum + cost, 0n), after.totals.cost);
      for (const [i, events] of batches.entries()) {
        const [is, want] = [after.prices[i], scratch.prices[i]] as [BatchPrices, BatchPrices];
        assertEquals(
          pricesByEvent(events, is).map(([, cost]) => cost),
          pricesByEvent(events, want).map(([, cost]) => cost),
        );
      }
    }),
    { numRuns: 500 },
  );
});

Deno.test("repricing a second time changes nothing", () => {
  fc.assert(fc.property(anyBatches, anyCard, anyCard, anySpec, (batches, old, fresh, spec) => {
    const before = stored(batches, old);
    const once = repriced(spec, batches, before.prices, before.totals, fresh);
    for (const [i, events] of batches.entries()) {
      const prices = once.prices[i] as BatchPrices;
      const twice = repriceBatch(spec, events, prices, once.totals, fresh);
      assertEquals([twice.prices, twice.totals], [null, once.totals]);
      assertEquals(twice.sum.before, twice.sum.after);
    }
  }));
});

Deno.test("rows that no longer price anything are removed from the batch", () => {
  const events = [aCall(A_CALL), aCall({ ...A_CALL, model: "n" })];
  const { prices, totals } = stored([events], cardOf(rateRow("m", 1, 1), rateRow("n", 2, 2)));
  const changed = { ...rateRow("m", 3, 3), id: "another" };
  const { prices: after } = repriceBatch(
    ALL,
    events,
    prices[0] as BatchPrices,
    totals,
    cardOf(changed),
  );
  assertEquals(after?.matches.map(({ row }) => row.id), ["rate_n", "another"]);
  assertEquals(after?.by, [1, 0]);
});
