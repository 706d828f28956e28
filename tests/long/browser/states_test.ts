/** Pages without data, with problems, and with the longest names. */
import { assertEquals } from "@std/assert";
import type { RunId } from "../../../domain/core/ids.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { keys } from "../../../kv/base/keys.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { type DemoWorld, openDemoWorld } from "../../support/builders/demo_world.ts";
import { Harness, type HarnessOptions } from "../../support/harness/harness.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { openHostileWorld } from "../../push/browser/hostile_world.ts";
import { checkPage, OVERFLOW, Visitors, WHAT_MOVED } from "../../push/browser/looking.ts";
import { PAGES, type PageUnderTest } from "../../push/browser/pages.ts";

browserTest(
  "empty pages pass all checks",
  async (browser, t) => {
    await using world = await openEmptyWorld();
    await using visitors = new Visitors(browser, world);
    const names =
      /^(overview|runs|agents|spend|rate-card|reprice|plan|keys|audit|teams|alerts|incident-history|channels|checks|deliveries|silences|search)$/;
    for (const page of PAGES.filter(({ name }) => names.test(name))) {
      const empty = { ...page, name: `empty-${page.name}` };
      await t.step(empty.name, () => checkPage(visitors, empty));
    }
  },
);

browserTest(
  "problem banners are accessible: over quota, a stuck run",
  async (browser, t) => {
    await using world = await openEmptyWorld({ tier: "free" });
    await addProblems(world.h);
    await using visitors = new Visitors(browser, world);
    for (const page of PAGES.filter(({ name }) => /^(overview|plan)$/.test(name))) {
      const withProblems = { ...page, name: `trouble-${page.name}` };
      await t.step(withProblems.name, () => checkPage(visitors, withProblems));
    }
  },
);

browserTest("pages of a key with the scope read pass all checks", async (browser, t) => {
  await using world = await openDemoWorld();
  await using visitors = new Visitors(browser, world);
  const names = /^(overview|run-failed|agent|incident|rule|rules|channel|spend|plan|refusals)$/;
  for (const page of PAGES.filter(({ name }) => names.test(name))) {
    const read: PageUnderTest = { ...page, name: `reader-${page.name}`, role: "reader" };
    await t.step(read.name, () => checkPage(visitors, read));
  }
});

browserTest("names of maximum length fit each page", async (browser, t) => {
  await using world = await openHostileWorld(["W".repeat(128)]);
  await using visitors = new Visitors(browser, world);
  for (const target of PAGES) {
    await t.step(target.name, async () => {
      const [desk, phone] = await Promise.all([
        visitors.window(target.role, "desk"),
        visitors.window(target.role, "phone"),
      ]);
      for (const { page } of [desk, phone]) {
        const answer = await page.goto(target.path(world));
        assertEquals(answer?.status(), target.status ?? 200);
        assertEquals(await page.evaluate(OVERFLOW), []);
      }
      await phone.shot(`long-${target.name}`);
    });
  }
});

browserTest("the layout is stable while a slow machine loads a page", async (browser, t) => {
  await using world = await openDemoWorld();
  await using visitors = new Visitors(browser, world);
  const { page } = await visitors.window("admin", "desk");
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 10 });
  // A browser may paint a partial page when parsing is slow: try each page twice.
  for (const target of PAGES.filter(({ name }) => /^(runs|run-long)$/.test(name))) {
    await t.step(target.name, async () => {
      for (let times = 0; times < 2; times++) {
        await page.goto(target.path(world));
        assertEquals(await page.evaluate(WHAT_MOVED), []);
      }
    });
  }
});

async function openEmptyWorld(options: HarnessOptions = {}): Promise<DemoWorld> {
  const h = await Harness.open({ ...options, operatorKey: OPERATOR_KEY });
  const none = "";
  return {
    h,
    runs: { failed: none, long: none, parent: none, unpriced: none, running: none },
    agent: none,
    incident: none,
    keyId: none,
    rateId: none,
    jobId: none,
    otherTeam: { key: none, agent: none, run: none },
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  };
}

/** Exceeds the quota of the plan, and gives up a stage of a run. */
async function addProblems(h: Harness): Promise<void> {
  const [run, at] = [runId(1) as RunId, h.nowMs];
  const { writer } = h.store;
  await writer.commit({
    team: h.team.id,
    sums: [{ key: keys.usage(h.team.id, monthOf(at)), by: 120_000n }],
  });
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  // The look at the usage is due at the end of the minute.
  h.nowMs += 60_000;
  await h.work.idle(["back"]);
  const failure = { work: "cost", tries: 8, at, error: "Error: disk full" };
  await writer.commit({
    team: h.team.id,
    sets: [{ key: keys.runFailure(h.team.id, run), value: failure }],
  });
}
