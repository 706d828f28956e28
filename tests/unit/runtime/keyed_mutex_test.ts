import { assert, assertEquals, assertRejects } from "@std/assert";
import { Deadlines } from "../../../runtime/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../../domain/core/errors.ts";
import { KeyedMutex } from "../../../runtime/fair_slots.ts";

/** Work that a test starts and ends manually. */
class Job {
  readonly #gate = Promise.withResolvers<void>();
  started = false;

  constructor(readonly name: string, readonly order: string[]) {}

  run = async (): Promise<string> => {
    this.started = true;
    this.order.push(`${this.name} starts`);
    await this.#gate.promise;
    this.order.push(`${this.name} ends`);
    return this.name;
  };

  end(): void {
    this.#gate.resolve();
  }

  fail(): void {
    this.#gate.reject(new Error(`${this.name} failed`));
  }
}

Deno.test("keyed mutex: work with one name runs in sequence, in call order", async () => {
  const order: string[] = [];
  const mutex = new KeyedMutex();
  const jobs = ["a", "b", "c"].map((name) => new Job(name, order));
  const done = jobs.map((job) => mutex.take("run", job.run));
  for (const job of jobs.toReversed()) job.end();
  assertEquals(await Promise.all(done), ["a", "b", "c"]);
  assertEquals(order, ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]);
});

Deno.test("keyed mutex: other names do not wait", async () => {
  const mutex = new KeyedMutex();
  const [slow, quick] = [new Job("slow", []), new Job("quick", [])];
  const first = mutex.take("one", slow.run);
  const second = mutex.take("two", quick.run);
  quick.end();
  assertEquals([await second, slow.started], ["quick", true]);
  slow.end();
  await first;
});

Deno.test("keyed mutex: failed work passes the lock on and fails only for its own caller", async () => {
  const mutex = new KeyedMutex();
  const [bad, good] = [new Job("bad", []), new Job("good", [])];
  const first = mutex.take("run", bad.run);
  const second = mutex.take("run", good.run);
  bad.fail();
  good.end();
  await assertRejects(() => first, Error, "bad failed");
  assertEquals(await second, "good");
});

Deno.test("keyed mutex: work queued while a lock is handed over still waits for it", async () => {
  const order: string[] = [];
  const mutex = new KeyedMutex();
  const [a, b, c] = [new Job("a", order), new Job("b", order), new Job("c", order)] as const;
  const first = mutex.take("run", a.run);
  const second = mutex.take("run", b.run);
  a.end();
  await first;
  const third = mutex.take("run", c.run);
  c.end();
  b.end();
  await Promise.all([second, third]);
  assertEquals(order.filter((line) => line.endsWith("starts")), [
    "a starts",
    "b starts",
    "c starts",
  ]);
  assertEquals(order.indexOf("b ends") < order.indexOf("c starts"), true);
});

Deno.test("keyed mutex: work with several names runs while no other work has any of them, and none starves", async () => {
  const mutex = new KeyedMutex();
  const busy = new Set<string>();
  let most = 0;
  const work = (names: readonly string[]) => async () => {
    for (const name of names) assert(!busy.has(name), `${name} is taken twice`);
    for (const name of names) busy.add(name);
    most = Math.max(most, busy.size);
    await new Promise((resolve) => setTimeout(resolve, 1));
    for (const name of names) busy.delete(name);
    return names.length;
  };
  const expected = [["a", "b"], ["b", "a"], ["c"], ["b", "c"], ["a"], [], ["d", "a"], [
    "c",
    "b",
    "a",
  ]];
  const took = await Promise.all(expected.map((names) => mutex.takeAll(names, work(names))));
  assertEquals(took, expected.map(({ length }) => length));
  assert(most > 2, "nothing ran side by side");
  assertEquals(await mutex.takeAll(["a", "a"], () => Promise.resolve(1)), 1);
  const failed = mutex.takeAll(["a", "b"], () => Promise.reject(new Error("no")));
  assertEquals(await failed.catch((error) => error.message), "no");
  assertEquals(await mutex.take("b", () => Promise.resolve(2)), 2);
});

Deno.test("keyed mutex: work beyond the queue limits is refused, for one name and in total", async () => {
  const mutex = new KeyedMutex(undefined, { name: 2, all: 3 });
  const jobs = ["a", "a", "a", "b", "b"].map((name) => new Job(name, []));
  const done = jobs.map((job) => mutex.take(job.name, job.run));
  const never = () => Promise.reject(new Error("it ran"));
  await assertRejects(() => mutex.take("a", never), Overloaded);
  await assertRejects(() => mutex.take("b", never), Overloaded);
  assertEquals(await mutex.take("c", () => Promise.resolve("free")), "free");
  for (const job of jobs) job.end();
  await Promise.all(done);
  assertEquals(await mutex.take("a", () => Promise.resolve("free")), "free");
});

Deno.test("keyed mutex: work whose deadline passes while it waits never runs and blocks nothing", async () => {
  let tick = () => {};
  let nowMs = 0;
  using deadlines = new Deadlines(2_000, {
    now: () => nowMs,
    after: (_, callback) => {
      tick = callback;
      return () => {};
    },
  });
  const mutex = new KeyedMutex(deadlines, { name: 1, all: 1 });
  const [slow, late] = [new Job("slow", []), new Job("late", [])];
  const next = new Job("next", []);
  const first = mutex.take("run", slow.run);
  const second = mutex.take("run", late.run);
  second.catch(() => {});
  nowMs = 2_000;
  tick();
  await assertRejects(() => second, StorageUnavailable);
  // Its queue slot is free again, and the work that holds the lock still has it.
  const third = mutex.take("run", next.run);
  assertEquals(next.started, false);
  slow.end();
  next.end();
  assertEquals([await first, await third, late.started], ["slow", "next", false]);
});
