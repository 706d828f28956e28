/** Slots of the pages that show the events of runs. */
import { assertEquals } from "@std/assert";
import { Hono } from "hono";
import { Memory } from "../../runtime/memory.ts";
import type { AppDeps, Env } from "../../routes/http/context.ts";
import { Admission } from "../../routes/http/admission.ts";

Deno.test("two pages of runs of a team are made at the same time, and other teams do not wait", async () => {
  const shuttingDown = new AbortController().signal;
  const deps = { memory: new Memory(), silentMsMax: Infinity, draining: () => false, shuttingDown };
  const admission = new Admission(deps as Partial<AppDeps> as AppDeps);
  const begun: string[] = [];
  const gates: (() => void)[] = [];
  let hasBegun = Promise.withResolvers<void>();
  const app = new Hono<Env>();
  app.get("/:team", (c) => {
    const id = c.req.param("team");
    c.set("principal", { team: { id } } as Env["Variables"]["principal"]);
    return admission.showRun(c, async () => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate.resolve);
      begun.push(id);
      hasBegun.resolve();
      await gate.promise;
      return new Response(id);
    });
  });
  const answers = ["a", "a", "a", "b"].map((team) => app.request(`/${team}`));
  while (begun.length < 3) {
    await hasBegun.promise;
    hasBegun = Promise.withResolvers();
  }
  assertEquals(begun.toSorted(), ["a", "a", "b"]);
  gates[0]?.();
  await hasBegun.promise;
  assertEquals(begun.toSorted(), ["a", "a", "a", "b"]);
  for (const open of gates) open();
  for (const answer of answers) assertEquals((await answer).status, 200);
});
