/** Long names and large amounts fit, on a desktop and on a phone. */
import { assertEquals } from "@std/assert";
import type { BrowserContextOptions } from "playwright-core";
import { anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { Harness } from "../../support/harness/harness.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";
import { OVERFLOW } from "../../push/browser/looking.ts";

const SCREENS: readonly (readonly [string, BrowserContextOptions])[] = [
  ["desk", DESK],
  ["phone", PHONE],
];

/** Stores a run of thousands of dollars, with a long goal. */
async function storeLarge(h: Harness, n: number): Promise<void> {
  await h.post(
    "/v1/runs",
    aRun(n, { agent: "planner", goal: "Reconcile the invoices of all customers ".repeat(4) }),
  );
  const data = { model: "gpt-4o", input_tokens: n * 1_234_567_890, output_tokens: 9_876_543 };
  await h.post(`/v1/runs/${runId(n)}/events`, {
    events: [anEvent(1, { type: "llm_call", data: { provider: "openai", ...data } })],
  });
  await h.post(`/v1/runs/${runId(n)}/finish`, {
    status: "failed",
    finished_at: new Date(h.nowMs).toISOString(),
  });
}

/** Reports panels whose content is cut, and texts of one line that need two. */
const CUT = `[
  ...[...document.querySelectorAll(".panel")].filter((e) => e.scrollWidth > e.clientWidth),
  ...[...document.querySelectorAll(".crumbs a, .delta td, .wf td.num")]
    .filter((e) => e.getBoundingClientRect().height > 44),
].map((e) => e.outerHTML.slice(0, 160))`;

/** Reports durations and amounts of a step that touch. */
const TOUCHING = `[...document.querySelectorAll(".wf tbody tr")].filter((row) => {
  const [took, cost] = [...row.querySelectorAll(".num")].map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect();
  });
  return took.width > 0 && cost.width > 0 && cost.left - took.right < 4;
}).map((row) => row.innerText)`;

browserTest("long names and large amounts are not cut", async (browser, t) => {
  await using h = await Harness.open();
  await storeLarge(h, 1);
  await storeLarge(h, 2);
  await h.worker.idle();
  for (const [name, screen] of SCREENS) {
    await t.step(name, async () => {
      await using visitor = await BrowserSession.open(browser, h.url, screen);
      await visitor.signIn(h.key);
      for (const path of [runId(2), `${runId(2)}/compare?with=${runId(1)}`]) {
        await visitor.page.goto(`/dashboard/runs/${path}`);
        assertEquals(await visitor.page.evaluate(OVERFLOW), [], path);
        assertEquals(await visitor.page.evaluate(CUT), [], path);
        assertEquals(await visitor.page.evaluate(TOUCHING), [], path);
        await visitor.shot(`large-${path.includes("compare") ? "compare" : "run"}-${name}`);
      }
      visitor.assertCalm();
    });
  }
});
