/** The cap on agents by plan, also on a shared KV (contract 14, decision 39). */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { type Answer, enterprise, freeTeam, Harness } from "../support/harness/harness.ts";
import { STORAGE_DEADLINE_MS as deadlineMs } from "../../domain/core/limits.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import { denokvCommand, KvProcess } from "../support/fakes/denokv.ts";
import { KvServer } from "../support/fakes/kv_server.ts";

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

const DENOKV = denokvCommand();

/** Sends the first heartbeats of agents concurrently. */
function callAll(h: Harness, agents: readonly string[]): Promise<Answer[]> {
  return Promise.all(agents.map((agent) => h.post("/v1/heartbeats", { agent })));
}

function names(count: number, prefix = "agent"): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
}

async function assertExact(h: Harness): Promise<void> {
  await h.worker.idle();
  const { differences } = await verifyStore(h.store);
  assertEquals(differences, []);
}

KvServer.test("shared KV: after a start the first calls of all agents are in time over 90 ms", async (server) => {
  await using h = await Harness.open({ kv: server.url(), tier: "team", deadlineMs });
  await callAll(h, names(15));
  await h.restart();
  server.knobs.delayMs = 90;
  // One after the other they would take 2.7 s, and the store's deadline is 2 s.
  const answers = await callAll(h, names(15));
  server.knobs.delayMs = 0;
  assertEquals(countOf(answers, 202), 15);
  assertEquals([await storedAgents(h), await h.usage()], [15, 30]);
  await assertExact(h);
});

for (const [name, denokv] of [["the engine from npm", null], ["denokv", DENOKV]] as const) {
  Deno.test({
    name: `shared KV: 150 first calls at once are all stored by ${name}`,
    ignore: name === "denokv" && denokv === null,
    fn: async () => {
      const folder = await Deno.makeTempDir();
      try {
        await using kv = await KvProcess.start(folder, denokv);
        await using h = await Harness.open({ kv: kv.url, tier: "enterprise" });
        const answers = await callAll(h, names(150));
        assertEquals(countOf(answers, 202), 150);
        assertEquals([await storedAgents(h), await h.usage()], [150, 150]);
        await assertExact(h);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

KvServer.test("shared KV: two instances never exceed the cap on agents together", async (server) => {
  await using one = await Harness.open({ kv: server.url(), tier: "free" });
  await using other = await Harness.open({ kv: server.url(), tier: "free" });
  const answers = (await Promise.all([
    callAll(one, names(8, "one")),
    callAll(other, names(8, "other")),
  ])).flat();
  assertEquals([countOf(answers, 202), countOf(answers, 403)], [10, 6]);
  assertEquals([await storedAgents(one), await one.usage()], [10, 10]);
  await assertExact(one);
});

KvServer.test("shared KV: two instances count an agent once that both see first", async (server) => {
  await using one = await Harness.open({ kv: server.url(), tier: "free" });
  await using other = await Harness.open({ kv: server.url(), tier: "free" });
  const answers = (await Promise.all([callAll(one, names(10)), callAll(other, names(10))])).flat();
  assertEquals(countOf(answers, 202), 20);
  const count = await one.store.reader.get(["agent_count", one.team.id]);
  assertEquals([count.value, await storedAgents(one)], [new Deno.KvU64(10n), 10]);
  await assertExact(one);
});

freeTeam.test("calls of one agent or run that wait together are each decided once", async (h) => {
  const calls = [
    aHeartbeat(1),
    aHeartbeat(1),
    aHeartbeat(2),
    // The same run of another agent: whichever comes second is a conflict.
    aHeartbeat(2, { agent: "other" }),
    aHeartbeat(3),
    ...names(5).map((agent, n) => aHeartbeat(10 + n, { agent })),
  ];
  const answers = await Promise.all(calls.map((call) => h.post("/v1/heartbeats", call)));
  const statuses = answers.map(({ status }) => status);
  assertEquals(statuses.slice(0, 2).sort(), [200, 202]);
  assertEquals(statuses.slice(2, 4).sort(), [202, 409]);
  assertEquals(statuses.slice(4), Array(6).fill(202));
  const { agent } = (await h.getFinal(`/v1/runs/${runId(2)}`)).json;
  assertEquals(agent, statuses[2] === 202 ? "nightly" : "other");
  assertEquals([await storedAgents(h), await h.usage()], [agent === "other" ? 7 : 6, 8]);
  await assertExact(h);
});
