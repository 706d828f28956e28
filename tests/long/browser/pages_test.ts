/** Every page in a real browser: both themes, desktop and phone, with and without scripts. */
import { assert, assertEquals } from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { browserTest } from "../../support/harness/browser.ts";
import { openDemoWorld } from "../../support/builders/demo_world.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { checkPage, Visitors } from "../../push/browser/looking.ts";
import { PAGES } from "../../push/browser/pages.ts";

browserTest(
  "every page is accessible, error-free, stable and small, in both themes, on desktop and phone",
  async (browser, t) => {
    await using world = await openDemoWorld();
    await using visitors = new Visitors(browser, world);
    for (const page of PAGES) await t.step(page.name, () => checkPage(visitors, page));
  },
);

browserTest(
  "a user signs in, skips to the content and opens a page by keyboard alone",
  async (browser) => {
    await using world = await openDemoWorld();
    await using visitor = await BrowserSession.open(browser, world.h.url);
    const { page } = visitor;
    await page.goto("/dashboard/sign-in");
    // The field has the focus as soon as the page is shown.
    await page.getByLabel("Team key").and(page.locator(":focus")).waitFor();
    await page.keyboard.type(world.h.key);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.keyboard.press("Tab");
    const skip = page.getByRole("link", { name: "Skip to the content" });
    assertEquals(await isFocused(skip), true);
    assert((await skip.boundingBox())!.x >= 0, "the focused link is visible");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#main$/);
    await page.goto("/dashboard");
    await tabTo(page, "Runs");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/dashboard/runs");
    visitor.assertCalm();
  },
);

browserTest(
  "names of agents on a narrow desktop, and the tabs of alerts on a phone, keep one line",
  async (browser) => {
    await using world = await openDemoWorld();
    await using visitor = await BrowserSession.open(browser, world.h.url);
    const { page } = visitor;
    await visitor.signIn(world.h.key);
    const boxesOf = async (links: string) =>
      await page.locator(links).evaluateAll((all) => all.map((of) => of.getBoundingClientRect()));
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto("/dashboard/agents");
    const names = await boxesOf("table.agents a.row");
    assertEquals(names.map(({ height }) => height < 30), [true, true, true, true]);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto("/dashboard/alerts/silences");
    const tabs = await boxesOf("main .tabs a");
    assertEquals([tabs.length, new Set(tabs.map(({ top }) => top)).size], [6, 1]);
    visitor.assertCalm();
  },
);

/** Presses Tab until a menu link has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const link = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press("Tab");
    if (await isFocused(link)) return;
  }
  throw new Error(`${name} is not reached by Tab`);
}

async function isFocused(element: Locator): Promise<boolean> {
  return await element.and(element.page().locator(":focus")).count() === 1;
}
