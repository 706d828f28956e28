/** A team's own rows in the store, and the result of races. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Deadlines, TIMERS } from "../../../runtime/deadlines.ts";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import { RATE_ROWS_MAX } from "../../../domain/core/limits.ts";
import type { PutRateOutcome } from "../../../domain/pricing/rate_card.ts";
import { BACK_ENDS } from "../../../kv/base/limits.ts";
import { createRateWriter } from "../../../kv/rate_cards/own_rates.ts";
import { faultKv } from "../../support/fakes/fault_kv.ts";
import { NOON } from "../../support/harness/harness.ts";
import {
  aSpec,
  cardsOf,
  inputOf,
  MODEL,
  monotonicClockAheadBy,
  NOTICED_WITHIN_MS,
  OTHER,
  priced,
  TEAM,
} from "../../support/builders/rate_cards.ts";
import { storeOver } from "../../support/harness/stores.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import type { RateCardStore } from "../../../kv/rate_cards/rate_cards.ts";
import { problemOfAsync } from "../../support/oracles/problems.ts";
import type { Store } from "../../../kv/store.ts";
import type { Write } from "../../../kv/writer/group.ts";
import { replaced } from "../../support/fakes/replaced.ts";

TempStore.test("rows of another provider, model or date coexist and are listed in that order", async (temp) => {
  const cards = cardsOf(temp.store);
  const names = [
    { model: "a", provider: null, from: null },
    { model: "b", provider: null, from: null },
    { model: "b", provider: null, from: NOON },
    { model: "b", provider: "z", from: null },
  ];
  for (const name of names.toReversed()) await cards.put(TEAM, aSpec(name), "key_1");
  const listed = (await cards.rows(TEAM)).map(({ row: { model, provider, from } }) => ({
    model,
    provider,
    from,
  }));
  assertEquals<unknown>(listed, names);
});

TempStore.test("the longest names fit the store, and are distinguished by their last character", async (temp) => {
  const cards = cardsOf(temp.store);
  const long = "😀".repeat(255);
  for (const last of ["😀", "😁"]) {
    const names = { provider: `${long}${last}`, model: `${long}${last}` };
    assertEquals((await cards.put(TEAM, aSpec(names), "key_1")).kind, "stored");
  }
  assertEquals((await cards.rows(TEAM)).length, 2);
});

TempStore.test("of equal concurrent puts in two processes one is stored and the others replay it", async (temp) => {
  const processes = [cardsOf(temp.store), cardsOf(temp.store)];
  const outcomes = await Promise.all(
    Array.from(
      { length: 30 },
      (_, n) => processes[n % 2]?.put(TEAM, aSpec(), `key_${n}`) as Promise<PutRateOutcome>,
    ),
  );
  assertEquals(outcomes.filter(({ kind }) => kind === "stored").length, 1);
  const [rate, ...others] = await (processes[0] as RateCardStore).rows(TEAM);
  assertEquals(others, []);
  for (const outcome of outcomes) assertEquals(outcome.rate, rate);
});

TempStore.test("of concurrent deletes exactly one returns the row", async (temp) => {
  const processes = [cardsOf(temp.store), cardsOf(temp.store)];
  const { rate } = await (processes[0] as RateCardStore).put(TEAM, aSpec(), "key_1");
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => processes[n % 2]?.delete(TEAM, rate.row.id, "key_1")),
  );
  assertEquals(answers.filter((answer) => answer !== null), [rate]);
  assertEquals((await temp.store.reader.get(["rate", TEAM.id])).value, 0);
});

TempStore.test("a change whose caller was answered 503 never replaces a later one", async (temp) => {
  const { writer, reader } = temp.store;
  const { promise: stalled, resolve } = Promise.withResolvers<void>();
  using kv = await Deno.openKv(temp.path);
  const faults = faultKv(kv, () => "stall", () => stalled);
  using deadlines = new Deadlines(20, TIMERS);
  const slow = createRateWriter(
    storeOver(faults, reader, BACK_ENDS.embedded, deadlines),
    { now: () => NOON },
  );
  // The first holds the lock of the team, so that the second begins after its deadline.
  const first = slow.put(TEAM.id, aSpec({ model: "another" }), "key_1");
  const second = slow.put(TEAM.id, priced(1), "key_1");
  const ends = [first, second].map((change) => assertRejects(() => change, StorageUnavailable));
  await ends[0];
  // Another instance answers the retry and the next change.
  const cards = cardsOf({ ...temp.store, writer });
  await cards.put(TEAM, priced(1), "key_1");
  await cards.put(TEAM, priced(2), "key_1");
  resolve();
  await Promise.all(ends);
  assertEquals(await inputOf(cardsOf(temp.store)), 2);
});

/** Puts rows through one process until only `room` more fit. */
async function fill(temp: TempStore, free: number): Promise<void> {
  const cards = cardsOf(temp.store);
  const { rate: first } = await cards.put(TEAM, aSpec({ model: "filler" }), "key_1");
  // The other rows bypass the store, which would read for each of them.
  for (let from = 1; from < RATE_ROWS_MAX - free; from += 100) {
    const length = Math.min(100, RATE_ROWS_MAX - free - from);
    const sets = Array.from({ length }, (_, i) => ({
      key: ["rate", TEAM.id, new TextEncoder().encode(`filler ${from + i}`)],
      value: { ...first, row: { ...first.row, id: `f${from + i}`, model: `filler ${from + i}` } },
    }));
    await temp.store.writer.commit({ sets });
  }
  const count = { key: ["rate", TEAM.id], value: RATE_ROWS_MAX - free };
  await temp.store.writer.commit({ sets: [count] });
}

