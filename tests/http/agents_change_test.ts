/** `PATCH /v1/agents/{slug}`: names, notes, the archive and the cap. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { AGENT_NOTES_CHARS_MAX, ARCHIVED_AGENTS_MAX } from "../../domain/core/limits.ts";
import { archiveRefusal } from "../../domain/agents/agents.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { freeTeam, Harness } from "../support/harness/harness.ts";

const CAP = 10;

/** Fields that only the read of one agent has. */
const NO_MONITOR = { monitor: null, proposal: null };

function patch(h: Harness, agent: string, body: unknown, key = h.key) {
  return h.request("PATCH", `/v1/agents/${encodeURIComponent(agent)}`, { body, key });
}

function beat(h: Harness, agent: string) {
  return h.post("/v1/heartbeats", { agent });
}

async function fill(h: Harness, count: number): Promise<void> {
  for (let n = 0; n < count; n++) assertEquals((await beat(h, `agent-${n}`)).status, 202);
}

async function slugsOf(h: Harness, query: string): Promise<string[]> {
  const { agents } = (await h.getFinal(`/v1/agents?${query}`)).json;
  return agents.map(({ agent }: { agent: string }) => agent);
}

async function isExact(h: Harness): Promise<void> {
  await h.worker.idle();
  assertEquals((await verifyStore(h.store, { pauseMs: 0 })).differences, []);
}

Harness.test("agents: a new name keeps the slug and all history, and can be reverted", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  const before = (await h.get("/v1/agents/nightly")).json;
  assertEquals([before.name, before.notes, before.archived], ["nightly", null, false]);
  const words = { name: "Nightly backup 🌙", notes: "Ask Ada.\nRuns at 02:00." };
  const named = await patch(h, "nightly", words);
  assertEquals(named.status, 200);
  assertEquals({ ...named.json, ...NO_MONITOR }, { ...before, ...words });
  assertEquals((await h.get("/v1/agents/nightly")).json, { ...named.json, ...NO_MONITOR });
  // Absent and null fields keep their values.
  const again = await patch(h, "nightly", { name: null });
  assertEquals(again.text, named.text);
  await h.post("/v1/heartbeats", aHeartbeat(2));
  const later = (await h.getFinal("/v1/agents/nightly")).json;
  assertEquals([later.name, later.runs, later.last_run_id], [words.name, 2, runId(2)]);
  const [listed] = (await h.get("/v1/agents")).json.agents;
  assertEquals({ ...listed, ...NO_MONITOR }, later);
  const back = (await patch(h, "nightly", { name: "", notes: "" })).json;
  assertEquals([back.name, back.notes], ["nightly", null]);
  await isExact(h);
});

Harness.test("agents: notes at the limit are kept, beyond it refused", async (h) => {
  await beat(h, "a");
  await h.worker.idle();
  const notes = "ü".repeat(AGENT_NOTES_CHARS_MAX);
  const refused = await patch(h, "a", { notes: notes + "!" });
  assertEquals([refused.status, refused.json.field], [400, "notes"]);
  assertEquals((await patch(h, "a", { notes })).json.notes, notes);
});

Deno.test("agents: the number of archived agents is limited", () => {
  assertEquals(archiveRefusal(ARCHIVED_AGENTS_MAX - 1), null);
  assertEquals(archiveRefusal(ARCHIVED_AGENTS_MAX)?.code, "agent_cap_reached");
});

freeTeam.test("agents: an archived agent is hidden from the list, frees its slot, and keeps its runs", async (h) => {
  await fill(h, CAP);
  assertEquals((await beat(h, "new")).status, 403);
  await h.worker.idle();
  const { status, json } = await patch(h, "agent-3", { archived: true, notes: "retired" });
  assertEquals([status, json.archived, json.runs, json.notes], [200, true, 1, "retired"]);
  assertEquals((await h.get("/v1/agents/agent-3")).json, { ...json, ...NO_MONITOR });
  assertEquals((await beat(h, "new")).status, 202);
  assertEquals((await beat(h, "newer")).status, 403);
  assert(!(await slugsOf(h, "sort=agent")).includes("agent-3"));
  assert(!(await slugsOf(h, "sort=last_seen")).includes("agent-3"));
  for (const sort of ["agent", "last_seen"]) {
    const all = await slugsOf(h, `sort=${sort}&archived=true`);
    assertEquals(all.toSorted(), [...await slugsOf(h, "sort=agent"), "agent-3"].toSorted());
  }
  // Repeating it changes nothing, and its texts can still be changed.
  assertEquals((await patch(h, "agent-3", { archived: true })).json, json);
  assertEquals((await patch(h, "agent-3", { name: "Old" })).json, { ...json, name: "Old" });
  await isExact(h);
});

