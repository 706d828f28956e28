/** Live updates of a run and the paging of its timeline, in a real browser. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { aFinish, aRun, eventId, events, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { Harness } from "../../support/harness/harness.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

/** Waits until an event is on the timeline, and checks that it is the last of `n` events. */
async function untilShown(page: Page, n: number): Promise<void> {
  await page.locator(`[id="${eventId(n)}"]`).waitFor();
  assertEquals(await page.locator("ol.events > li").count(), n);
}

browserTest(
  "a live run adds events, loads pages and finishes, while opened details stay open",
  async (browser, t) => {
    await using h = await Harness.open();
    const send = (from: number, to: number) =>
      h.post(`/v1/runs/${runId(1)}/events`, { events: events(from, to) });
    await h.post("/v1/runs", aRun(1));
    await send(1, 48);
    await using visitor = await BrowserSession.open(browser, h.url);
    const { page } = visitor;
    await visitor.signIn(h.key);
    await page.goto(PAGE);
    const row = page.locator(`[id="${eventId(3)}"]`);
    const more = page.getByRole("button", { name: "Load more" });

    await t.step(
      "a new event appears; opened details and focus are kept",
      async () => {
        await page.getByText("Exact instants").click();
        await row.locator("summary").click();
        await send(49, 49);
        await untilShown(page, 49);
        assertEquals(await row.locator("pre").isVisible(), true);
        assertEquals(await page.getByText("Last arrived").isVisible(), true);
        assertEquals(await row.locator("summary").and(page.locator(":focus")).count(), 1);
      },
    );

    await t.step("the next page is appended, and updates continue there", async () => {
      await send(50, 51);
      await more.waitFor();
      await more.focus();
      await page.keyboard.press("Enter");
      await untilShown(page, 51);
      await send(52, 52);
      await untilShown(page, 52);
      assertEquals(await row.locator("pre").isVisible(), true);
      const ids = await page.locator("[id]").evaluateAll((all) => all.map(({ id }) => id));
      assertEquals(ids.length, new Set(ids).size);
    });

    await t.step("the output appears at the end, and polling stops", async () => {
      await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ output: { pages: 7 } }));
      await page.getByRole("heading", { name: "Output" }).waitFor();
      await page.locator("[hx-trigger]").waitFor({ state: "detached" });
      assertEquals(await page.locator(".glance .st-ok").count(), 1);
    });
    visitor.assertCalm();
  },
);