TempStore.test("RATE_ROWS_MAX: racing puts never exceed the limit; replacing rows and other teams are not affected", async (temp) => {
  await fill(temp, 3);
  const processes = [cardsOf(temp.store), cardsOf(temp.store)];
  const cards = processes[0] as RateCardStore;
  const put = (model: string, n = 0) =>
    problemOfAsync((processes[n % 2] ?? cards).put(TEAM, aSpec({ model }), "key_1"));
  const problems = await Promise.all(Array.from({ length: 12 }, (_, n) => put(`new ${n}`, n)));
  const refused = problems.flatMap((problem) => problem?.code ?? []);
  assertEquals(refused, Array(9).fill("invalid_field"));
  const rows = await cards.rows(TEAM);
  assertEquals(rows.length, RATE_ROWS_MAX);
  assertEquals((await cards.put(TEAM, priced(9, { model: "filler" }), "key_1")).kind, "stored");
  assertEquals((await cards.put(OTHER, aSpec(), "key_1")).kind, "stored");
  assertEquals((await cards.rows(TEAM)).length, RATE_ROWS_MAX);
  const deleted = rows.find(({ row }) => row.model.startsWith("new"));
  assert(await cards.delete(TEAM, deleted?.row.id ?? "", "key_1") !== null);
  assertEquals([await put("late"), (await put("later"))?.field], [null, "model"]);
});

TempStore.test("a list whose rows change during the read is read again", async (temp) => {
  const writing = cardsOf(temp.store);
  await writing.put(TEAM, aSpec({ model: "before" }), "key_1");
  let changes = 2;
  const reader = replaced(temp.store.reader, {
    list: async function* (...args: Parameters<Deno.Kv["list"]>) {
      yield* temp.store.reader.list(...args);
      // The rows just read are of an outdated version.
      if (changes-- > 0) await writing.put(TEAM, aSpec({ model: `after ${changes}` }), "key_1");
    },
  });
  const rows = await cardsOf({ ...temp.store, reader }).rows(TEAM);
  assertEquals(rows.map(({ row }) => row.model), ["after 0", "after 1", "before"]);
});

