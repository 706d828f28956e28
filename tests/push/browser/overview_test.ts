/** The overview in a browser: it updates in place, and its charts are used by pointer and keys. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { openDemoWorld } from "../../support/builders/demo_world.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";

/** Longer than the time between two updates of the page, milliseconds. */
const UPDATE_MS = 31_000;

browserTest("the overview updates in place, but not while text is selected", async (browser) => {
  await using world = await openDemoWorld();
  await using visitor = await BrowserSession.open(browser, world.h.url);
  await visitor.signIn(world.h.key);
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
});

browserTest(
  "a column shows its numbers on hover and focus, and opens its runs",
  async (browser) => {
    await using world = await openDemoWorld();
    await using visitor = await BrowserSession.open(browser, world.h.url);
    await visitor.signIn(world.h.key);
    const { page } = visitor;
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
