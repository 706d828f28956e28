/** The run list in a real browser: keys, filters, ticks, and no overflow at any width. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { aFinish, aRun, at, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { Harness } from "../../support/harness/harness.ts";
import { axe } from "../../support/oracles/axe.ts";

const RUNS = 60;

/** Stores runs with long names; each seventh failed. */
async function store(h: Harness): Promise<void> {
  for (let n = 1; n <= RUNS; n++) {
    const goal = `Ticket ${n}: where is my refund for the order of last week, please?`;
    await h.post("/v1/runs", aRun(n, { agent: `crew-${n % 3}`, goal, started_at: at(-n * 1_000) }));
    const failed = { status: "failed", output: { error: "502 from the ledger of payments" } };
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish(n % 7 === 0 ? failed : {}));
  }
  await h.worker.idle();
}

/** Returns the id of the focused run. */
function focused(page: Page): Promise<unknown> {
  return page.evaluate("document.activeElement.id");
}

browserTest("the run list is used by keys, filters and ticks", async (browser, t) => {
  await using h = await Harness.open();
  await store(h);
  await using visitor = await BrowserSession.open(browser, h.url);
  await visitor.signIn(h.key);
  const { page } = visitor;
  await page.goto("/dashboard/runs");

  await t.step("one line a run: 18 rows above the fold, and no overflow", async () => {
    for (const width of [390, 768, 1024, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const excess = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      assertEquals(excess, 0, String(width));
    }
    const rows = await page.evaluate(`[...document.querySelectorAll("[data-rows] tbody tr")]
      .filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length`);
    assert(Number(rows) >= 18, `${rows} rows`);
    assertEquals(await axe(page), []);
  });

  await t.step("j and k move, x ticks, Escape clears, two ticks compare", async () => {
    await page.keyboard.press("j");
    assertEquals(await focused(page), runId(1));
    await page.keyboard.press("x");
    await page.locator(".picked").waitFor();
    await page.keyboard.press("j");
    assertEquals(await focused(page), runId(2));
    await page.keyboard.press("k");
    await page.keyboard.press("Escape");
    await page.locator(".picked").waitFor({ state: "hidden" });
    const tick = (n: number) => page.locator(`.pick input[value="${runId(n)}"]`).click();
    const compare = page.getByRole("button", { name: "Compare" });
    for (const [n, canCompare] of [[1, false], [2, true], [3, false], [3, true]] as const) {
      await tick(n);
      assertEquals(await compare.isEnabled(), canCompare);
    }
    await compare.click();
    await page.waitForURL(`**/runs/${runId(1)}/compare?with=${runId(2)}`);
    await page.goBack();
  });

  await t.step("an export of ticked rows has these rows", async () => {
    await page.goto("/dashboard/runs");
    for (const n of [4, 9]) await page.locator(`.pick input[value="${runId(n)}"]`).check();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    const lines = (await Deno.readTextFile(await file.path())).trim().split("\r\n").slice(1);
    assertEquals(lines.map((line) => line.split(",")[0]), [runId(4), runId(9)]);
  });

  await t.step("? shows the keys, / searches, Enter opens a row", async () => {
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("ticket 14:");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/runs?text=ticket+14%3A");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/runs/${runId(14)}`);
  });

  await t.step("a value of the filter menu applies at once, and its chip changes it", async () => {
    await page.goto("/dashboard/runs");
    await page.locator("#add-filter > summary").click();
    await page.locator("#add-filter summary", { hasText: "Agent" }).click();
    assertEquals(await axe(page), []);
    await page.locator("#add-filter").getByRole("link", { name: "crew-1 20" }).click();
    await page.waitForURL("**/runs?agent=crew-1");
    await page.locator(".chip summary").click();
    await page.locator(".chip").getByRole("link", { name: "Agent is not crew-2" }).click();
    await page.waitForURL("**/runs?agent=crew-1&not_agent=crew-2");
    await page.getByRole("link", { name: "Agent crew-1: remove this filter" }).click();
    await page.waitForURL("**/runs?not_agent=crew-2");
    await page.getByText("40 runs", { exact: false }).last().waitFor();
  });

  visitor.assertCalm();
});

browserTest(
  "a live run list keeps its ticks, and new runs wait while the pointer is in it",
  async (browser) => {
    await using h = await Harness.open();
    await store(h);
    await using visitor = await BrowserSession.open(browser, h.url);
    await visitor.signIn(h.key);
    const { page } = visitor;
    await page.goto("/dashboard/runs?live=1");
    await page.locator(`.pick input[value="${runId(3)}"]`).check();
    await h.post("/v1/runs", aRun(100, { goal: "Just arrived", started_at: at(1) }));
    await page.locator("#news").getByText("1 new run").waitFor();
    assertEquals(await page.getByText("Just arrived").count(), 0, "no row moves under the pointer");
    await page.getByRole("heading", { name: "Runs" }).hover();
    await page.getByText("Just arrived").first().waitFor();
    assertEquals(await page.locator("#news").textContent(), "1 new run");
    assertEquals(await page.locator(".pick :checked").count(), 1);
    assert(await page.locator(`.pick input[value="${runId(3)}"]`).isChecked());
    visitor.assertCalm();
  },
);
