/** Rate card cache: synchronous hits, immediate changes, and refreshes in time. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StorageUnavailable } from "../../../domain/core/errors.ts";
import type { Store } from "../../../kv/store.ts";
import type { Write } from "../../../kv/writer/group.ts";
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
import { TempStore } from "../../support/harness/temp_store.ts";

/** A store that counts reads and can delay one of them. */
function watched(store: Store) {
  const seen = { lists: 0 };
  let blocked: Promise<void> | undefined;
  const reader = new Proxy(store.reader, {
    get(target, name) {
      const method = Reflect.get(target, name).bind(target);
      if (name === "list") seen.lists++;
      if (name !== "getMany") return method;
      return async (...args: unknown[]) => {
        const wait = blocked;
        blocked = undefined;
        const entries = await method(...args);
        await wait;
        return entries;
      };
    },
  });
  return {
    store: { ...store, reader } as Store,
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
  const reader = new Proxy(temp.store.reader, {
    get(target, name) {
      if (name === "getMany" && broken) return () => Promise.reject(new TypeError("disk"));
      return Reflect.get(target, name).bind(target);
    },
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
