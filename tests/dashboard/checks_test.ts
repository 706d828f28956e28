/** Pages of checks over HTTP: the list, one check, the form and its dry run. */
import { assertEquals, assertMatch } from "@std/assert";
import { compile } from "../../domain/checks/compile.ts";
import { CHECK_TEMPLATES } from "../../domain/checks/templates.ts";
import {
  changed,
  fieldsOf,
  hrefsOf,
  session,
  signedIn,
  textOf,
} from "../support/harness/dashboard.ts";
import { aHeartbeat, aRun } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import { PATTERNS } from "../support/builders/patterns.ts";
import { problemOf } from "../support/oracles/problems.ts";

const CHECKS = "/dashboard/checks";
const NEW = `${CHECKS}/new/check`;
const TRIAL = `${NEW}/trial`;

/** Returns the names of the fields that show a problem. */
function wrongFields(html: string): string[] {
  return [...html.matchAll(/<small id="(\w+)-problem" class="wrong">(?!<)/g)]
    .map(([, name = ""]) => name);
}

session.test("checks: a team without checks gets a command that works, and the templates", async ({ h, reader }) => {
  const { text } = await reader.get(CHECKS);
  assertMatch(textOf(text), /No check yet/);
  const [, body = ""] = /-d '([^']+)'/.exec(textOf(text)) ?? [];
  const put = await h.request("PUT", "/v1/checks/cheap-enough", { body: JSON.parse(body) });
  assertEquals(put.status, 202, put.text);
  assertEquals(hrefsOf(text, "template=").length, CHECK_TEMPLATES.length);
  const readers = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  const shown = await readers.get(CHECKS);
  assertEquals(hrefsOf(shown.text, "/new/check"), [], "a reader is offered no form");
  assertMatch(textOf(shown.text), /cheap-enough/);
});

session.test("checks: each template fills in a form that is saved, and saving it unchanged changes nothing", async ({ h, reader }) => {
  for (const { name: slug, expression } of CHECK_TEMPLATES) {
    const { text: form } = await reader.get(`${NEW}?template=${slug}`);
    const created = await reader.send(CHECKS, unescaped(fieldsOf(form, CHECKS)));
    assertEquals(created.status, 303, textOf(created.text));
    assertEquals(created.headers.get("location"), `${CHECKS}/${slug}?done=saved`);
    const before = (await h.get(`/v1/checks/${slug}`)).json;
    assertEquals([before.expression, before.version], [expression, 1]);
    const { text: edit } = await reader.get(`${CHECKS}/${slug}/edit`);
    const saved = await reader.send(CHECKS, unescaped(fieldsOf(edit, CHECKS)));
    assertEquals(saved.status, 303, textOf(saved.text));
    assertEquals((await h.get(`/v1/checks/${slug}`)).json, before);
  }
});

Harness.test("checks: each example of the language next to the form is an expression", async (h) => {
  const { text } = await (await signedIn(h)).get(NEW);
  const [words = ""] = /<dl class="words">.*?<\/dl>/s.exec(text) ?? [];
  const examples = Array.from(words.matchAll(/<code>(.*?)<\/code>/g), ([code]) => textOf(code));
  assertEquals(examples.length > 5, true);
  for (const example of examples) {
    assertEquals(problemOf(() => compile(example, PATTERNS)), null, example);
  }
});

/** Fields as a browser sends them: without references to characters. */
function unescaped(fields: [string, string][]): [string, string][] {
  return fields.map(([name, value]) => [name, textOf(value)]);
}

/** Opens the form of a new check and returns what it sends with a name and an expression. */
async function filledForm(reader: Awaited<ReturnType<typeof signedIn>>) {
  const { text } = await reader.get(NEW);
  return changed(fieldsOf(text, CHECKS), { slug: "mine", expression: "cost_usd < 0.50" }) as [
    string,
    string,
  ][];
}

session.test("checks: an error names the place in the expression, also of a dry run", async ({ reader }) => {
  const fields = await filledForm(reader);
  const refused = async (changes: Record<string, string>, path = CHECKS) => {
    const { status, text } = await reader.send(path, changed(fields, changes));
    assertEquals(status, 400, JSON.stringify(changes));
    return text;
  };
  assertEquals(wrongFields(await refused({ agents: "a b\u0000c" })), ["agents"]);
  assertMatch(textOf(await refused({ statuses: "done" })), /at least one of them/);
  for (const path of [CHECKS, TRIAL]) {
    const text = await refused({ expression: "cost_us < 0.5" }, path);
    assertEquals(wrongFields(text), ["expression"]);
    assertEquals(textOf(text).match(/at character 1: /g)?.length, 1, "an error is shown once");
    assertMatch(textOf(text), /at character 1: .*cost_usd/);
  }
  const tried = await refused({ sample: "2" }, TRIAL);
  assertEquals(wrongFields(tried), ["sample"]);
  assertEquals(textOf(tried).match(/Share of the runs: must be/g)?.length, 1, "below the button");
});

