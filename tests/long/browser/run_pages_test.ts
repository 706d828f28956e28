/** A run of several pages of steps in a browser: the dearest call, the minimap, the phone's toolbar. */
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";
import { Harness } from "../../support/harness/harness.ts";
import { aFinish, anEvent, aRun, at, eventId, runId } from "../../support/builders/requests.ts";
import { axe } from "../../support/oracles/axe.ts";
import { aCall, ATLAS, putPrice, sendEvents } from "../../support/oracles/run_cost.ts";
import { OVERFLOW, WHAT_MOVED } from "../../push/browser/looking.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

/** Numbers of the steps, a second apart, and of the most expensive call. */
const STEPS = 400, COSTLIEST = 251;

async function openLongRun(): Promise<Harness> {
  const h = await Harness.open();
  h.nowMs += 3_600_000;
  await putPrice(h, ATLAS);
  await h.post("/v1/runs", aRun(1));
  for (let from = 1; from <= STEPS; from += 50) {
    const events = Array.from({ length: 50 }, (_, i) => {
      const [n, ts] = [from + i, at((from + i) * 1_000)];
      const tokens = n === COSTLIEST ? 9_000 : 1_000;
      return n % 2 === 1
        ? aCall(n, { model: "atlas", input_tokens: tokens, output_tokens: 1 }, { ts })
        : anEvent(n, { ts });
    });
    await sendEvents(h, ...events);
  }
  // The page of an open run would replace its steps every few seconds.
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ finished_at: at(STEPS * 1_000) }));
  await h.worker.idle();
  return h;
}

const selected = (page: Page, n: number) =>
  page.locator(`tr[id="${eventId(n)}"][aria-selected=true]`);

browserTest(
  "the most expensive call of all pages is one click from the run",
  async (browser, t) => {
    await using h = await openLongRun();
    const ways = { desk: DESK, phone: PHONE, plain: { ...DESK, javaScriptEnabled: false } };
    for (const [way, options] of Object.entries(ways)) {
      await t.step(way, async () => {
        await using visitor = await BrowserSession.open(browser, h.url, options);
        await visitor.signIn(h.key);
        const { page } = visitor;
        await page.goto(PAGE);
        const link = page.getByRole("link", { name: "most expensive $0.0225" });
        await link.click();
        await selected(page, COSTLIEST).waitFor();
        const step = page.getByRole("complementary", { name: "Selected step" });
        await step.getByRole("cell", { name: "9,000" }).waitFor();
        await step.getByText("Priced by").first().waitFor();
        // On its own page the same link selects the call in place.
        await page.locator("#rows .row").last().click();
        await page.locator("#rows tr").last().and(page.locator("[aria-selected=true]")).waitFor();
        await link.click();
        await selected(page, COSTLIEST).waitFor();
        visitor.assertCalm();
      });
    }
  },
);

browserTest("a click on the minimap opens the page of that time, a drag zooms", async (browser) => {
  await using h = await openLongRun();
  await using visitor = await BrowserSession.open(browser, h.url, DESK);
  await visitor.signIn(h.key);
  const { page } = visitor;
  await page.goto(PAGE);
  assertEquals(await axe(page), []);
  const first = () => page.locator("#rows tr").nth(1).getAttribute("id");
  const numberOf = (id: string | null) => Number.parseInt(id?.slice(-8) ?? "", 16);
  const map = page.locator(".minimap");
  const box = (await map.boundingBox())!;
  await page.mouse.move(box.x + 100, box.y + 15);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 15, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("button", { name: "Fit" }).waitFor();
  assertEquals(await first(), eventId(1), "a drag stays on the page");
  await page.mouse.click(box.x + box.width / 2, box.y + 15);
  await page.waitForURL(/events_cursor=/);
  const middle = numberOf(await first());
  assert(middle > 150 && middle < 350, `${middle}`);
  assertEquals(await page.evaluate(WHAT_MOVED), []);
  // By keyboard: one Tab stop, arrows move along the links.
  const nav = page.getByRole("navigation", { name: "Steps by time" });
  const stop = nav.locator("a[tabindex='0']");
  await stop.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  assertEquals(await stop.count(), 1);
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    `document.querySelectorAll("#rows tr")[1].id !== "${eventId(middle)}"`,
  );
  assert(numberOf(await first()) < middle);
  visitor.assertCalm();
});

browserTest("the toolbar of the timeline has no empty line on a phone", async (browser) => {
  await using h = await openLongRun();
  await using visitor = await BrowserSession.open(browser, h.url, PHONE);
  await visitor.signIn(h.key);
  const { page } = visitor;
  await page.goto(PAGE);
  assertEquals(await page.evaluate(OVERFLOW), []);
  const bottomOf = async (selector: string) => {
    const { y, height } = (await page.locator(selector).boundingBox())!;
    return y + height;
  };
  const gap = await bottomOf(".wf-tools") - await bottomOf(".wf-tools .field");
  assert(gap < 16, `${gap} px below the search`);
});
