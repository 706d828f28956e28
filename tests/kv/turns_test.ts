import { assert, assertEquals, assertRejects } from "@std/assert";
import { Turns } from "../../kv/turns.ts";

/** Work that a test starts and ends by hand. */
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

Deno.test("turns: work of one name runs one after the other, in the order of the calls", async () => {
  const order: string[] = [];
  const turns = new Turns();
  const jobs = ["a", "b", "c"].map((name) => new Job(name, order));
  const done = jobs.map((job) => turns.take("run", job.run));
  for (const job of jobs.toReversed()) job.end();
  assertEquals(await Promise.all(done), ["a", "b", "c"]);
  assertEquals(order, ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]);
});

Deno.test("turns: other names do not wait", async () => {
  const turns = new Turns();
  const [slow, quick] = [new Job("slow", []), new Job("quick", [])];
  const first = turns.take("one", slow.run);
  const second = turns.take("two", quick.run);
  quick.end();
  assertEquals([await second, slow.started], ["quick", true]);
  slow.end();
  await first;
});

Deno.test("turns: work that fails passes the turn on and fails for its own caller only", async () => {
  const turns = new Turns();
  const [bad, good] = [new Job("bad", []), new Job("good", [])];
  const first = turns.take("run", bad.run);
  const second = turns.take("run", good.run);
  bad.fail();
  good.end();
  await assertRejects(() => first, Error, "bad failed");
  assertEquals(await second, "good");
});

Deno.test("turns: work taken while a turn ends still waits for it", async () => {
  const order: string[] = [];
  const turns = new Turns();
  const [a, b, c] = [new Job("a", order), new Job("b", order), new Job("c", order)] as const;
  const first = turns.take("run", a.run);
  const second = turns.take("run", b.run);
  a.end();
  await first;
  const third = turns.take("run", c.run);
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

Deno.test("turns: whoever takes several runs while no other has any of them, and nobody waits for ever", async () => {
  const turns = new Turns();
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
  const wanted = [["a", "b"], ["b", "a"], ["c"], ["b", "c"], ["a"], [], ["d", "a"], [
    "c",
    "b",
    "a",
  ]];
  const took = await Promise.all(wanted.map((names) => turns.takeAll(names, work(names))));
  assertEquals(took, wanted.map(({ length }) => length));
  assert(most > 2, "nothing ran side by side");
  assertEquals(await turns.takeAll(["a", "a"], () => Promise.resolve(1)), 1);
  const failed = turns.takeAll(["a", "b"], () => Promise.reject(new Error("no")));
  assertEquals(await failed.catch((error) => error.message), "no");
  assertEquals(await turns.take("b", () => Promise.resolve(2)), 2);
});
