/** Live updates of the run list in a real browser. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { aHeartbeat, at, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { Harness } from "../../support/harness/harness.ts";
import { BrowserSession, PHONE } from "../../support/harness/browser_session.ts";

function untilListed(page: Page, n: number): Promise<void> {
  return page.locator(`[id="${runId(n)}"]`).waitFor();
}

function setHidden(page: Page, hidden: boolean): Promise<unknown> {
  return page.evaluate(
    `Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true })`,
  );
}

browserTest(
  "a live run list shows and marks new runs without disturbing the reader",
  async (browser, t) => {
    await using h = await Harness.open();
    for (let n = 1; n < 4; n++) {
      await h.post("/v1/heartbeats", aHeartbeat(n, { started_at: at(n) }));
    }
    await h.worker.idle();
    await using visitor = await BrowserSession.open(browser, h.url, PHONE);
    const { page } = visitor;
    await visitor.signIn(h.key);
    await page.goto("/dashboard/runs");
    await page.getByRole("link", { name: "Live" }).click();
    await page.getByRole("link", { name: "Pause" }).waitFor();

    await t.step("a new run is marked and counted; focus and scroll stay", async () => {
      await page.setViewportSize({ width: 720, height: 300 });
      await page.locator(`[id="${runId(2)}"]`).focus();
      await page.evaluate(`scrollTo(0, 90)`);
      await h.post("/v1/heartbeats", aHeartbeat(4, { started_at: at(4) }));
      await untilListed(page, 4);
      assertEquals(await page.locator("#news").textContent(), "1 new run");
      assertEquals(await page.locator("mark.fresh").count(), 1);
      assertEquals(await page.evaluate("document.activeElement.id"), runId(2));
      assertEquals(await page.evaluate(`scrollY`), 90);
    });

    await t.step("new are runs above a shown one: none that ended, or moved up", async () => {
      const marked = page.locator("tr:has(mark.fresh) .row");
      await page.goto("/dashboard/runs?live=1&limit=3");
      assertEquals(await marked.count(), 0);
      await h.post("/v1/heartbeats", aHeartbeat(6, { status: "start", started_at: at(3.5) }));
      await untilListed(page, 6);
      assertEquals(await marked.evaluateAll((rows) => rows.map(({ id }) => id)), [runId(6)]);
      await h.post("/v1/heartbeats", aHeartbeat(6, { started_at: at(3.5) }));
      await page.locator("tr", { has: page.locator(`[id="${runId(6)}"]`) }).getByText("success")
        .waitFor();
      assertEquals(await marked.count(), 0);
      assertEquals(await page.locator("#news").textContent(), "");
      await h.request("DELETE", `/v1/runs/${runId(4)}`);
      await untilListed(page, 2);
      assertEquals(await marked.count(), 0);
    });

    await t.step("an empty list fills, and empties again", async () => {
      await page.goto("/dashboard/runs?status=running&live=1");
      await page.getByText("No runs match").waitFor();
      await h.post("/v1/heartbeats", aHeartbeat(5, { status: "start", started_at: at(5) }));
      await untilListed(page, 5);
      await h.post("/v1/heartbeats", aHeartbeat(5, { started_at: at(5) }));
      await page.getByText("No runs match").waitFor();
    });

    await t.step("a hidden page sends no request until it is visible", async () => {
      const tab = await page.context().newPage();
      // The clock only advances as the test says, also while the page loads.
      await tab.clock.install({ time: 0 });
      await tab.clock.pauseAt(1_000);
      await tab.goto("/dashboard/runs?live=1");
      await setHidden(tab, true);
      let requests = 0;
      tab.on("request", (request) => {
        if (request.resourceType() === "xhr") requests++;
      });
      await tab.clock.runFor(20_000);
      assertEquals(requests, 0);
      await setHidden(tab, false);
      await tab.clock.runFor(2_000);
      assertEquals(requests, 1);
      await tab.clock.resume();
      await tab.close();
    });

    visitor.assertCalm();

    await t.step("after a lost connection the list resumes automatically", async () => {
      await page.context().setOffline(true);
      await page.waitForEvent("requestfailed");
      await page.context().setOffline(false);
      await h.post("/v1/heartbeats", aHeartbeat(8, { status: "start", started_at: at(8) }));
      await untilListed(page, 8);
    });
  },
);
