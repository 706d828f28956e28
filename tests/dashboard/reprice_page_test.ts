/** `/dashboard/rate-card/reprice`: the preview of a repricing, and its progress. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Harness } from "../support/harness/harness.ts";
import { type Reader, session, signedIn, textOf } from "../support/harness/dashboard.ts";
import {
  aClosedRun,
  aModelCall,
  ATLAS,
  costOf,
  daysAgo,
  putPrice,
  REPRICE as API,
} from "../support/builders/reprice.ts";

const CARD = "/dashboard/rate-card";
const REPRICE = `${CARD}/reprice`;
const TYPED = { input_usd_per_million: "2", output_usd_per_million: "10" };

/** Submits a form that starts a job; returns its path. */
async function startReprice(reader: Reader, fields: Record<string, string>): Promise<string> {
  const { status, headers, text } = await reader.send(REPRICE, fields);
  assertEquals(status, 303, text);
  return headers.get("location") ?? "";
}

/** Returns the fields of the form that starts the repricing. */
function fieldsOf(html: string): Record<string, string> {
  const inputs = html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"\/>/g);
  const button = /<button[^>]*name="dry_run" value="(\w+)"/.exec(html)?.[1] ?? "";
  const fields = [...inputs].map(([, name = "", value = ""]) => [name, value] as const);
  return { ...Object.fromEntries(fields), dry_run: button };
}

session.test("an unpriced model gets a price, a preview by agent and day, and is then repriced", async ({ h, reader }) => {
  await aClosedRun(h, 1, [aModelCall(1), aModelCall(2)], { started_at: daysAgo(1), agent: "a" });
  await aClosedRun(h, 2, [aModelCall(3)], { agent: "b" });
  await h.worker.idle();
  const spend = await reader.get("/dashboard/spend");
  const [, href = ""] = /href="([^"]*\/rate-card\/new[^"]*)"/.exec(spend.text) ?? [];
  const form = await reader.get(href.replaceAll("&amp;", "&"));
  assertMatch(textOf(form.text), /Add a price for in-house\/atlas-70b/);
  const [, action = ""] = /<form method="post" action="([^"]*)" class="rate/.exec(form.text) ?? [];
  const price = { ...ATLAS, ...TYPED, then: "dry-run" };
  const stored = await reader.send(action.replaceAll("&amp;", "&"), price);
  const preview = stored.headers.get("location") ?? "";
  const dry = await reader.get(preview);
  const content = textOf(dry.text);
  assertMatch(
    content,
    /Saved\. .* 100% , done Difference \+ \$0\.0090 \$0\.0000 before, \$0\.0090 then Calls 3 /,
  );
  assertMatch(content, /Started today 12:00 by first key \./);
  assertMatch(
    content,
    /By agent .* a \+ \$0\.0060 \$0\.0000 \$0\.0060 2 b \+ \$0\.0030 \$0\.0000 \$0\.0030 1 /,
  );
  assertMatch(content, /By day .* Nov 20 \+ \$0\.0060 \$0\.0000 \$0\.0060 2 Nov 21 \+ \$0\.0030 /);
  assertEquals((await costOf(h, 1))[0], 0, "only previewed");
  const job = await startReprice(reader, fieldsOf(dry.text));
  const done = await reader.get(job);
  assertMatch(textOf(done.text), /Done: 2 runs changed in cost/);
  assert(!done.text.includes("hx-trigger") && !done.text.includes("http-equiv"), "polling stopped");
  assertEquals((await costOf(h, 1))[0], 0.006);
  const after = await reader.words("/dashboard/spend?group_by=model");
  assertMatch(after, /in-house\/atlas-70b \$0\.0090/);
  assert(!after.includes("no price"));
});

session.test("a form that does not explicitly ask for repricing changes no price", async ({ h, reader }) => {
  await aClosedRun(h, 1);
  await putPrice(h);
  for (const fields of [{}, { dry_run: "true" }, { dry_run: "" }, { dry_run: "no" }]) {
    const { text } = await reader.get(
      await startReprice(reader, { model: ATLAS.model, ...fields }),
    );
    assertMatch(textOf(text), /What would change: atlas-70b/);
  }
  assertEquals((await costOf(h, 1))[0], 0);
});

Harness.test("the page of a running job reloads itself, with and without scripts", async (h) => {
  // No worker summarizes the run, so the job waits.
  await h.worker.stop();
  await aClosedRun(h, 1);
  await putPrice(h);
  const reader = await signedIn(h);
  const job = await startReprice(reader, { model: ATLAS.model, dry_run: "false" });
  const waiting = await reader.get(job);
  assertMatch(textOf(waiting.text), / 0% , waits for recent calls to be aggregated/);
  assertStringIncludes(waiting.text, `<progress value="0" max="100"`);
  assertStringIncludes(
    waiting.text,
    `<div id="job" class="job" hx-get="${job}" hx-trigger="every 1s" hx-sync="this:drop" hx-select="#job"`,
  );
  assertMatch(waiting.text, /<noscript><meta http-equiv="refresh" content="1"\/><\/noscript>/);
  await h.restart();
  // No worker was there to project the call, so the job may take its next step later.
  h.nowMs += 60_000;
  await h.work.idle(["back"]);
  assertMatch(textOf((await (await signedIn(h)).get(job)).text), /100% , done/);
});

session.test("the form's days are sent as the API's instants", async ({ h, reader }) => {
  await aClosedRun(h, 1);
  await startReprice(reader, { model: ATLAS.model, from: "2026-11-01", to: "2026-11-21" });
  const [job] = (await h.get(API)).json.jobs;
  assertEquals([job.from, job.to, job.dry_run], [
    "2026-11-01T00:00:00.000Z",
    "2026-11-21T00:00:00.000Z",
    true,
  ]);
});

session.test("no button is offered if nothing would change, and past jobs are listed", async ({ reader }) => {
  assertMatch(await reader.words(REPRICE), /No calls were repriced yet/);
  const job = await startReprice(reader, { model: "never-called" });
  const { text } = await reader.get(job);
  assertMatch(textOf(text), /Nothing would change: no stored call names this model/);
  assert(!text.includes('value="false"'));
  assertMatch(await reader.words(REPRICE), /never-called all dry run done 0 \$0\.0000 today 12:00/);
});
