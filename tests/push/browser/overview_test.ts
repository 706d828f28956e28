/** The overview in a browser: it updates in place, and its charts are used by pointer and keys. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { type DemoWorld, openDemoWorld } from "../../support/builders/demo_world.ts";
import { OVERFLOW } from "./looking.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";

/** Longer than the time between two updates of the page, milliseconds. */
const UPDATE_MS = 31_000;

/** Runs a test of a signed-in person in the demo world. */
function overviewTest(
  name: string,
  run: (visitor: BrowserSession, world: DemoWorld) => Promise<void>,
): void {
  browserTest(name, async (browser) => {
    await using world = await openDemoWorld();
    await using visitor = await BrowserSession.open(browser, world.h.url);
    await visitor.signIn(world.h.key);
    await run(visitor, world);
  });
}

overviewTest(
  "the overview updates in place, but not while text is selected",
  async (visitor, world) => {
    const { page } = visitor;
    await page.clock.install();
    await page.goto("/dashboard?days=7");
    const runs = page.locator(".stat").filter({ hasText: "Runs" }).locator("b");
    const before = Number(await runs.textContent());
    await world.h.post("/v1/heartbeats", aHeartbeat(900_001));
    await world.h.worker.idle();
    let requests = 0;
    page.on("request", () => requests++);
    await page.getByRole("heading", { level: 1 }).selectText();
    await page.clock.runFor(UPDATE_MS);
    assertEquals(requests, 0, "selected text stays selected");
    await page.evaluate("getSelection().removeAllRanges()");
    await page.clock.runFor(UPDATE_MS);
    await page.locator(".stat b", { hasText: `${before + 1}` }).waitFor();
    assertEquals(new URL(page.url()).search, "?days=7");
    assertEquals(await page.locator("#overview").count(), 1);
    visitor.assertCalm();
  },
);

overviewTest(
  "a column shows its numbers on hover and focus, and opens its runs",
  async ({ page }) => {
    await page.goto("/dashboard");
    const today = page.getByRole("link", { name: /^today: \d+ runs/ });
    const card = today.locator(".tip");
    assertEquals(await card.isVisible(), false);
    await today.hover();
    assert(await card.isVisible());
    const [, count = ""] = /^today: (\d+) runs/.exec(await card.textContent() ?? "") ?? [];
    await page.mouse.move(0, 0);
    await today.focus();
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Tab");
    assert(await card.isVisible());
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/dashboard\/runs\?from=/);
    assertEquals(await page.locator("table.runs tbody th").count(), Number(count));
    assertMatch(await page.locator("main").textContent() ?? "", /UTC/);
  },
);

overviewTest(
  "the overview's panels end with their content, and a phone's charts share a row",
  async ({ page }) => {
    await page.goto("/dashboard");
    const side = page.locator(".side > .panel");
    assertEquals(await side.locator("h2").allInnerTexts(), [
      "Running now",
      "Failed checks today",
      "Slowest today",
    ]);
    for (const panel of await side.all()) {
      const [outer, inner] = await Promise.all([
        panel.boundingBox(),
        panel.locator(":scope > :last-child").boundingBox(),
      ]);
      assert(outer !== null && inner !== null);
      assert(outer.y + outer.height - inner.y - inner.height < 20, await panel.innerText());
    }
    await page.setViewportSize({ width: 390, height: 844 });
    const charts = await page.locator(".charts > .panel").all();
    const tops = await Promise.all(charts.map(async (chart) => (await chart.boundingBox())?.y));
    assertEquals(new Set(tops).size, 1);
    assertEquals(charts.length, 3);
    assertEquals(await page.evaluate(OVERFLOW), []);
  },
);
