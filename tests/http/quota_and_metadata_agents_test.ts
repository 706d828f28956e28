/** The cap on agents by plan (contract 14, decision 39). */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { type Answer, enterprise, freeTeam, Harness } from "../support/harness/harness.ts";

const CAPS = { free: 10, starter: 25, team: 50, business: 100 } as const;

/** Sends the first heartbeats of agents `agent-0` to `agent-<count - 1>`, ten at a time. */
async function fill(h: Harness, count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) {
    const [from, more] = [answers.length, Math.min(10, count - answers.length)];
    const calls = Array.from({ length: more }, (_, i) => ({ agent: `agent-${from + i}` }));
    answers.push(...await Promise.all(calls.map((call) => h.post("/v1/heartbeats", call))));
  }
  return answers;
}

function countOf(answers: readonly Answer[], status: number): number {
  return answers.filter((sent) => sent.status === status).length;
}

async function storedAgents(h: Harness): Promise<number> {
  const agents = await Array.fromAsync(h.store.reader.list({ prefix: ["agent", h.team.id] }));
  return agents.length;
}

for (const [tier, cap] of Object.entries(CAPS) as [keyof typeof CAPS, number][]) {
  Deno.test(`decision 39: the plan ${tier} has ${cap} agents and not one more`, async () => {
    await using h = await Harness.open({ tier });
    const all = await fill(h, cap + 5);
    assertEquals([countOf(all, 202), countOf(all, 403)], [cap, 5]);
    const before = await h.dump();
    const refusals = [
      await h.post("/v1/heartbeats", aHeartbeat(1, { agent: "new" })),
      await h.post("/v1/runs", aRun(1, { agent: "new" })),
      await h.post("/v1/heartbeats", aHeartbeat(1, { agent: "new", status: "start" })),
    ];
    for (const { status, json } of refusals) {
      assertEquals([status, json.error, json.field], [403, "agent_cap_reached", "agent"]);
    }
    const ping = await h.get("/v1/ping?agent=new");
    assertEquals([ping.status, ping.text.split(" ")[0]], [403, "agent_cap_reached"]);
    assertEquals(await h.dump(), before);
    assertEquals([await storedAgents(h), await h.usage()], [cap, cap]);
  });
}

enterprise.test("decision 39: enterprise has no cap", async (h) => {
  assertEquals(countOf(await fill(h, 120), 202), 120);
  assertEquals(await storedAgents(h), 120);
});

freeTeam.test("contract 14: at the cap existing agents keep ingesting, also after a restart", async (h) => {
  await fill(h, 10);
  await h.restart();
  const agent = "agent-3";
  const path = `/v1/runs/${runId(1)}`;
  assertEquals((await h.post("/v1/runs", aRun(1, { agent }))).status, 202);
  assertEquals((await h.post(`${path}/events`, { events: [anEvent(1)] })).status, 202);
  assertEquals((await h.post(`${path}/finish`, aFinish())).status, 202);
  assertEquals((await h.post("/v1/heartbeats", aHeartbeat(2, { agent }))).status, 202);
  assertEquals((await h.get(`/v1/ping?agent=${agent}`)).status, 200);
  assertEquals(await h.usage(), 15);
  assertEquals((await h.post("/v1/runs", aRun(3, { agent: "new" }))).status, 403);
  assertEquals((await h.get(`/v1/runs/${runId(3)}`)).status, 404);
});

freeTeam.test("decision 39: an event or finish of a run without an opening creates no agent", async (h) => {
  await fill(h, 10);
  const path = `/v1/runs/${runId(1)}`;
  assertEquals((await h.post(`${path}/events`, { events: [anEvent(1)] })).status, 202);
  assertEquals((await h.post(`${path}/finish`, aFinish())).status, 202);
  assertEquals(await storedAgents(h), 10);
});
