/** Monitors in a browser: a proposal accepted, settings changed by keyboard, a board that updates. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { aHeartbeat } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";
import { Harness } from "../../support/harness/harness.ts";
import { axe } from "../../support/oracles/axe.ts";
import { OVERFLOW } from "../../push/browser/looking.ts";

const HOUR_MS = 3_600_000;

async function openHourly(): Promise<Harness> {
  const h = await Harness.open({ clockGapMaxMs: Infinity });
  h.nowMs -= 9 * HOUR_MS;
  for (let n = 1; n <= 9; n++) {
    h.nowMs += HOUR_MS;
    await report(h, n);
  }
  return h;
}

async function report(h: Harness, n: number, status = "ok"): Promise<void> {
  await h.post("/v1/heartbeats", aHeartbeat(n, { agent: "hourly", status }));
  await h.worker.idle();
}

const panel = (page: Page) => page.locator("#monitor");

for (
  const [name, options] of [
    ["on a phone without scripts", { ...PHONE, javaScriptEnabled: false }],
    ["by keyboard", DESK],
  ] as const
) {
  browserTest(
    `monitors: one click accepts a proposal, and a form changes it, ${name}`,
    async (browser) => {
      await using h = await openHourly();
      await using visitor = await BrowserSession.open(browser, h.url, options);
      const { page } = visitor;
      await visitor.signIn(h.key);
      await page.goto("/dashboard/agents");
      await page.getByText("8 of the last 8 runs came in this rhythm").waitFor();
      await page.getByRole("button", { name: "Create monitor" }).press("Enter");
      await page.getByText("Saved.").waitFor();
      await panel(page).locator(".now").getByText("Up", { exact: true }).waitFor();
      await page.getByRole("heading", { name: "Change the monitor" }).waitFor();
      assertEquals(await page.getByLabel("Cron line", { exact: true }).isVisible(), false);
      await page.getByLabel("A run is expected").selectOption("cron");
      assertEquals(await page.getByLabel("Period", { exact: true }).isVisible(), false);
      await page.getByLabel("Cron line", { exact: true }).fill("61 * * * *");
      await page.getByRole("button", { name: "Save" }).press("Enter");
      const wrong = page.getByLabel("Cron line", { exact: true });
      await wrong.and(page.locator("[aria-invalid=true]")).waitFor();
      if (options.javaScriptEnabled !== false) assertEquals(await axe(page), []);
      visitor.faults.length = 0;
      await wrong.fill("0 2 * * 1-5");
      await page.getByLabel("Time zone").fill("Europe/Berlin");
      await page.getByRole("button", { name: "Save" }).press("Enter");
      await panel(page).getByText("At 02:00, Monday through Friday").waitFor();
      await page.getByRole("button", { name: "Pause" }).press("Enter");
      await panel(page).getByText("until the next success").first().waitFor();
      await page.getByRole("button", { name: "Resume" }).press("Enter");
      await panel(page).getByRole("link", { name: "Delete…" }).press("Enter");
      const remove = page.getByRole("button", { name: "Delete monitor" });
      await remove.waitFor();
      assertEquals(await page.evaluate(OVERFLOW), []);
      await remove.press("Enter");
      await page.getByText("Deleted.").waitFor();
      visitor.assertCalm();
    },
  );
}

browserTest(
  "monitors: the board updates in place, and the focus stays on its agent",
  async (browser) => {
    await using h = await openHourly();
    await using visitor = await BrowserSession.open(browser, h.url, DESK);
    const { page } = visitor;
    await visitor.signIn(h.key);
    await page.goto("/dashboard/agents/hourly?tab=monitor");
    await page.getByRole("button", { name: "Create monitor" }).first().click();
    await page.getByText("Saved.").waitFor();
    await page.clock.install();
    await page.goto("/dashboard/agents");
    const row = page.getByRole("link", { name: "hourly" });
    await row.focus();
    h.nowMs += 1_000;
    await report(h, 20, "fail");
    await page.clock.runFor(15_000);
    await page.clock.resume();
    await page.locator("#board").getByText("Down", { exact: true }).waitFor();
    await page.getByText("1 agent, 1 down, 0 running").waitFor();
    await page.getByRole("navigation", { name: "State" }).getByText("Down").waitFor();
    await row.and(page.locator(":focus")).waitFor();
    visitor.assertCalm();
  },
);
