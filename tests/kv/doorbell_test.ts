/** The doorbell over real queues: at most one message waits, and none where there is no queue. */
import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Doorbell } from "../../kv/writer/doorbell.ts";
import { BACK_ENDS } from "../../kv/kv_limits.ts";
import { openStore } from "../../kv/open.ts";
import { createWriter, type Write } from "../../kv/writer/writer.ts";
import { type Fault, faultKv } from "../support/fault_kv.ts";
import { finish, runsOf } from "../support/pipeline.ts";
import { monotonicClockAheadBy } from "../support/rate_cards.ts";
import { withFolder } from "../support/temp_store.ts";

/** Longer than the least time between two messages. */
const LATER_MS = 5_000;

/** A KV that notes which operations carry messages. */
function counting(kv: Deno.Kv, messages: unknown[]): Deno.Kv {
  return new Proxy(kv, {
    get(target, name) {
      if (name !== "atomic") return Reflect.get(target, name).bind(target);
      return () => {
        const operation = target.atomic();
        const enqueue = operation.enqueue.bind(operation);
        operation.enqueue = (message) => (messages.push(message), enqueue(message));
        return operation;
      };
    },
  });
}

function mark(n: number): Write {
  return {
    sets: [{ key: ["item", n], value: n }],
    dirty: [{ lane: "open", name: `team run${n}` }],
  };
}

/** A writer over a queue of its own whose messages are counted. */
async function aWriter(plan: Fault[] = []) {
  const kv = await Deno.openKv(":memory:");
  const messages: unknown[] = [];
  const doorbell = new Doorbell(kv);
  const counted = counting(faultKv(kv, () => plan.shift() ?? "none"), messages);
  const writer = createWriter(counted, kv, BACK_ENDS.embedded, undefined, doorbell);
  return { kv, messages, doorbell, writer };
}

/** Resolves as often as it is called. */
class Wakes {
  #count = 0;
  #wanted = { count: Infinity, reached: () => {} };

  readonly wake = (): void => {
    if (++this.#count >= this.#wanted.count) this.#wanted.reached();
  };

  get count(): number {
    return this.#count;
  }

  async reached(count: number): Promise<void> {
    if (this.#count >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanted = { count, reached: resolve };
    await promise;
  }
}

Deno.test("doorbell: one message waits at most, however many commits and however much time", async () => {
  const { kv, messages, doorbell, writer } = await aWriter();
  for (let n = 0; n < 5; n++) {
    using _ = monotonicClockAheadBy(n * LATER_MS);
    await writer.commit(mark(n));
    await Promise.all([writer.commit(mark(100 + n)), writer.commit(mark(200 + n))]);
  }
  assertEquals(messages.length, 1);
  const wakes = new Wakes();
  const listening = doorbell.listen(wakes.wake);
  await wakes.reached(1);
  // It was heard: the next one may be sent, but not at once.
  await writer.commit(mark(10));
  using _ = monotonicClockAheadBy(5 * LATER_MS);
  await writer.commit(mark(11));
  await writer.commit(mark(12));
  assertEquals(messages.length, 2);
  await wakes.reached(5);
  kv.close();
  await listening;
});

Deno.test("doorbell: writes that change no run ring for nobody", async () => {
  const { kv, messages, doorbell, writer } = await aWriter();
  const wakes = new Wakes();
  const listening = doorbell.listen(wakes.wake);
  await writer.commit({ sets: [{ key: ["item"], value: 1 }] });
  assertEquals([messages.length, wakes.count], [0, 0]);
  kv.close();
  await listening;
});

Deno.test("doorbell: a commit that did not happen does not keep later messages back", async () => {
  for (const fault of ["throw", "lost"] as const) {
    const { kv, messages, writer } = await aWriter([fault]);
    await writer.commit(mark(1)).catch(() => null);
    using _ = monotonicClockAheadBy(LATER_MS);
    await writer.commit(mark(2));
    assertEquals(messages.length, 2, fault);
    kv.close();
  }
});

Deno.test("doorbell: a commit wakes the worker of this process at once, without a queue", async () => {
  await withFolder(async (folder) => {
    const store = await openStore(`${folder}/test.kv`);
    const wakes = new Wakes();
    await store.doorbell.listen(wakes.wake);
    await finish(runsOf(store), 1);
    assertEquals(wakes.count, 1);
    await store.close();
  });
});

Deno.test("doorbell: a message that an ended process left wakes the next one", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/test.kv`;
    const first = await openStore(path, undefined, true);
    await finish(runsOf(first), 1);
    await first.close();
    const wakes = new Wakes();
    const store = await openStore(path, undefined, true);
    const ended = store.doorbell.listen(wakes.wake);
    await wakes.reached(1);
    await store.close();
    await ended;
  });
});

/** Messages that wait in a closed file. */
function waiting(path: string): unknown {
  using database = new DatabaseSync(path, { readOnly: true });
  return database.prepare("SELECT count(*) AS messages FROM queue").get()?.messages;
}

Deno.test("doorbell: with queues a message waits in the file, without them nothing is ever sent", async () => {
  await withFolder(async (folder) => {
    for (const queue of [false, true]) {
      const path = `${folder}/${queue}.kv`;
      const store = await openStore(path, undefined, queue);
      for (let n = 0; n < 5; n++) await finish(runsOf(store), n);
      await store.close();
      assertEquals(waiting(path), queue ? 1 : 0);
    }
  });
});
