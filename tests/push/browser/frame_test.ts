/** The frame by keyboard and pointer: search, account menu, theme, time zone. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { axe } from "../../support/oracles/axe.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { openDemoWorld } from "../../support/builders/demo_world.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";
import { WHAT_MOVED } from "./looking.ts";

const BERLIN = { ...DESK, timezoneId: "Europe/Berlin" };

/** Maximum milliseconds from ⌘K to the page of a run. */
const FIND_MS_MAX = 2_000;

/** Tries to find it in time: a busy machine may delay some. */
const TRIES = 3;

browserTest("a run is found by its id with the keyboard alone, in 2 s", async (browser) => {
  await using world = await openDemoWorld();
  await using visitor = await BrowserSession.open(browser, world.h.url);
  await visitor.signIn(world.h.key);
  const { page } = visitor;
  const took: number[] = [];
  do {
    await page.goto("/dashboard/spend");
    const began = performance.now();
    await page.keyboard.press("Control+k");
    await page.keyboard.insertText(world.runs.failed);
    const results = page.getByRole("dialog").getByRole("region", { name: "Runs" });
    await results.getByRole("link").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/dashboard/runs/${world.runs.failed}`);
    took.push(performance.now() - began);
  } while (Math.min(...took) >= FIND_MS_MAX && took.length < TRIES);
  assert(Math.min(...took) < FIND_MS_MAX, `${took.map(Math.round).join()} ms`);
  visitor.assertCalm();
});

browserTest("the search dialog works by arrows, and Escape returns the focus", async (browser) => {
  await using world = await openDemoWorld();
  await using visitor = await BrowserSession.open(browser, world.h.url);
  await visitor.signIn(world.h.key);
  const { page } = visitor;
  await page.getByRole("link", { name: /Search or jump/ }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("region", { name: "Pages" }).waitFor();
  await page.keyboard.type("issue");
  const agent = dialog.getByRole("link", { name: "issue-triage" });
  await dialog.getByRole("link", { name: "All runs that contain “issue”" }).waitFor();
  assertEquals(await axe(page), []);
  await page.keyboard.press("ArrowDown");
  await agent.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("ArrowUp");
  await dialog.getByRole("textbox").and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await page.getByRole("link", { name: /Search or jump/ }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Meta+k");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/agents/issue-triage");
  visitor.assertCalm();
});

browserTest(
  "times are local from the first page on, UTC on demand, and nothing moves",
  async (browser, t) => {
    await using world = await openDemoWorld();
    const inZone = async (page: Page) =>
      await page.locator("table.runs tbody time").first().innerText();
    await t.step("before the zone is known", async () => {
      await using visitor = await BrowserSession.open(browser, world.h.url, BERLIN);
      await visitor.signIn(world.h.key);
      const { page } = visitor;
      await page.context().clearCookies({ name: "runledger-zone" });
      await page.goto("/dashboard/runs");
      assertEquals(await inZone(page), "today 13:00");
      assertEquals(await page.evaluate(WHAT_MOVED), []);
    });
    await t.step("switched and remembered", async () => {
      await using visitor = await BrowserSession.open(browser, world.h.url, BERLIN);
      await visitor.signIn(world.h.key);
      const { page } = visitor;
      await page.goto("/dashboard/runs");
      const choose = async (name: string) => {
        await page.locator("summary").filter({ hasText: "Account" }).click();
        const zones = page.getByRole("group", { name: "Times" });
        assertEquals(await zones.locator("[aria-pressed=true]").count(), 1);
        await zones.getByRole("button", { name }).click();
        await zones.locator("[aria-pressed=true]").filter({ hasText: name }).waitFor();
      };
      await choose("UTC");
      assertEquals(await inZone(page), "today 12:00");
      await page.reload();
      assertEquals(await inZone(page), "today 12:00");
      await choose("Local time");
      assertEquals(await inZone(page), "today 13:00");
      assertEquals(await page.evaluate(WHAT_MOVED), []);
      visitor.assertCalm();
    });
    await t.step("without scripts, once the zone is known", async () => {
      const plain = { ...BERLIN, javaScriptEnabled: false };
      await using visitor = await BrowserSession.open(browser, world.h.url, plain);
      await visitor.signIn(world.h.key);
      const { page } = visitor;
      await page.goto("/dashboard/runs");
      const account = page.locator("summary").filter({ hasText: "Account" });
      const zones = page.getByRole("group", { name: "Times" });
      await account.click();
      await page.getByRole("group", { name: "Theme" }).waitFor();
      assertEquals(await zones.isVisible(), false, "the server does not know the zone");
      const zone = { name: "runledger-zone", value: "Europe/Berlin", url: world.h.url };
      await page.context().addCookies([zone]);
      for (
        const [name, shown] of [["UTC", "today 12:00"], ["Local time", "today 13:00"]] as const
      ) {
        await page.reload();
        await account.click();
        await zones.getByRole("button", { name }).click();
        assertEquals(await inZone(page), shown);
      }
      visitor.assertCalm();
    });
  },
);

browserTest(
  "the theme is switched and remembered, with and without scripts",
  async (browser, t) => {
    await using world = await openDemoWorld();
    const dark = (page: Page) => page.locator('html[data-theme="dark"]').waitFor();
    for (const javaScriptEnabled of [true, false]) {
      await t.step(javaScriptEnabled ? "with scripts" : "without scripts", async () => {
        const options = { ...PHONE, colorScheme: "light", javaScriptEnabled } as const;
        await using visitor = await BrowserSession.open(browser, world.h.url, options);
        await visitor.signIn(world.h.key);
        const { page } = visitor;
        await page.goto("/dashboard/runs?status=failed");
        const account = page.locator("summary").filter({ hasText: "Account" });
        const open = async () => {
          await account.focus();
          await page.keyboard.press("Enter");
        };
        await open();
        // axe needs the page's own scripts.
        if (javaScriptEnabled) assertEquals(await axe(page), []);
        await page.getByRole("button", { name: "Dark" }).click();
        await dark(page);
        assertEquals(new URL(page.url()).search, "?status=failed");
        await page.goto("/dashboard/spend");
        await dark(page);
        await open();
        const themes = page.getByRole("group", { name: "Theme" });
        await themes.locator("[aria-pressed=true]").filter({ hasText: "Dark" }).waitFor();
        await themes.getByRole("button", { name: "System" }).click();
        await page.locator("html:not([data-theme])").waitFor();
        const cookies = await page.context().cookies();
        assertEquals(cookies.filter(({ name }) => name === "runledger-theme"), []);
        visitor.assertCalm();
      });
    }
  },
);
