/** Slots of searches: those of a team do not keep its other pages waiting. */
import { assert, assertEquals } from "@std/assert";
import { Overloaded } from "../../domain/core/errors.ts";
import { SEARCHES } from "../../kv/base/reads.ts";
import type { RunListStore } from "../../kv/run_list/run_list.ts";
import { aHeartbeat, runId } from "../support/builders/requests.ts";
import { hrefsOf, signedIn } from "../support/harness/dashboard.ts";
import { Harness, oneInstance } from "../support/harness/harness.ts";
import { Hono } from "hono";
import { Memory } from "../../runtime/memory.ts";
import type { AppDeps, Env } from "../../routes/http/context.ts";
import { Admission } from "../../routes/http/admission.ts";

oneInstance.test("searches: one of a team runs, and its other pages do not wait for it", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  const reader = await signedIn(h);
  // A search that lasts.
  const over = Promise.withResolvers<void>();
  const lasting = h.store.searches.run(h.team.id, () => over.promise).catch(() => {});
  const answers: number[] = [];
  const refused = Promise.withResolvers<void>();
  const search = async (n: number) => {
    const { status } = n % 2 === 0
      ? await h.get(`/v1/runs?text=nowhere${n}`)
      : await reader.get(`/dashboard/search?q=nowhere${n}`);
    if (answers.push(status) === 30 - SEARCHES.teamWaiting) refused.resolve();
  };
  const searches = Array.from({ length: 30 }, (_, n) => search(n));
  await refused.promise;
  const page = await reader.get(`/dashboard/runs/${runId(1)}`);
  const list = await reader.get("/dashboard/runs");
  assertEquals([page.status, list.status], [200, 200]);
  assertEquals(new Set(answers), new Set([503]), "no search came before the pages");
  over.resolve();
  await Promise.all([...searches, lasting]);
  assertEquals((await h.get("/v1/runs?text=nowhere")).status, 200);
});

Deno.test("searches: a run opened from a search is shown without its neighbours when too many wait", async () => {
  const none = { rows: [], next: null, searchedTo: null };
  let searches = 0;
  const runList: RunListStore = {
    starts: () => Promise.resolve(null),
    page: (_team, { text }) => {
      if (text === undefined) return Promise.resolve(none);
      searches++;
      return Promise.reject(new Overloaded("Too many reads are waiting"));
    },
  };
  await using h = await Harness.open({ deps: { runList } });
  await h.post("/v1/heartbeats", aHeartbeat(1));
  const reader = await signedIn(h);
  const { status, text } = await reader.get(`/dashboard/runs/${runId(1)}?list=text%3Drefund`);
  assertEquals([status, searches], [200, 1]);
  assert(hrefsOf(text).includes("/dashboard/runs?text=refund"));
});

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
