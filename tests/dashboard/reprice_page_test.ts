/** `/dashboard/rate-card/reprice`: what a price changes, before it does, and its progress. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { keys } from "../../kv/base/keys.ts";
import { Harness } from "../support/harness/harness.ts";
import { type Reader, signedIn, textOf } from "../support/harness/dashboard.ts";
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

/** Sends a form that begins a job; answers where it is. */
async function begun(reader: Reader, fields: Record<string, string>): Promise<string> {
  const { status, headers, text } = await reader.send(REPRICE, fields);
  assertEquals(status, 303, text);
  return headers.get("location") ?? "";
}

/** The fields of the page's form that prices anew. */
function fieldsOf(html: string): Record<string, string> {
  const inputs = html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"\/>/g);
  const button = /<button[^>]*name="dry_run" value="(\w+)"/.exec(html)?.[1] ?? "";
  const fields = [...inputs].map(([, name = "", value = ""]) => [name, value] as const);
  return { ...Object.fromEntries(fields), dry_run: button };
}

Deno.test("an unpriced model: a price is put, what it changes is shown by agent and day, then it is priced", async () => {
  await using h = await Harness.open();
  await aClosedRun(h, 1, [aModelCall(1), aModelCall(2)], { started_at: daysAgo(1), agent: "a" });
  await aClosedRun(h, 2, [aModelCall(3)], { agent: "b" });
  await h.worker.idle();
  const reader = await signedIn(h);
  const spend = await reader.get("/dashboard/spend");
  const [, href = ""] = /href="([^"]*\/rate-card\/new[^"]*)"/.exec(spend.text) ?? [];
  const form = await reader.get(href.replaceAll("&amp;", "&"));
  assertMatch(textOf(form.text), /Add a price for in-house\/atlas-70b/);
  const stored = await reader.send(CARD, {
    ...ATLAS,
    ...TYPED,
    calls_model: ATLAS.model,
    calls_provider: ATLAS.provider,
    then: "dry-run",
  });
  const looked = stored.headers.get("location") ?? "";
  const dry = await reader.get(looked);
  const said = textOf(dry.text);
  assertMatch(
    said,
    /The price is stored, .* 100% , done Difference \+ \$0\.009 \$0 before, \$0\.009 then Calls 3 /,
  );
  assertMatch(said, /Begun just now by first key \./);
  assertMatch(said, /By agent .* a \+ \$0\.006 \$0 \$0\.006 2 b \+ \$0\.003 \$0 \$0\.003 1 /);
  assertMatch(said, /By day .* Nov 20 \+ \$0\.006 \$0 \$0\.006 2 Nov 21 \+ \$0\.003 /);
  assertEquals((await costOf(h, 1))[0], 0, "only looked at");
  const job = await begun(reader, fieldsOf(dry.text));
  const done = await reader.get(job);
  assertMatch(textOf(done.text), /Done: 2 runs changed in cost/);
  assert(!done.text.includes("hx-trigger") && !done.text.includes("http-equiv"), "it rests");
  assertEquals((await costOf(h, 1))[0], 0.006);
  const after = textOf((await reader.get("/dashboard/spend?group_by=model")).text);
  assertMatch(after, /in-house\/atlas-70b \$0\.009/);
  assert(!after.includes("no price"));
});

Deno.test("a form that does not say so plainly changes no price", async () => {
  await using h = await Harness.open();
  await aClosedRun(h, 1);
  await putPrice(h);
  const reader = await signedIn(h);
  for (const fields of [{}, { dry_run: "true" }, { dry_run: "" }, { dry_run: "no" }]) {
    const { text } = await reader.get(await begun(reader, { model: ATLAS.model, ...fields }));
    assertMatch(textOf(text), /What would change: atlas-70b/);
  }
  assertEquals((await costOf(h, 1))[0], 0);
});

Deno.test("a job under way is looked at again by itself, with scripts and without", async () => {
  await using h = await Harness.open();
  await aClosedRun(h, 1);
  await putPrice(h);
  await h.worker.stop();
  // A mark that nobody settles: the job waits.
  const key = keys.pending("open", "0".repeat(26));
  await h.store.writer.commit({ sets: [{ key, value: `${h.team.id} run_eu_${"0".repeat(32)}` }] });
  const reader = await signedIn(h);
  const job = await begun(reader, { model: ATLAS.model, dry_run: "false" });
  const waiting = await reader.get(job);
  assertMatch(textOf(waiting.text), / 0% , waits for calls just stored to be summed up/);
  assertStringIncludes(waiting.text, `<progress value="0" max="100"`);
  assertStringIncludes(
    waiting.text,
    `<div id="job" class="job" hx-get="${job}" hx-trigger="every 1s" hx-select="#job"`,
  );
  assertMatch(waiting.text, /<noscript><meta http-equiv="refresh" content="1"\/><\/noscript>/);
  await h.store.writer.commit({ deletes: [key] });
  await h.restart();
  await h.worker.idle();
  assertMatch(textOf((await (await signedIn(h)).get(job)).text), /100% , done/);
});

Deno.test("days of the form are the API's instants, and what is wrong is told at its field", async () => {
  await using h = await Harness.open();
  await aClosedRun(h, 1);
  const reader = await signedIn(h);
  await begun(reader, { model: ATLAS.model, from: "2026-11-01", to: "2026-11-21" });
  const [job] = (await h.get(API)).json.jobs;
  assertEquals([job.from, job.to, job.dry_run], [
    "2026-11-01T00:00:00.000Z",
    "2026-11-21T00:00:00.000Z",
    true,
  ]);
  const wrong = { model: ATLAS.model, from: "2026-11-02", to: "2026-11-01" };
  const { status, text } = await reader.send(REPRICE, wrong);
  assertEquals(status, 400);
  assertMatch(text, /name="to" value="2026-11-01"[^>]*aria-invalid="true"/);
  assertEquals((await reader.send(REPRICE, { model: "" })).status, 400);
  assertEquals((await h.get(API)).json.jobs.length, 1);
});

Deno.test("where nothing would change no button is offered; earlier jobs are listed", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  assertMatch(textOf((await reader.get(REPRICE)).text), /Nothing was priced anew yet/);
  const job = await begun(reader, { model: "never-called" });
  const { text } = await reader.get(job);
  assertMatch(textOf(text), /Nothing would change: no stored call names this model/);
  assert(!text.includes('value="false"'));
  assertMatch(
    textOf((await reader.get(REPRICE)).text),
    /never-called all only looked done 0 \$0 just now/,
  );
});

Deno.test("a word in the URL says only what it stands for", async () => {
  await using h = await Harness.open();
  const reader = await signedIn(h);
  const { text } = await reader.get(`${REPRICE}?done=${encodeURIComponent("You were hacked")}`);
  assert(!text.includes("hacked"));
});

Deno.test("another team's job is no job here", async () => {
  await using h = await Harness.open();
  const job = await begun(await signedIn(h), { model: "m" });
  const { key } = await h.addTeam("team");
  const other = await signedIn(h, key);
  assertEquals((await other.get(job)).status, 404);
  assertEquals((await other.get(`${REPRICE}/..%2F..`)).status, 404);
  assert(!(await other.get(REPRICE)).text.includes(job));
});
