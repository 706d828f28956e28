/** Checks in a browser: from a template and a dry run to a failing run. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";
import { Harness } from "../../support/harness/harness.ts";
import { axe } from "../../support/oracles/axe.ts";
import { OVERFLOW } from "../../push/browser/looking.ts";

const CHECKS = "/dashboard/checks";

for (
  const [name, options] of [
    ["on a phone without scripts", { ...PHONE, javaScriptEnabled: false }],
    ["by keyboard", DESK],
  ] as const
) {
  browserTest(`checks: from a template to a failing run, ${name}`, async (browser) => {
    await using h = await Harness.open();
    await report(h, 1, 0.01);
    await report(h, 2, 0.75);
    await using visitor = await BrowserSession.open(browser, h.url, options);
    const { page } = visitor;
    const runDue = async () => {
      assertEquals(await page.evaluate(OVERFLOW), []);
      if (options.javaScriptEnabled !== false) assertEquals(await axe(page), []);
    };
    await visitor.signIn(h.key);
    await page.goto(CHECKS);
    await press(page, "link", "Cost");
    const expression = page.getByLabel("Expression", { exact: true });
    await expression.waitFor();
    assertEquals(await expression.inputValue(), "cost_usd <= 0.50");
    await expression.fill("cost_us < 0.50");
    await press(page, "button", "Try on the last 50 runs");
    await page.locator("#expression-problem").getByText("at character 1").waitFor();
    assertEquals(await expression.inputValue(), "cost_us < 0.50");
    await runDue();
    await expression.fill("cost_usd < 0.50");
    await press(page, "button", "Try on the last 50 runs");
    await page.getByText("1 passed, 1 failed").waitFor();
    assertEquals(await page.locator("#expression-problem").innerText(), "");
    if (options.javaScriptEnabled !== false) {
      const tried = page.getByRole("button", { name: "Try on the last 50 runs" });
      // The focus stays.
      await tried.and(page.locator(":focus")).waitFor();
      const agents = page.getByLabel("Only these agents");
      const suggested = () =>
        page.locator("#known-agents option").evaluateAll((options) =>
          options.map((option) => option.getAttribute("value"))
        );
      await agents.pressSequentially("ni");
      assertEquals(await suggested(), ["nightly"]);
      await agents.pressSequentially("ghtly, n");
      assertEquals(
        await suggested(),
        ["nightly, nightly"],
        "the name after the comma is completed",
      );
      await agents.fill("");
      const share = page.getByLabel("Share of the runs");
      await share.fill("7");
      await press(page, "button", "Try on the last 50 runs");
      await page.locator("#trial").getByText(/^Share of the runs: must be /).waitFor();
      await share.fill("1");
      await press(page, "button", "Try on the last 50 runs");
    }
    await page.getByRole("region", { name: "Examples" }).getByText("cost_usd = 0.75").waitFor();
    await runDue();
    assertEquals((await h.get("/v1/checks")).json.checks, [], "a dry run stores nothing");
    await press(page, "button", "Create check");
    await page.getByText("Saved.").waitFor();
    await page.getByText("none judged").first().waitFor();
    await report(h, 3, 0.8);
    await page.reload();
    await page.getByText("1 failed.").waitFor();
    await runDue();
    await page.getByRole("region", { name: "Latest runs that failed it" }).getByRole("link").first()
      .press("Enter");
    await page.getByRole("heading", { name: "Checks" }).waitFor();
    await page.locator(".verdicts summary").first().press("Enter");
    await page.locator(".verdicts").getByText("Expected cost_usd < 0.50").waitFor();
    await runDue();
    await page.goto(CHECKS);
    await press(page, "link", "Runs that failed a check");
    await page.locator(`[id="${runId(3)}"]`).waitFor();
    assertEquals(await page.locator("table.runs .row").count(), 1);
    visitor.assertCalm(/with a status of 400/);
  });
}

/** Reports a run and waits until it is judged. */
async function report(h: Harness, n: number, cost_usd: number): Promise<void> {
  h.nowMs += 1_000;
  const { status, text } = await h.post("/v1/heartbeats", aHeartbeat(n, { cost_usd }));
  assertEquals(status, 202, text);
  await h.worker.idle();
}

function press(page: Page, role: "link" | "button", name: string): Promise<void> {
  return page.getByRole(role, { name, exact: true }).first().press("Enter");
}
