/** Live updates of a run and the keys of its waterfall, in a real browser. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { aFinish, anEvent, aRun, eventId, events, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { Harness } from "../../support/harness/harness.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

/** Waits until an event is in the waterfall, and checks that it is the last of `n` events. */
async function untilShown(page: Page, n: number): Promise<void> {
  await page.locator(`[id="${eventId(n)}"]`).waitFor();
  assertEquals(await page.locator("#rows > tr").count(), n + 1);
}

browserTest(
  "a live run adds steps and finishes, while the selected step and the focus stay",
  async (browser, t) => {
    await using h = await Harness.open();
    const send = (from: number, to: number) =>
      h.post(`/v1/runs/${runId(1)}/events`, { events: events(from, to) });
    await h.post("/v1/runs", aRun(1));
    await send(1, 48);
    await using visitor = await BrowserSession.open(browser, h.url);
    const { page } = visitor;
    await visitor.signIn(h.key);
    await page.goto(PAGE);
    const row = page.locator(`[id="${eventId(3)}"]`);
    const step = page.getByRole("complementary", { name: "Selected step" });

    await t.step("a new step appears; opened details and the focus are kept", async () => {
      await row.locator(".row").click();
      await step.getByText(eventId(3)).waitFor();
      await step.getByText("JSON as sent").click();
      await row.locator(".row").focus();
      await send(49, 49);
      await untilShown(page, 49);
      assertEquals(await step.locator("#raw-json").isVisible(), true);
      assertEquals(await row.locator(".row").and(page.locator(":focus")).count(), 1);
      assertEquals(await page.locator('.wf .row[tabindex="0"]').count(), 1);
    });

    await t.step("the output appears at the end, and polling stops", async () => {
      await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ output: { pages: 7 } }));
      await page.getByRole("heading", { name: "Output", exact: true }).waitFor();
      await page.locator("[hx-trigger]").waitFor({ state: "detached" });
    });
    visitor.assertCalm();
  },
);

browserTest("the waterfall is used with the keyboard alone", async (browser) => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  const tool = (n: number, error?: string) =>
    anEvent(n, { type: "tool_call", data: { name: `tool-${n}`, arguments: { n }, error } });
  for (let from = 1; from <= 250; from += 50) {
    const batch = Array.from(
      { length: 50 },
      (_, i) => tool(from + i, from + i === 70 ? "gone" : ""),
    );
    await h.post(`/v1/runs/${runId(1)}/events`, { events: batch });
  }
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  await using visitor = await BrowserSession.open(browser, h.url);
  const { page } = visitor;
  await visitor.signIn(h.key);
  await page.goto(PAGE);
  const focused = () =>
    page.evaluate<string | undefined>("document.activeElement.closest('tr')?.id");
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  assertEquals(await page.locator('.wf .row[tabindex="0"]').count(), 1, "one Tab stop");
  await page.getByLabel("Find in steps").focus();
  for (let tabs = 0; tabs < 6 && await focused() === undefined; tabs++) await press("Tab");
  assertEquals(await focused(), runId(1));
  await press("ArrowDown", "j", "k");
  assertEquals(await focused(), eventId(1));
  const step = page.getByRole("complementary", { name: "Selected step" });
  await press("Enter");
  await step.getByRole("heading", { name: "Tool call tool-1", exact: true }).waitFor();
  await press("e");
  await step.getByRole("heading", { name: "tool-70" }).waitFor();
  assertEquals(await focused(), eventId(70));
  await press("Home", "ArrowLeft");
  assertEquals(await page.locator("#rows > tr:visible").count(), 1, "folded");
  await press("ArrowRight", "End");
  assertEquals(await focused(), eventId(100));
  // The next rows are appended, and the first of them has the focus.
  await page.getByRole("link", { name: "Next steps" }).focus();
  await press("Enter");
  await page.locator(`[id="${eventId(150)}"]`).waitFor();
  await page.locator(`[id="${eventId(101)}"] :focus`).waitFor();
  visitor.assertCalm();
});

browserTest("the keys of the waterfall begin at the selected step", async (browser) => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  const failing = new Set([3, 6, 8]);
  const batch = Array.from({ length: 9 }, (_, i) => {
    const error = failing.has(i + 1) ? `refused ${i + 1}` : "";
    return anEvent(i + 1, { type: "tool_call", data: { name: `tool-${i + 1}`, error } });
  });
  await h.post(`/v1/runs/${runId(1)}/events`, { events: batch });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ status: "failed" }));
  await using visitor = await BrowserSession.open(browser, h.url);
  const { page } = visitor;
  await visitor.signIn(h.key);
  const selected = page.locator('#rows > tr[aria-selected="true"]');
  // Without the focus in the waterfall, the selected step is where the keys begin.
  for (
    const [key, from, to] of [["j", 8, 9], ["k", 8, 7], ["e", 8, 3], ["e", 3, 6]] as const
  ) {
    await page.goto(from === 8 ? PAGE : `${PAGE}?event=${eventId(from)}`);
    assertEquals(await selected.getAttribute("id"), eventId(from));
    await page.keyboard.press(key);
    await page.locator(`[id="${eventId(to)}"] .row:focus`).waitFor();
  }
  // With the focus in it, the next failure is that after the row.
  await page.goto(`${PAGE}?event=${eventId(3)}`);
  for (const key of ["j", "j", "j", "j"]) await page.keyboard.press(key);
  await page.keyboard.press("e");
  await page.locator(`[id="${eventId(8)}"][aria-selected="true"] .row:focus`).waitFor();
  visitor.assertCalm();
});
