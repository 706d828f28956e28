import { assertEquals } from "@std/assert";
import { LendableLeadership, Loop } from "../../../runtime/loop.ts";

Deno.test("a loop takes no step while its turn is lent, and works on afterwards", async () => {
  const leadership = new LendableLeadership();
  let steps = 0;
  let stepped = Promise.withResolvers<void>();
  const loop = new Loop(
    async () => {
      steps++;
      stepped.resolve();
      await loop.wait(null);
    },
    () => 0,
    leadership,
  );
  void loop.start();
  await stepped.promise;
  const before = steps;
  const result = await leadership.lend(async () => {
    loop.waker.wake();
    await new Promise((resolve) => setTimeout(resolve));
    assertEquals(steps, before);
    stepped = Promise.withResolvers();
    return "done";
  });
  assertEquals(result, "done");
  await stepped.promise;
  assertEquals(steps, before + 1);
  await loop.stop();
});
