/** Budgets and pauses on pages: what was spent, what is held back and why, and how it goes on. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { aHeartbeat } from "../support/builders/requests.ts";
import { fieldsOf, type Reader, session, signedIn, textOf } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

const SPEND = "/dashboard/spend", BUDGETS = `${SPEND}/budgets`, PAUSES = `${SPEND}/pauses`;

/** Fills in the form of a new object, and sends it. */
async function create(reader: Reader, kind: "budget" | "pause", fields: Record<string, string>) {
  const action = `${SPEND}/${kind}s`;
  const kept = fieldsOf((await reader.get(`${action}/new/${kind}`)).text, action)
    .filter(([name]) => !(name in fields));
  return await reader.send(action, [...kept, ...Object.entries(fields)]);
}

async function shown(reader: Reader, path: string): Promise<string> {
  const { status, text } = await reader.get(path);
  assertEquals(status, 200, text);
  return textOf(text);
}

async function spend(h: Harness, n: number, agent: string, cost_usd: number): Promise<void> {
  await h.post("/v1/heartbeats", aHeartbeat(n, { agent, customer_id: "acme", cost_usd }));
  await h.worker.idle();
}

session.test("budgets: a form sets one, and the list shows what was spent and what it does", async ({ h, reader }) => {
  assertMatch(await shown(reader, BUDGETS), /No budget yet/);
  await spend(h, 1, "research", 3);
  await spend(h, 2, "billing", 0.5);
  const rows = {
    team: [
      { limit_usd: "10", mode: "hard" },
      /\$10 a month the team \$3\.5000 of \$10\.0000 , 35%.*Within its limit/,
    ],
    soft: [
      { agent: "research", limit_usd: "3.5", mode: "soft" },
      /agent research \$3\.0000 of .* 86%.* Warns/,
    ],
    hard: [
      { agent: "research", limit_usd: "3", mode: "hard" },
      /100%.* Blocks Its limit is used up/,
    ],
    seen: [
      { customer_id: "acme", limit_usd: "1" },
      /customer acme .* 350%.* Would block It only observes/,
    ],
    each: [
      { each: "agent", limit_usd: "3", mode: "hard" },
      /each agent research: \$3\.0000 .* Blocks/,
    ],
    run: [{ period: "run", limit_usd: "2" }, /\$2 in one run the team judged in each run observe/],
  } as const;
  for (const [slug, [fields]] of Object.entries(rows)) {
    const { status, text } = await create(reader, "budget", { slug, ...fields });
    assertEquals(status, 303, textOf(text));
  }
  const rowTexts = (await reader.get(BUDGETS)).text.split("<tr>");
  const levels = rowTexts.flatMap((row) => /<rect class="(now|far|over)"/.exec(row)?.[1] ?? []);
  assertEquals(levels.toSorted(), ["far", "far", "now", "over", "over"]);
  const list = rowTexts.map(textOf);
  for (const [slug, [, words]] of Object.entries(rows)) {
    assertMatch(list.find((row) => row.startsWith(slug)) ?? "", words, slug);
  }
  assertMatch(list.join(" "), /in \d+ days/, "it says when it resets");
  const page = (await reader.get(`${BUDGETS}/each`)).text;
  assertMatch(
    textOf(page),
    /Each agent, the worst first Agent Spent State research .* Blocks .*billing/,
  );
  const before = (await h.get("/v1/budgets/each")).json;
  assertEquals((await reader.send(BUDGETS, fieldsOf(page, BUDGETS))).status, 303);
  const { version: _, updated_at: __, ...after } = (await h.get("/v1/budgets/each")).json;
  for (const [name, value] of Object.entries(after)) assertEquals(value, before[name], name);
});

session.test("budgets: a reader sees no form", async ({ h, reader }) => {
  assertEquals((await create(reader, "budget", { slug: "mine", limit_usd: "5" })).status, 303);
  const other = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  for (const path of [BUDGETS, `${BUDGETS}/mine`, PAUSES]) {
    const { text } = await other.get(path);
    assert(!/<form[^>]*method="post"[^>]*spend/.test(text) && !text.includes("/new/"), path);
  }
});

session.test("pauses: one says who paused and why, and is resumed", async ({ reader }) => {
  const pause = { slug: "quiet", customer_id: "acme", reason: "Unpaid <b>", lasts: "2h" };
  assertEquals((await create(reader, "pause", pause)).status, 303);
  assertMatch(
    await shown(reader, PAUSES),
    /quiet Unpaid <b> customer acme first key today 12:00 today 14:00 Resume/,
  );
  const resumed = await reader.send(`${PAUSES}/quiet/delete`);
  const to = resumed.headers.get("location") ?? "";
  assertMatch(await shown(reader, to), /Resumed\. .*Nothing is paused/);
});

session.test("an agent is paused and resumed on its page, whatever its slug is", async ({ h, reader }) => {
  const asks = async (agent: string) =>
    (await h.post("/v1/guard/check", { agent })).json.decision as string;
  for (const [n, agent] of ["research", "Crew/Α"].entries()) {
    await spend(h, n + 1, agent, 0.1);
    const path = `/dashboard/agents/${encodeURIComponent(agent)}`;
    assertMatch(await shown(reader, `${path}?confirm=pause`), /Reason Lasts .* Keep it running/);
    for (const wrong of [{ reason: "Loops", lasts: "soon" }, { reason: " " }]) {
      assertEquals((await reader.send(`${path}/pause`, wrong)).status, 400);
    }
    const { status, text } = await reader.send(`${path}/pause`, { reason: "Loops", lasts: "1d" });
    assertEquals([status, await asks(agent)], [303, "block"], textOf(text));
    assertMatch(await shown(reader, path), /Paused by first key until .*: Loops Resume/);
    assertEquals((await reader.send(`${path}/resume`)).status, 303);
    assertEquals(await asks(agent), "allow");
  }
});

session.test("pausing an agent keeps a pause of something else that has its name", async ({ h, reader }) => {
  await spend(h, 1, "research", 0.1);
  await create(reader, "pause", { slug: "research", feature: "search", reason: "Later" });
  const { status, text } = await reader.send("/dashboard/agents/research/pause", {
    reason: "Loops",
  });
  assertEquals(status, 303, textOf(text));
  assertEquals((await h.get("/v1/pauses/research")).json.feature, "search");
  const asked = (await h.post("/v1/guard/check", { agent: "research" })).json;
  assertEquals([asked.decision, asked.rules[0].reason], ["block", "Loops"]);
});
