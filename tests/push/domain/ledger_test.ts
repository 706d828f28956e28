import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  addToMonth,
  decideAppend,
  EMPTY_LEDGER,
  type EventLedger,
  ID_PAGES_MAX,
  type LedgerPage,
  packEventIds,
  PAGE_BATCHES_MAX,
  PAGE_IDS_MAX,
  pageEntryOf,
  unpackEventIds,
} from "../../../domain/runs/ledger.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { EventId } from "../../../domain/core/ids.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import { RUN_MODELS_MAX } from "../../../domain/core/limits.ts";
import { addModelUsage, type ModelUsage, OTHER_MODELS } from "../../../domain/runs/model_usage.ts";
import { eventId } from "../../support/builders/requests.ts";
import { cardOf, rateRow } from "../../support/builders/cards.ts";

/** Prices every third model. */
const CARD = cardOf(...Array.from({ length: 24 }, (_, i) => rateRow(`m${3 * i}`, 7, 11)));

/** Event number `n`; the number determines its time. */
function event(n: number, fields: Partial<RunEvent> = {}): RunEvent {
  const data = "{}" as RawJson;
  return {
    id: eventId(n) as EventId,
    type: "log",
    ts: n,
    data,
    facts: { error: false },
    ...fields,
  };
}

/** A ledger as stored: the head, its sealed pages, and all their ids. */
class Book {
  ledger: EventLedger = EMPTY_LEDGER;
  readonly pages: LedgerPage[] = [];
  readonly rowIds: EventId[] = [];
  /** Ids of sealed pages and of rows, which the store looks up. */
  readonly #stored = new Set<EventId>();
  accepted = 0;
  duplicates = 0;

  append(batch: readonly RunEvent[], receivedAt = 0): RunEvent[] {
    const stored = this.#stored;
    const ids = { isEmpty: stored.size === 0, has: (id: EventId) => stored.has(id) };
    const decision = decideAppend(this.ledger, ids, batch, receivedAt, CARD);
    this.ledger = decision.ledger;
    if (decision.sealedPage !== null) {
      this.pages.push(decision.sealedPage);
      for (const id of unpackEventIds(decision.sealedPage.ids)) stored.add(id);
    }
    this.rowIds.push(...decision.rowIds);
    for (const id of decision.rowIds) stored.add(id);
    this.accepted += decision.fresh.length;
    this.duplicates += decision.duplicates;
    return [...decision.fresh];
  }

  ids(): EventId[] {
    return [...this.pages, this.ledger.tail].flatMap((page) => unpackEventIds(page.ids));
  }
}

const batches = fc.array(fc.array(fc.nat({ max: 40 }), { maxLength: 12 }), { maxLength: 12 });

Deno.test("decision 20: accepted plus duplicates is the number of items, and each id is stored once", () => {
  fc.assert(fc.property(batches, (sent) => {
    const book = new Book();
    for (const numbers of sent) book.append(numbers.map((n) => event(n)));
    const distinct = new Set(sent.flat());
    assertEquals(book.accepted + book.duplicates, sent.flat().length);
    assertEquals(book.accepted, distinct.size);
    assertEquals(book.ids().sort(), [...distinct].map((n) => eventId(n) as EventId).sort());
    assertEquals(book.ledger.totals.events, distinct.size);
  }));
});

Deno.test("decision 20: of one id twice in a batch the first is stored, in sent order", () => {
  const book = new Book();
  const fresh = book.append([event(2, { type: "a" }), event(1), event(2, { type: "b" })]);
  assertEquals(fresh.map(({ id, type }) => [id, type]), [[eventId(2), "a"], [eventId(1), "log"]]);
  assertEquals(book.duplicates, 1);
});

const anyEvents = fc.uniqueArray(
  fc.record({
    n: fc.nat({ max: 1_000 }),
    type: fc.constantFrom("llm_call", "tool_call", "log", "custom"),
    error: fc.boolean(),
    model: fc.option(fc.integer({ min: 0, max: 70 }).map((n) => `m${n}`)),
    counted: fc.boolean(),
    tokens: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    cached: fc.nat({ max: 3 }),
  }),
  { selector: ({ n }) => n, maxLength: 150 },
);

Deno.test("decisions, section 1: totals do not depend on the order or the division of batches", () => {
  const cut = fc.infiniteStream(fc.integer({ min: 1, max: 50 }));
  const cases = anyEvents.chain((drafts) =>
    fc.tuple(fc.constant(drafts), fc.shuffledSubarray(drafts, { minLength: drafts.length }), cut)
  );
  fc.assert(fc.property(cases, ([drafts, shuffled, sizes]) => {
    const toEvent = ({ n, type, error, model, counted, tokens, cached }: typeof drafts[number]) => {
      const usage = {
        inputTokens: tokens % 4,
        outputTokens: tokens,
        cachedInputTokens: cached,
        cacheWriteTokens: 0,
      };
      const facts = { model, provider: null, counted, ...usage };
      return event(n, {
        type,
        facts: { error, call: type === "llm_call" ? facts : undefined },
      });
    };
    const one = new Book();
    for (const draft of drafts) one.append([toEvent(draft)]);
    const other = new Book();
    for (let at = 0; at < shuffled.length;) {
      const size = sizes.next().value;
      other.append(shuffled.slice(at, at + size).map(toEvent));
      at += size;
    }
    assertEquals(other.ledger.totals, one.ledger.totals);
  }));
});