/** A store that counts reads and can delay one of them. */
function watched(store: Store) {
  const seen = { lists: 0 };
  let blocked: Promise<void> | undefined;
  const reader = replaced(store.reader, {
    list: (...args: Parameters<Deno.Kv["list"]>) => {
      seen.lists++;
      return store.reader.list(...args);
    },
    getMany: async (keys: Deno.KvKey[]) => {
      const wait = blocked;
      blocked = undefined;
      const entries = await store.reader.getMany(keys);
      await wait;
      return entries;
    },
  });
  return {
    store: { ...store, reader },
    seen,
    /** The next read returns the current state, but not before it is released. */
    holdNextRead() {
      const { promise, resolve } = Promise.withResolvers<void>();
      blocked = promise;
      return resolve;
    },
  };
}

TempStore.test("a cached card is returned synchronously, as the same object", async (temp) => {
  const cards = cardsOf(temp.store);
  await cards.put(TEAM, aSpec(), "key_1");
  assert(cards.card(TEAM) instanceof Promise);
  const card = await cards.card(TEAM);
  assert(cards.card(TEAM) === card);
});

TempStore.test("teams without own rows share one card", async (temp) => {
  const cards = cardsOf(temp.store);
  assert(await cards.card(TEAM) === await cards.card(OTHER));
  await cards.put(TEAM, aSpec(), "key_1");
  assert(await cards.card(TEAM) !== await cards.card(OTHER));
});

TempStore.test("concurrent first loads share one read", async (temp) => {
  await cardsOf(temp.store).put(TEAM, aSpec(), "key_1");
  const { store, seen } = watched(temp.store);
  const cards = cardsOf(store);
  const all = await Promise.all(Array.from({ length: 20 }, () => cards.card(TEAM)));
  assertEquals([new Set(all).size, seen.lists], [1, 1]);
});

TempStore.test("a failed load is not cached: the next one reads again", async (temp) => {
  await cardsOf(temp.store).put(TEAM, priced(7), "key_1");
  let broken = true;
  const reader = replaced(temp.store.reader, {
    getMany: (keys: Deno.KvKey[]) =>
      broken ? Promise.reject(new TypeError("disk")) : temp.store.reader.getMany(keys),
  });
  const cards = cardsOf({ ...temp.store, reader });
  await assertRejects(() => inputOf(cards), StorageUnavailable);
  broken = false;
  assertEquals(await inputOf(cards), 7);
});

TempStore.test("a read that races with a change is not cached", async (temp) => {
  const { store, holdNextRead } = watched(temp.store);
  const cards = cardsOf(store);
  const letGo = holdNextRead();
  const early = cards.card(TEAM);
  await cards.put(TEAM, priced(7), "key_1");
  letGo();
  assertEquals((await early).find(null, MODEL, NOON), null);
  assertEquals(await inputOf(cards), 7);
});

TempStore.test("using a card does not extend its time in the cache", async (temp) => {
  const here = cardsOf(temp.store);
  assertEquals(await inputOf(here), null);
  await cardsOf(temp.store).put(TEAM, priced(2), "key_1");
  for (const ms of [2_500, 5_000, 7_500]) {
    using _clock = monotonicClockAheadBy(ms);
    await here.card(TEAM);
  }
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  assertEquals(await inputOf(here), 2);
});

TempStore.test("an unchanged card is kept after its time without reading its rows", async (temp) => {
  const { store, seen } = watched(temp.store);
  const cards = cardsOf(store);
  await cards.put(TEAM, aSpec(), "key_1");
  const card = await cards.card(TEAM);
  const { lists } = seen;
  using _clock = monotonicClockAheadBy(NOTICED_WITHIN_MS);
  assert(cards.card(TEAM) instanceof Promise);
  assert(await cards.card(TEAM) === card);
  assertEquals(seen.lists, lists);
  assert(cards.card(TEAM) === card);
});

TempStore.test("after a put of unknown outcome the card is read again", async (temp) => {
  const writer = {
    ...temp.store.writer,
    async commit(write: Write) {
      await temp.store.writer.commit(write);
      throw new StorageUnavailable("the answer was lost");
    },
  };
  const cards = cardsOf({ ...temp.store, writer });
  assertEquals(await inputOf(cards), null);
  await assertRejects(() => cards.put(TEAM, priced(3), "key_1"), StorageUnavailable);
  assertEquals(await inputOf(cards), 3);
});
