import { assertEquals, assertRejects } from "@std/assert";
import { Deadlines } from "../../../runtime/deadlines.ts";
import { FakeTimers } from "../../support/fakes/fake_timers.ts";

const never = () => Promise.withResolvers<string>().promise;

Deno.test("work that finishes in time never times out, and no timer outlives its owner", async () => {
  const timers = new FakeTimers();
  using deadlines = new Deadlines(100, timers);
  assertEquals(await deadlines.within(Promise.resolve("done"), () => "late"), "done");
  await assertRejects(
    () => deadlines.within(Promise.reject(new RangeError("own")), () => "late"),
    RangeError,
  );
  // One timer stays for the next request; it ends on its own or with its owner.
  assertEquals(timers.set.length, 1);
  timers.advance(100);
  assertEquals(timers.set.length, 0);
  await deadlines.within(Promise.resolve("again"), () => "late");
  deadlines[Symbol.dispose]();
  assertEquals(timers.set.length, 0);
});

Deno.test("each deadline runs from its own start, with one shared timer", async () => {
  const timers = new FakeTimers();
  const deadlines = new Deadlines(100, timers);
  const reported: string[] = [];
  const wait = (name: string) =>
    deadlines.within(never(), () => name).then((name) => reported.push(name));
  const first = wait("first");
  timers.advance(60);
  const second = wait("second");
  const third = wait("third");
  assertEquals(timers.set.length, 1);
  timers.advance(40);
  await first;
  assertEquals([reported, timers.set.length], [["first"], 1]);
  timers.advance(59);
  assertEquals(reported, ["first"]);
  timers.advance(1);
  await Promise.all([second, third]);
  assertEquals([reported, timers.set.length], [["first", "second", "third"], 0]);
});

Deno.test("a missed deadline may fail the work", async () => {
  const timers = new FakeTimers();
  const waiting = new Deadlines(5, timers).within(never(), () => {
    throw new RangeError("too late");
  });
  timers.advance(5);
  await assertRejects(() => waiting, RangeError, "too late");
});

Deno.test("deadlines: work that is watched after the end starts no timer", () => {
  const timers = new FakeTimers();
  const deadlines = new Deadlines(100, timers);
  deadlines[Symbol.dispose]();
  deadlines.watch(() => {});
  assertEquals(timers.set.length, 0);
});