session.test("checks: lines of an expression stay lines", async ({ h, reader }) => {
  const fields = await filledForm(reader);
  const expression = "cost_usd < 0.50\r\n && usage.errors == 0";
  assertEquals((await reader.send(CHECKS, changed(fields, { expression }))).status, 303);
  const stored = (await h.get("/v1/checks/mine")).json.expression;
  assertEquals(stored, expression.replace("\r", ""));
});

session.test("checks: a deletion asks, and then the check has no page", async ({ h, reader }) => {
  assertEquals((await reader.send(CHECKS, await filledForm(reader))).status, 303);
  const confirm = await reader.get(`${CHECKS}/mine?confirm=delete`);
  assertMatch(textOf(confirm.text), /Delete the check “mine”/);
  assertEquals((await reader.send(`${CHECKS}/mine/delete`)).status, 303);
  assertEquals((await h.get("/v1/checks/mine")).status, 404);
  assertEquals((await reader.get(`${CHECKS}/mine`)).status, 404);
  assertEquals((await reader.send(`${CHECKS}/mine/delete`)).status, 404);
});

session.test("checks: a dry run shows counts and examples, and stores nothing", async ({ h, reader }) => {
  await report(h);
  const fields = await filledForm(reader);
  const before = await h.dump();
  const { status, text } = await reader.send(TRIAL, fields);
  assertEquals(status, 200, textOf(text));
  assertMatch(textOf(text), /2 passed, 1 failed of 3 runs\. Nothing is stored/);
  assertMatch(textOf(text), /billing failed Expected cost_usd < 0\.50 got cost_usd = 0\.75/);
  assertEquals(await h.dump(), before);
  const none = await reader.send(TRIAL, changed(fields, { agents: "nobody" }));
  assertMatch(textOf(none.text), /No closed run fits/);
});

session.test("checks: a check shows its days, its agents and the runs that failed it", async ({ h, reader }) => {
  const expression = "cost_usd < 0.50";
  const sent = { expression, description: "what support relies on", severity: "warn" };
  await h.request("PUT", "/v1/checks/cheap-enough", { body: sent });
  await report(h);
  const list = (await reader.get(CHECKS)).text;
  assertMatch(textOf(list), /1 check, 1 failing/);
  assertMatch(textOf(list), /cheap-enough what support relies on warn all runs .*67%/);
  assertMatch(textOf(list), /30 days: 2 passed, 1 failed; failures on 1 day \(Nov 21\)/);
  const { text } = await reader.get(`${CHECKS}/cheap-enough`);
  assertMatch(textOf(text), /2 passed, 1 failed\. Failing since/);
  assertMatch(textOf(text), /Version 1, set .* by first key/);
  assertMatch(textOf(text), /billing .* cost_usd = 0\.75/);
  assertMatch(textOf(text), /By agent .* billing 1 1 0 0 50%/);
  const [run = ""] = hrefsOf(text, "run_eu_");
  const { text: page } = await reader.get(run);
  assertMatch(textOf(page), /Checks failed cheap-enough Expected cost_usd < 0\.50/);
});

session.test("checks: an imported run counts from its end, and its row names its goal", async ({ h, reader }) => {
  await h.request("PUT", "/v1/checks/success", { body: { expression: 'status == "success"' } });
  const day = 24 * 3_600_000;
  const startedAt = new Date(NOON - 3 * day).toISOString();
  const goal = "Refund order 4711";
  const run = aRun(1, { agent: "billing", customer_id: "acme", goal, started_at: startedAt });
  await h.post("/v1/runs", run);
  const finish = { status: "failed", finished_at: new Date(NOON - 2 * day - 1_000).toISOString() };
  const closed = await h.post(`/v1/runs/${run.id}/finish`, finish);
  assertEquals(closed.status, 202, closed.text);
  await h.worker.idle();
  const { text } = await reader.get(`${CHECKS}/success`);
  assertMatch(textOf(text), /Failing since Nov 19, 11:59/);
  assertMatch(textOf(text), /Refund order 4711 billing acme 2 days ago/);
  assertMatch(await reader.words(CHECKS), /2 days ago failing since Nov 19, 11:59/);
  const tried = await reader.send(
    TRIAL,
    changed(await filledForm(reader), { expression: "false" }),
  );
  assertMatch(textOf(tried.text), /Refund order 4711 billing failed/);
});

/** Reports a cheap run of two agents, then a costly one of one of them. */
async function report(h: Harness): Promise<void> {
  const runs = [["billing", 0.01], ["triage", 0.02], ["billing", 0.75]] as const;
  for (const [n, [agent, cost_usd]] of runs.entries()) {
    h.nowMs += 1_000;
    await h.post("/v1/heartbeats", aHeartbeat(n + 1, { agent, cost_usd }));
    await h.worker.idle();
  }
}
