/** Repricing calls gives the same result as pricing them by the new card in the first place. */
import { addCounts } from "../../../../domain/core/sums.ts";
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RunEvent } from "../../../../domain/runs/event.ts";
import { addEvents, type EventTotals, NO_EVENTS } from "../../../../domain/runs/event_totals.ts";
import type { EventId } from "../../../../domain/core/ids.ts";
import { rawOf } from "../../../../domain/core/raw_json.ts";
import { RUN_MODELS_MAX } from "../../../../domain/core/limits.ts";
import { type BatchPrices, priceEvents } from "../../../../domain/pricing/price.ts";
import type { RateCard } from "../../../../domain/pricing/rates.ts";
import {
  NO_CALLS,
  repriceBatch,
  repriceHeartbeat,
  type RepriceSpec,
} from "../../../../domain/repricing/reprice.ts";
import {
  isStated,
  type Opening,
  priceReported,
  type Reported,
} from "../../../../domain/runs/run.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { eventId } from "../../../support/builders/requests.ts";
import { cardOf, NO_CARD, rateRow } from "../../../support/builders/cards.ts";

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

Deno.test("a card without the model makes its calls unpriced at no cost", () => {
  const events = [aCall(A_CALL), aCall(A_CALL)];
  const { prices, totals } = stored([events], cardOf(rateRow("m", 1, 1)));
  assertEquals(totals.cost, 22n);
  const after = repriceBatch(ALL, events, prices[0] as BatchPrices, totals, NO_CARD);
  assertEquals(after.sum, { calls: 2, before: 22n, after: 0n });
  assertEquals(after.prices, { matches: [], by: [-1, -1], costs: [0, 0] });
  assertEquals(after.totals.cost, 0n);
  assertEquals(after.totals.models.map(({ priced, calls }) => [priced, calls]), [[false, 2]]);
});

Deno.test("a run with too many models keeps an exact sum", () => {
  const models = Array.from({ length: RUN_MODELS_MAX + 5 }, (_, n) => `m${10 + n}`);
  const events = models.map((model) => aCall({ ...A_CALL, model }));
  const before = stored([events], NO_CARD);
  let { totals } = before;
  let prices = before.prices[0] as BatchPrices;
  const card = cardOf(...models.map((model) => rateRow(model, 1, 1)));
  for (const model of models) {
    const step = repriceBatch({ ...ALL, model }, events, prices, totals, card);
    assertEquals(step.sum, { calls: 1, before: 0n, after: 11n });
    totals = step.totals;
    prices = step.prices ?? prices;
    const calls = totals.models.reduce((sum, line) => sum + line.calls, 0);
    assertEquals(calls, models.length);
  }
  assertEquals(totals.cost, 11n * BigInt(models.length));
  assertEquals(totals.models.reduce((sum, { cost }) => sum + cost, 0n), totals.cost);
  assert(totals.models.every(({ priced }) => priced));
});

const OPENING: Opening = { kind: "heartbeat", agent: "a", startedAt: NOON, receivedAt: NOON };
const REPORTED: Reported = { model: "m", inputTokens: 10, outputTokens: 1 };

function runParts(reported: Reported, kind: Opening["kind"] = "heartbeat") {
  return { opening: { ...OPENING, kind, reported }, closing: null };
}

Deno.test("a heartbeat's tokens are repriced, a run's reported tokens are not", () => {
  const card = cardOf(rateRow("m", 1, 1));
  const { sum, price } = repriceHeartbeat(ALL, runParts(REPORTED), undefined, card);
  assertEquals([sum, price?.cost], [{ calls: 1, before: 0n, after: 11n }, 11n]);
  const again = repriceHeartbeat(ALL, runParts(REPORTED), price, card);
  assertEquals([again.sum.before, again.sum.after, again.price], [11n, 11n, undefined]);
  const deleted = repriceHeartbeat(ALL, runParts(REPORTED), price, NO_CARD);
  assertEquals([deleted.sum, deleted.price], [{ calls: 1, before: 11n, after: 0n }, null]);
  const own = repriceHeartbeat(ALL, runParts(REPORTED, "run"), undefined, card);
  assertEquals([own.sum, own.price], [NO_CALLS, undefined]);
});

Deno.test("a heartbeat's stored price is its cost before repricing", () => {
  const was = priceReported(runParts(REPORTED), cardOf(rateRow("m", 2, 2)));
  assert(was !== null);
  const heartbeat = runParts({ ...REPORTED, price: was });
  const { sum } = repriceHeartbeat(ALL, heartbeat, undefined, cardOf(rateRow("m", 1, 1)));
  assertEquals(sum, { calls: 1, before: 22n, after: 11n });
});

Deno.test("pricing rule 1: a heartbeat with a stated cost, also 0, is never repriced", () => {
  for (const cost of [0n, 5n]) {
    const heartbeat = runParts({ ...REPORTED, cost });
    assert(isStated(heartbeat));
    assertEquals(
      repriceHeartbeat(ALL, heartbeat, undefined, cardOf(rateRow("m", 1, 1))).price,
      undefined,
    );
  }
  assert(!isStated(runParts(REPORTED)));
  assert(!isStated(runParts({ ...REPORTED, cost: 5n }, "run")));
});
