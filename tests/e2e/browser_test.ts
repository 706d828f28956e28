/** Three pages in a real browser; `tests/push/browser/` has all of them, also on a phone. */
import { assertEquals } from "@std/assert";
import { browserTest } from "../support/harness/browser.ts";
import { openDemoWorld } from "../support/builders/demo_world.ts";
import { atDesk, Visitors } from "../push/browser/looking.ts";
import { pageRoutes, PAGES } from "../push/browser/pages.ts";

Deno.test("every page of the dashboard is checked in a browser", () => {
  const checked = new Set(PAGES.map(({ route }) => route));
  assertEquals(pageRoutes().filter((route) => !checked.has(route)), []);
});

browserTest(
  "the usual pages are accessible, error-free, stable and small, in both themes",
  async (browser, t) => {
    await using world = await openDemoWorld();
    await using visitors = new Visitors(browser, world);
    for (const page of PAGES.filter(({ name }) => /^(overview|runs|run-failed)$/.test(name))) {
      await t.step(page.name, () => atDesk(visitors, page));
    }
  },
);
