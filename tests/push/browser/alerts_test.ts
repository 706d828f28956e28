/** Alerts in a browser: from a channel and its test to an incident that is resolved. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { LOOPBACK, reportRuns } from "../../support/builders/alerts.ts";
import { answer, Receiver } from "../../support/fakes/receiver.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";
import { Harness } from "../../support/harness/harness.ts";
import { axe } from "../../support/oracles/axe.ts";
import { OVERFLOW } from "./looking.ts";

const ALERTS = "/dashboard/alerts";

for (
  const [name, options] of [
    ["on a phone without scripts", { ...PHONE, javaScriptEnabled: false }],
    ["by keyboard", DESK],
  ] as const
) {
  browserTest(`alerts: from a channel to a resolved incident, ${name}`, async (browser) => {
    await using receiver = new Receiver();
    await using h = await Harness.open({ egress: LOOPBACK });
    await using visitor = await BrowserSession.open(browser, h.url, options);
    const { page } = visitor;
    const runDue = async () => {
      assertEquals(await page.evaluate(OVERFLOW), []);
      if (options.javaScriptEnabled !== false) assertEquals(await axe(page), []);
    };
    await visitor.signIn(h.key);
    await page.goto(ALERTS);
    await press(page, "link", "Add a channel");
    await press(page, "link", "Webhook");
    await page.getByLabel("Name", { exact: true }).fill("ops");
    await page.getByLabel("Address").fill(receiver.url);
    await press(page, "button", "Create channel");
    await page.getByText("shown this once").waitFor();
    await runDue();
    await press(page, "link", "to the channel");
    await press(page, "button", "Send a test");
    await page.getByText("The test was delivered").waitFor();
    await runDue();

    await reportRuns(h, "billing", 3);
    await page.goto("/dashboard");
    await press(page, "link", "billing failed 3 times in a row");
    await page.locator(".incident").getByText("502 from the payments ledger").waitFor();
    await runDue();
    await page.getByLabel("Note").fill("rotating the key");
    await press(page, "button", "Acknowledge");
    await page.getByText("“rotating the key”").waitFor();
    await page.locator("summary", { hasText: "Silence" }).press("Enter");
    await press(page, "button", "For 1 hour");
    await page.getByRole("link", { name: "Silences 1" }).waitFor();
    await runDue();
    await press(page, "button", "Resolve");
    await page.getByText("Resolved:").waitFor();

    await page.goto(`${ALERTS}/rules`);
    await press(page, "link", "failures");
    await page.getByLabel("How many in a row").fill("5");
    await press(page, "button", "Save");
    await page.getByText("5 failed or timed-out runs in a row of one agent").waitFor();
    await runDue();
    await press(page, "button", "Disable missed");
    await page.getByRole("button", { name: "Enable missed" }).waitFor();
    visitor.assertCalm();
  });
}

browserTest("alerts: a message that was given up is sent again", async (browser) => {
  await using receiver = new Receiver(answer(410));
  await using h = await Harness.open({ egress: LOOPBACK });
  await h.request("PUT", "/v1/channels/ops", {
    body: { type: "webhook", url: receiver.url, default: true },
  });
  await reportRuns(h, "billing", 3);
  await h.work.idle();
  await using visitor = await BrowserSession.open(browser, h.url, PHONE);
  const { page } = visitor;
  const list = page.getByRole("region", { name: "Deliveries" });
  await visitor.signIn(h.key);
  await press(page, "link", "See which, and send again");
  await list.getByText("Not delivered", { exact: true }).waitFor();
  assertEquals(await page.evaluate(OVERFLOW), []);
  assertEquals(await axe(page), []);
  assertEquals(await list.locator("tbody tr").first().getByRole("link").count(), 1);
  await isEachTabVisible(page);
  await page.getByLabel("State").selectOption("Delivered");
  await page.waitForURL(/state=delivered/);
  await page.getByText("Show all deliveries").waitFor();
  await page.goBack();
  receiver.behavior = answer(200);
  await page.goto(`${ALERTS}/channels/ops`);
  await press(page, "button", "Send a test");
  await page.getByText("The test was delivered").waitFor();
  await page.goBack();
  const sent = page.waitForResponse((response) => response.request().method() === "POST");
  await press(page, "button", "Send again to ops");
  await sent;
  await h.work.idle();
  await page.goto(`${ALERTS}/deliveries`);
  await list.getByText("Delivered", { exact: true }).first().waitFor();
  assertEquals(await list.getByText("Not delivered", { exact: true }).count(), 0);
  visitor.assertCalm();
});

/** Checks that all tabs of the area are within the screen. */
async function isEachTabVisible(page: Page) {
  const tabs = await page.getByRole("navigation", { name: "Alerts" }).getByRole("link").all();
  assertEquals(tabs.length, 6);
  for (const tab of tabs) {
    const { x = 0, width = Infinity } = await tab.boundingBox() ?? {};
    assert(x >= 0 && x + width <= (page.viewportSize()?.width ?? 0), await tab.innerText());
  }
}

/** Presses Enter on a link or a button. */
function press(page: Page, role: "link" | "button", name: string): Promise<void> {
  return page.getByRole(role, { name, exact: true }).first().press("Enter");
}