Deno.test("models are kept by smallest name, in any order, and their total loses nothing", () => {
  const tokens = fc.bigInt({ min: 0n, max: 2n ** 60n });
  const usage = fc.record({
    provider: fc.constantFrom("a", "b", null),
    model: fc.integer({ min: 0, max: 40 }).map((n) => `m${n}`),
    priced: fc.boolean(),
    calls: fc.nat({ max: 9 }),
    inputTokens: tokens,
    outputTokens: tokens,
    cachedInputTokens: tokens,
    cost: tokens,
  });
  const pairs = fc.array(usage, { minLength: 60, maxLength: 250, size: "max" }).chain((all) =>
    fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))
  );
  const sum = (all: ModelUsage[]) => all.reduce<readonly ModelUsage[]>(addModelUsage, []);
  fc.assert(fc.property(pairs, ([sent, shuffled]) => {
    const list = sum(sent);
    assertEquals(sum(shuffled), list);
    const named = list.filter(({ model }) => model !== OTHER_MODELS);
    assert(named.length <= RUN_MODELS_MAX);
    for (const { model, provider, priced, calls, cost } of named) {
      const own = sent.filter((each) =>
        each.model === model && each.provider === provider && each.priced === priced
      );
      assertEquals(calls, own.reduce((total, each) => total + each.calls, 0));
      assertEquals(cost, own.reduce((total, each) => total + each.cost, 0n));
    }
    const costOf = (all: readonly ModelUsage[]) =>
      all.reduce((total, { cost }) => total + cost, 0n);
    assertEquals(costOf(list), costOf(sent));
  }));
});

Deno.test("a page is sealed when full, and page and batch numbers continue", () => {
  const book = new Book();
  const size = 50;
  for (let from = 0; from < 600; from += size) {
    book.append(Array.from({ length: size }, (_, i) => event(from + i)), from);
  }
  // 300 is the first multiple of 50 that reaches 256.
  assert(PAGE_IDS_MAX === 256);
  assertEquals(book.pages.map((page) => page.ids.length / 17), [300, 300]);
  assertEquals([book.ledger.sealed, book.ledger.batches, book.ledger.tail.ids.length], [2, 12, 0]);
  assertEquals(
    book.pages.flatMap((page) => page.batches.map(({ receivedAt }) => receivedAt)),
    Array.from({ length: 12 }, (_, i) => i * size),
  );
});

Deno.test("single events fill a page to exactly its size", () => {
  const book = new Book();
  for (let n = 0; n < PAGE_IDS_MAX; n++) {
    assertEquals(book.pages.length, 0);
    book.append([event(n)]);
  }
  assertEquals([book.pages.length, book.ledger.tail], [1, EMPTY_LEDGER.tail]);
  assertEquals(book.ids().length, PAGE_IDS_MAX);
});

Deno.test("a batch stores the earliest and the latest instant of its events", () => {
  const book = new Book();
  book.append([event(9)]);
  book.append([event(9), event(7), event(3), event(5)], 42);
  assertEquals(book.ledger.tail.batches[1], { tsMin: 3, tsMax: 7, receivedAt: 42 });
});

Deno.test("packed ids are 17 bytes each and read back in order, both regions", () => {
  const id = fc.tuple(
    fc.constantFrom("eu", "us"),
    fc.uint8Array({ minLength: 16, maxLength: 16 }),
  ).map(([region, bytes]) => `evt_${region}_${bytes.toHex()}` as EventId);
  fc.assert(fc.property(fc.array(id), (ids) => {
    const packed = packEventIds(ids);
    assertEquals(packed.length, ids.length * 17);
    assertEquals(unpackEventIds(packed), ids);
  }));
});

Deno.test("after the pages with ids each id is a row, and a page is sealed when its batches are complete", () => {
  const book = new Book();
  for (let page = 0; page < ID_PAGES_MAX; page++) {
    const from = page * PAGE_IDS_MAX;
    book.append(Array.from({ length: PAGE_IDS_MAX }, (_, i) => event(from + i)));
  }
  assertEquals([book.ledger.sealed, book.rowIds.length], [ID_PAGES_MAX, 0]);
  const from = ID_PAGES_MAX * PAGE_IDS_MAX;
  for (let n = 0; n < PAGE_BATCHES_MAX; n++) {
    assertEquals([book.ledger.sealed, book.ledger.tail.ids.length], [ID_PAGES_MAX, 0]);
    // Of two equal ids in one batch the second is dropped, and so is an id known from a page or a
    // row.
    const input = [event(from + n), event(from + n), event(n), event(from + Math.max(0, n - 1))];
    assertEquals(book.append(input).length, 1);
  }
  assertEquals(book.ledger.sealed, ID_PAGES_MAX + 1);
  assertEquals(book.rowIds.length, PAGE_BATCHES_MAX);
  assertEquals(book.pages.at(-1)?.batches.length, PAGE_BATCHES_MAX);
  assertEquals(pageEntryOf(book.pages.at(-1) as LedgerPage, book.ledger.batches), {
    firstBatch: ID_PAGES_MAX,
    tsMin: from,
    tsMax: from + PAGE_BATCHES_MAX - 1,
  });
});

Deno.test("a ledger counts its events by month, with its first and latest arrival under any clock", () => {
  const [march, april] = [Date.UTC(2026, 2, 31), Date.UTC(2026, 3, 1)];
  const book = new Book();
  book.append([event(1), event(2)], april);
  book.append([event(3)], march);
  book.append([event(4)], april + 5);
  const { firstAt, oldestAt, latestAt, months } = book.ledger;
  assertEquals([firstAt, oldestAt, latestAt], [march, april, april + 5]);
  assertEquals(months, { "2026-03": 1, "2026-04": 3 });
  assertEquals(addToMonth(months, "2026-03", -1), { "2026-04": 3 });
});