freeTeam.test("agents: an archived agent that sends again is restored with its name and notes, if the cap allows", async (h) => {
  await fill(h, CAP);
  const first = (await h.getFinal("/v1/agents/agent-1")).json.first_seen;
  h.nowMs += 1_000;
  await patch(h, "agent-1", { archived: true, name: "One" });
  for (
    const call of [
      () => h.post("/v1/runs", aRun(1, { agent: "agent-1" })),
      () => beat(h, "agent-2"),
    ]
  ) assertEquals((await call()).status, 202);
  const back = (await h.getFinal("/v1/agents/agent-1")).json;
  assertEquals([back.archived, back.name, back.runs], [false, "One", 2]);
  assertEquals(back.first_seen, first);
  await patch(h, "agent-1", { archived: true });
  assertEquals((await beat(h, "in its place")).status, 202);
  const before = await h.dump();
  for (
    const refuse of [
      () => beat(h, "agent-1"),
      () => h.post("/v1/runs", aRun(9, { agent: "agent-1" })),
    ]
  ) {
    const { status, json } = await refuse();
    assertEquals([status, json.error, json.field], [403, "agent_cap_reached", "agent"]);
    assertStringIncludes(json.message, "archived");
  }
  const { status, json } = await patch(h, "agent-1", { archived: false });
  assertEquals([status, json.error], [403, "agent_cap_reached"]);
  assertEquals(await h.dump(), before, "a refusal stores nothing");
  await patch(h, "agent-5", { archived: true });
  assertEquals((await patch(h, "agent-1", { archived: false })).json.archived, false);
  await isExact(h);
});

Harness.test("agents: retries and calls that name no agent restore none", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await patch(h, "researcher", { archived: true });
  assertEquals((await h.post("/v1/runs", aRun(1))).status, 200);
  const path = `/v1/runs/${runId(1)}`;
  assertEquals((await h.post(`${path}/events`, { events: [anEvent(1)] })).status, 202);
  assertEquals((await h.post(`${path}/finish`, aFinish())).status, 202);
  assertEquals((await h.getFinal("/v1/agents/researcher")).json.archived, true);
  await isExact(h);
});

freeTeam.test("agents: of many calls racing for the last slot, new or archived, one gets it", async (h) => {
  await fill(h, CAP);
  for (const n of [1, 2, 3]) {
    await patch(h, `agent-${n}`, { archived: true });
    if (n < 3) assertEquals((await beat(h, `filler-${n}`)).status, 202);
  }
  const answers = await Promise.all([
    ...[1, 2, 3].map((n) => beat(h, `agent-${n}`)),
    ...[1, 2, 3].map((n) => patch(h, `agent-${n}`, { archived: false })),
    ...["x", "y", "z"].map((agent) => beat(h, agent)),
  ]);
  const used = await slugsOf(h, "sort=agent");
  assertEquals(used.length, CAP);
  const refused = answers.filter(({ status }) => status === 403);
  assert(refused.length >= 7, `${refused.length} were refused`);
  assert(refused.every(({ json }) => json.error === "agent_cap_reached"));
  await isExact(h);
});

freeTeam.test("agents: concurrent archiving and sending always end with a correct count", async (h) => {
  await fill(h, CAP);
  for (let round = 0; round < 4; round++) {
    await Promise.all(
      Array.from({ length: CAP }, (_, n) => [
        patch(h, `agent-${n}`, { archived: (round + n) % 2 === 0 }),
        beat(h, `agent-${n}`),
        beat(h, `agent-${(n + round) % CAP}`),
      ]).flat(),
    );
    await isExact(h);
  }
});
