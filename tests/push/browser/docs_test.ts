/** `/docs` in Chromium: operations, search, example requests, themes; nothing of other hosts. */
import { assertEquals } from "@std/assert";
import type { BrowserContextOptions } from "playwright-core";
import { axe } from "../../support/oracles/axe.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { Harness } from "../../support/harness/harness.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { OVERFLOW } from "./looking.ts";

/** Screens, each in one theme of the system. */
const SCREENS: Readonly<Record<string, BrowserContextOptions>> = {
  desk: { viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  phone: {
    viewport: { width: 390, height: 844 },
    colorScheme: "dark",
    isMobile: true,
    hasTouch: true,
  },
};

/** Resolves once no colour has moved for 20 frames: those of the theme fade in when it loads. */
const AT_REST = `new Promise((resolve) => {
  let frames = 0;
  const check = () => {
    frames = document.getAnimations().length > 0 ? 0 : frames + 1;
    if (frames > 20) resolve();
    else requestAnimationFrame(check);
  };
  check();
})`;

browserTest("the reference shows the calls on each screen, accessibly", async (browser, t) => {
  await using h = await Harness.open();
  for (const [name, options] of Object.entries(SCREENS)) {
    await t.step(name, async () => {
      await using visitor = await BrowserSession.open(browser, h.url, options);
      const { page } = visitor;
      await page.goto("/docs");
      await page.getByRole("heading", { name: "Open a run" }).waitFor();
      await page.locator(`body.${options.colorScheme}-mode`).waitFor();
      await page.evaluate(AT_REST);
      assertEquals(await page.evaluate(OVERFLOW), []);
      assertEquals(await axe(page), []);
      await visitor.shot(`reference-${name}`, 900);
      visitor.assertCalm();
    });
  }
});

browserTest(
  "the reference sends a call and finds one, in the dashboard's theme",
  async (browser, t) => {
    await using h = await Harness.open();
    await using visitor = await BrowserSession.open(browser, h.url, { colorScheme: "light" });
    const { page } = visitor;
    await t.step("the theme is that of the dashboard", async () => {
      await page.context().addCookies([{ name: "runledger-theme", value: "dark", url: h.url }]);
      await page.goto("/docs");
      await page.getByRole("heading", { name: "Open a run" }).waitFor();
      await page.locator("body.dark-mode").waitFor();
      visitor.assertCalm();
    });
    await t.step("search finds a call, with examples in three languages", async () => {
      await page.getByRole("button", { name: "Search" }).click();
      await page.keyboard.type("explain cost");
      await page.getByRole("dialog").getByRole("option", { name: /Explain a run's cost/ }).click();
      await page.waitForURL(/#.*cost$/);
      const call = page.getByRole("region", { name: "Explain a run's cost" });
      const language = call.getByRole("button", { name: "Change code sample language" });
      await language.filter({ hasText: "Shell Curl" }).waitFor();
      const examples = [["JavaScript", "Fetch", "fetch("], ["Python", "Requests", "requests.get("]];
      for (const [name = "", library = "", code = ""] of examples) {
        await language.click();
        await page.getByRole("option", { name: library, exact: true }).first().click();
        await language.filter({ hasText: `${name} ${library}` }).waitFor();
        await call.locator("pre").filter({ hasText: code }).first().waitFor();
      }
      visitor.assertCalm();
    });
    await t.step(
      "a call is sent from the page, and the browser does not store the key",
      async () => {
        await page.getByLabel(/Token/).first().fill(h.key);
        await page.getByRole("button", { name: /Test Request/ }).first().click();
        const sent = page.waitForResponse("**/v1/runs");
        await page.getByRole("button", { name: /Send/ }).first().click();
        assertEquals((await sent).status(), 202);
        await page.getByText("202 Accepted").waitFor();
        const stored = await page.evaluate<string>(
          "JSON.stringify({ ...localStorage, ...sessionStorage })",
        );
        assertEquals(stored.includes(h.key), false);
        visitor.assertCalm();
      },
    );
  },
);
