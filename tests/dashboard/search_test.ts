/** The search of the frame: runs by id, agents, customers and pages, from a bounded number of rows. */
import { fixture } from "../support/harness/fixture.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { aFinish, aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { type Reader, signedIn, textOf } from "../support/harness/dashboard.ts";
import { enterprise, Harness, NOON } from "../support/harness/harness.ts";
import { openWithOperator, OPERATOR_KEY } from "../support/harness/operator.ts";

/** Returns the results of a search: the title of each group with its targets. */
async function searchFor(reader: Reader, q: string): Promise<Record<string, string[]>> {
  const { status, text } = await reader.get(`/dashboard/search?${new URLSearchParams({ q })}`);
  assertEquals(status, 200);
  const groups = [...text.matchAll(/<section aria-label="(\w+)">(.*?)<\/section>/gs)];
  return Object.fromEntries(groups.map(([, title = "", group = ""]) => [
    title,
    [...group.matchAll(/<a href="([^"]*)"/g)].map(([, to = ""]) => to.replaceAll("&amp;", "&")),
  ]));
}

const RUNS = "/dashboard/runs";

async function openSome(): Promise<Harness> {
  const h = await openWithOperator();
  const long_ago = new Date(NOON - 20 * 86_400_000).toISOString();
  await h.post("/v1/runs", aRun(1, { agent: "night/report", customer_id: "Acme & Sons" }));
  await h.post("/v1/runs", aRun(2, { agent: "triage", customer_id: "globex" }));
  await h.post("/v1/runs", aRun(255, { agent: "triage", started_at: long_ago }));
  const { key } = await h.addTeam("business");
  await h.post("/v1/runs", aRun(9, { agent: "night/theirs", customer_id: "Acme 2" }), { key });
  await h.worker.idle();
  return h;
}

/** Returns the runs among the results, without the link to all of them. */
async function runsFound(reader: Reader, q: string): Promise<string[]> {
  const all = `${RUNS}?${new URLSearchParams({ text: q })}`;
  return ((await searchFor(reader, q)).Runs ?? []).filter((to) => to !== all);
}

/** Declares tests of a service with some runs. */
const someRuns = { test: fixture(() => openSome()) };

someRuns.test("search: a run is found by its id or by a part of it", async (h) => {
  const reader = await signedIn(h);
  for (const text of [runId(255), `  ${runId(255).toUpperCase()} `, "000000ff"]) {
    assertEquals((await searchFor(reader, text)).Runs?.[0], `${RUNS}/${runId(255)}`, text);
  }
  assertEquals(await runsFound(reader, "00000002"), [`${RUNS}/${runId(2)}`]);
  assertEquals(await runsFound(reader, "002"), [], "too short to tell runs apart");
});

someRuns.test("search: runs are found by their goal, output and error, and shown by their goal", async (h) => {
  await h.post("/v1/runs", aRun(3, { goal: "Ticket 48219: where is my REFUND?\nIt is late." }));
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish({ output: "The order was “delivered”." }));
  const refused = aFinish({ status: "failed", output: { error: "502 from the ledger" } });
  await h.post(`/v1/runs/${runId(1)}/finish`, refused);
  await h.worker.idle();
  const reader = await signedIn(h);
  assertEquals(await runsFound(reader, "my refund"), [`${RUNS}/${runId(3)}`]);
  assertEquals(await runsFound(reader, "“delivered”"), [`${RUNS}/${runId(2)}`]);
  assertEquals(await runsFound(reader, "502 FROM"), [`${RUNS}/${runId(1)}`]);
  const { text } = await reader.get("/dashboard/search?q=refund");
  assertStringIncludes(textOf(text), "Ticket 48219: where is my REFUND? researcher");
  assert((await searchFor(reader, "refund")).Runs?.includes(`${RUNS}?text=refund`));
});

someRuns.test("search: agents, customers and pages are found by a part of their name", async (h) => {
  const reader = await signedIn(h);
  assertEquals((await searchFor(reader, "REPORT")).Agents, ["/dashboard/agents/night%2Freport"]);
  assertEquals((await searchFor(reader, "acme")).Customers, [
    `${RUNS}?customer_id=Acme+%26+Sons`,
    "/dashboard/spend?customer_id=Acme+%26+Sons",
  ]);
  assertEquals((await searchFor(reader, "globex")).Customers?.[0], `${RUNS}?customer_id=globex`);
  assertEquals((await searchFor(reader, "audit")).Pages, ["/dashboard/audit"]);
  await h.request("PATCH", "/v1/agents/triage", { body: { name: "First look" } });
  assertEquals((await searchFor(reader, "first l")).Agents, ["/dashboard/agents/triage"]);
  const all = await searchFor(reader, "");
  assertEquals(all.Agents?.length, 2);
  assertEquals([all.Runs, all.Customers], [undefined, undefined]);
  assert((all.Pages?.length ?? 0) > 8);
});

enterprise.test("search: among many agents those are found whose slug begins with the text", async (h) => {
  for (let n = 0; n < 300; n++) {
    await h.post("/v1/heartbeats", aHeartbeat(n, { agent: `a${1_000 + n}` }));
  }
  await h.worker.idle();
  const reader = await signedIn(h);
  assertEquals((await searchFor(reader, "a1299")).Agents, ["/dashboard/agents/a1299"]);
  const agents = (await searchFor(reader, "a129")).Agents;
  assertEquals(agents, [0, 1, 2, 3, 4].map((n) => `/dashboard/agents/a129${n}`));
  assertEquals((await searchFor(reader, "199")).Agents, ["/dashboard/agents/a1199"]);
});

someRuns.test("search: pages are those of the session; the operator has no runs", async (h) => {
  const reads = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  assertEquals((await searchFor(reads, "keys")).Pages, undefined);
  const operator = await signedIn(h, OPERATOR_KEY);
  assertEquals(await searchFor(operator, "t"), { Pages: ["/dashboard/teams", "/dashboard/audit"] });
});

someRuns.test("search: a hostile or very long text is shown as text", async (h) => {
  const reader = await signedIn(h);
  const hostile = `"><script>alert(1)</script>`;
  const { text } = await reader.get(`/dashboard/search?${new URLSearchParams({ q: hostile })}`);
  assert(!text.includes("<script>alert"));
  assertStringIncludes(textOf(text), `All runs that contain “${hostile}”`);
  const long = await reader.get(`/dashboard/search?q=${"é".repeat(3_000)}`);
  assertEquals(long.status, 200);
  assertMatch(long.text, new RegExp(`value="${"é".repeat(200)}"`));
});
