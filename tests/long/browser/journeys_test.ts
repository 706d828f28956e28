/** Common user journeys, driven by visible texts. */
import { assertEquals, assertMatch } from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { CAUSE, UNPRICED_MODEL } from "../../support/builders/demo_week.ts";
import { runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { type DemoWorld, openDemoWorld } from "../../support/builders/demo_world.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";

/** Browser setups that each journey runs in. */
const WAYS = {
  "at a desk": DESK,
  "on a phone without scripts": { ...PHONE, javaScriptEnabled: false },
};

/** Defines a test of a user journey, run once per browser setup, each time in a new world. */
function journey(
  name: string,
  walk: (visitor: BrowserSession, world: DemoWorld) => Promise<void>,
): void {
  browserTest(name, async (browser, t) => {
    for (const [way, options] of Object.entries(WAYS)) {
      await t.step(way, async () => {
        await using world = await openDemoWorld();
        await using visitor = await BrowserSession.open(browser, world.h.url, options);
        await visitor.signIn(world.h.key);
        await walk(visitor, world);
        await visitor.shot(`${name} ${way}`.replaceAll(/\W+/g, "-"));
        visitor.assertCalm();
      });
    }
  });
}

journey("a user finds why last night's run failed", async ({ page }, world) => {
  const failures = page.locator("#attention");
  // One click: the page opens at the failing call, with its arguments and its error.
  await failures.getByRole("link", { name: /Reconcile yesterday/ }).click();
  await page.getByRole("heading", { name: `Failed: ${CAUSE}` }).waitFor();
  assertEquals(new URL(page.url()).pathname, `/dashboard/runs/${world.runs.failed}`);
  const step = page.getByRole("complementary", { name: "Selected step" });
  await step.getByRole("heading", { name: "post_booking" }).waitFor();
  assertMatch(await step.innerText(), new RegExp(`"invoice": 7114[^]*${CAUSE}`));
  const row = page.locator("tr[aria-selected=true]");
  await page.getByRole("link", { name: "Show in timeline" }).click();
  await row.filter({ hasText: "post_booking" }).waitFor();
  assertEquals(await isOnScreen(row), true, "the step is on screen");
});

journey("a user compares a failed run with the last success", async ({ page }, world) => {
  await page.goto("/dashboard/runs?agent=issue-triage&status=failed");
  // Two clicks.
  await page.getByRole("link", { name: /^Giving up: 403/ }).first().click();
  await page.getByRole("link", { name: "Compare with last success" }).click();
  await page.getByRole("heading", { level: 1, name: "Compare" }).waitFor();
  await page.getByText(/^First difference, step \d+/).waitFor();
  // The demo has no success of this agent: the page says so, and offers a choice.
  await page.goto(`/dashboard/runs/${world.runs.failed}/compare`);
  await page.getByText("No run of invoice-sync succeeded before this one").waitFor();
  await page.getByLabel("Compare with another run").fill(world.runs.long);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText(/^First difference, step \d+/).waitFor();
  await page.getByRole("row", { name: /Cost/ }).first().waitFor();
});

journey(
  "a user explains this month's bill and prices the unknown model",
  async ({ page }, world) => {
    const model = `${UNPRICED_MODEL.provider}/${UNPRICED_MODEL.model}`;
    await goBy(page, "Spend");
    await page.getByRole("link", { name: "By model" }).click();
    assertEquals(await costShown(page, "openai/gpt-4o"), await costOf(world, "openai/gpt-4o"));
    await page.getByText("1 model has no price").waitFor();
    await page.getByRole("link", { name: `Add a price for ${model}` }).click();
    const prices = page.getByRole("group", { name: "Dollars per million tokens" });
    await prices.getByLabel("Input", { exact: true }).fill("0.5");
    await prices.getByLabel("Output", { exact: true }).fill("2");
    await page.getByRole("button", { name: "Save and see what changes" }).click();
    await page.getByRole("heading", { level: 1, name: `What would change: ${model}` }).waitFor();
    assertEquals(await costOf(world, model), 0, "the dry run changes nothing");
    await page.getByRole("button", { name: /^Reprice \d+ runs? now$/ }).click();
    await page.getByText("Done:").waitFor();
    await world.h.worker.idle();
    await page.getByRole("link", { name: "See the spend" }).click();
    await page.getByRole("link", { name: "By model" }).click();
    const cost = await costOf(world, model);
    assertEquals(cost > 0.1, true);
    assertEquals(await costShown(page, model), cost);
    assertEquals(await page.getByText("has no price").count(), 0);
  },
);

journey("a user finds what a customer cost in October, months later", async (visitor, { h }) => {
  const { page } = visitor;
  const cost = { agent: "ledger", status: "ok", cost_usd: 1.25, customer_id: "acme" };
  h.nowMs = Date.UTC(2026, 9, 31, 23);
  await h.post("/v1/heartbeats", { ...cost, id: runId(1) });
  h.nowMs = Date.UTC(2026, 10, 1, 1);
  await h.post("/v1/heartbeats", { ...cost, id: runId(2), cost_usd: 100 });
  await h.worker.idle();
  h.nowMs = Date.UTC(2027, 5, 15);
  await page.context().clearCookies();
  await visitor.signIn(h.key);
  const clicks = countClicks();
  await searchFor(page, clicks, "acme");
  await clicks.on(page.getByRole("link", { name: /^acme\s*spend$/ }));
  const months = page.getByRole("navigation", { name: "Month" });
  await clicks.on(months.getByRole("link", { name: "Oct 2026" }));
  await page.waitForURL(/from=2026-10-01/);
  await page.getByText("$1.2500").filter({ visible: true }).first().waitFor();
  assertEquals(clicks.made <= 3, true, `${clicks.made} clicks`);
});

function countClicks() {
  return {
    made: 0,
    async on(target: Locator): Promise<void> {
      this.made++;
      await target.click();
    },
  };
}

/** Searches everything: by Ctrl+K, or without scripts on the page of the search. */
async function searchFor(
  page: Page,
  clicks: ReturnType<typeof countClicks>,
  text: string,
): Promise<void> {
  const dialog = page.locator("#jump");
  await page.keyboard.press("Control+k");
  const hasDialog = await dialog.isVisible();
  if (!hasDialog) await clicks.on(page.getByRole("link", { name: /Search or jump/ }));
  const field = (hasDialog ? dialog : page).getByLabel("Search runs, agents, customers and pages")
    .filter({ visible: true });
  await field.fill(text);
  if (!hasDialog) await field.press("Enter");
}

async function goBy(page: Page, name: string): Promise<void> {
  const place = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });
  if (await place.count() > 0) await place.click();
  else await goBySettings(page, name);
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

/** Opens one of the settings; on a phone the account menu has them. */
async function goBySettings(page: Page, name: string): Promise<void> {
  const settings = page.getByRole("link", { name: "Settings", exact: true }).filter({
    visible: true,
  });
  if (await settings.count() === 0) {
    await page.locator("summary").filter({ hasText: "Account" }).click();
  }
  await settings.first().click();
  await page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name }).click();
}

async function costShown(page: Page, model: string): Promise<number> {
  const row = page.getByRole("row").filter({
    has: page.getByRole("rowheader", { name: model, exact: true }),
  });
  const money = row.last().locator(".money").first();
  const text = await money.getAttribute("title") ?? await money.innerText();
  return Number(text.replaceAll(/[$,]/g, ""));
}

async function costOf({ h }: DemoWorld, model: string): Promise<number> {
  const { groups } = (await h.get("/v1/spend?group_by=model")).json;
  return groups.find(({ key }: { key: string }) => key === model).cost_usd;
}

async function isOnScreen(element: Locator): Promise<boolean> {
  const [box, screen] = [await element.boundingBox(), element.page().viewportSize()];
  return box !== null && screen !== null && box.y + box.height > 0 && box.y < screen.height;
}
