/** The button that loads sample runs into a service that runs. */
import { assertEquals } from "@std/assert";
import { developmentKey } from "../../../domain/teams/credentials.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { Process } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const key = developmentKey("eu");

browserTest("one click fills an empty dashboard, and the service works on", async (browser) => {
  await withFolder(async (folder) => {
    await using process = await Process.start({ RUNLEDGER_KV: `${folder}/test.kv` }, "--dev");
    await using visitor = await BrowserSession.open(browser, process.url);
    await visitor.signIn(key);
    const { page } = visitor;
    const loading = page.getByText("Loading; this takes up to a minute.");
    assertEquals(await loading.isVisible(), false);
    await page.getByRole("button", { name: "Load sample runs" }).click();
    await loading.waitFor();
    await page.getByText("support-crew failed 3 times in a row").waitFor();
    visitor.assertCalm();
    // The jobs of the service take their turn again.
    const headers = { Authorization: `Bearer ${key}` };
    for (const n of [1, 2]) {
      const id = `run_eu_${"0".repeat(31)}${n}`;
      await (await fetch(`${process.url}/v1/ping?agent=hello&id=${id}`, { headers })).text();
      await (await fetch(`${process.url}/v1/runs/${id}?wait=final`, { headers })).text();
      const { runs } = await (await fetch(`${process.url}/v1/runs?agent=hello`, { headers }))
        .json();
      assertEquals(runs.length, n);
    }
  });
});
