/** Agents: reading, their order and access; names, notes, the archive (`PATCH /v1/agents/{slug}`). */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { reprice } from "../support/builders/reprice.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { freeTeam, Harness } from "../support/harness/harness.ts";
import { put } from "../support/builders/rate_cards.ts";
import { AGENT_NOTES_CHARS_MAX, ARCHIVED_AGENTS_MAX } from "../../domain/core/limits.ts";
import { archiveRefusal } from "../../domain/agents/agents.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";

/** Reads an agent once everything is aggregated. */
async function agentOf(h: Harness, slug: string) {
  const { status, json } = await h.getFinal(`/v1/agents/${encodeURIComponent(slug)}`);
  assertEquals(status, 200, slug);
  return json;
}

/** Lists slugs page by page. */
async function pagesOf(h: Harness, query: string): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, json, text } = await h.getFinal(`/v1/agents?${query}${more}`);
    assertEquals(status, 200, text);
    pages.push(json.agents.map(({ agent }: { agent: string }) => agent));
    cursor = json.cursor;
  } while (cursor !== null);
  return pages;
}

Harness.test("agents: every status has its count, and a run that ends moves to its final status", async (h) => {
  const send = (n: number, fields: Record<string, unknown>) =>
    h.post("/v1/heartbeats", aHeartbeat(n, fields));
  for (const [i, status] of ["ok", "ok", "ok", "fail", "fail", "timeout", "start"].entries()) {
    await send(i + 1, { status });
  }
  await h.post("/v1/runs", aRun(8, { agent: "nightly" }));
  await h.post(`/v1/runs/${runId(8)}/finish`, aFinish({ status: "cancelled" }));
  const { runs, succeeded, failed, running } = await agentOf(h, "nightly");
  assertEquals({ runs, succeeded, failed, running }, {
    runs: 8,
    succeeded: 3,
    failed: 2,
    running: 1,
  });
  await send(7, { status: "fail" });
  const after = await agentOf(h, "nightly");
  assertEquals([after.runs, after.failed, after.running], [8, 3, 0]);
});

Harness.test("agents: late events, new prices, retries and late labels count no run twice", async (h) => {
  const path = `/v1/runs/${runId(1)}`;
  const call = (n: number) => {
    const data = { provider: "acme", model: "atlas", input_tokens: 10, output_tokens: n };
    return anEvent(n, { type: "llm_call", data });
  };
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  await h.post(`${path}/finish`, aFinish());
  const counted = await agentOf(h, "researcher");
  assertEquals([counted.runs, counted.succeeded, counted.running], [1, 1, 0]);
  await h.post(`${path}/events`, { events: [call(1), call(2)] });
  assertEquals(await agentOf(h, "researcher"), counted);
  await put(h, { model: "atlas" });
  const range = { from: at(-86_400_000), to: at(86_400_000) };
  await reprice(h, { model: "atlas", provider: "acme", ...range });
  await h.worker.idle();
  assert((await h.get(path)).json.cost.revision > 2, "nothing was repriced");
  await h.post("/v1/runs", aRun(1));
  await h.post(`${path}/finish`, aFinish({ status: "failed" }));
  assertEquals(await agentOf(h, "researcher"), counted);
});

Harness.test("agents: the last run is the one that started last, then the one with the greatest id", async (h) => {
  const last = async () => {
    const { last_run_id, last_status, last_started_at } = await agentOf(h, "nightly");
    return [last_run_id, last_status, last_started_at];
  };
  const send = (n: number, started_at: string, status = "ok") =>
    h.post("/v1/heartbeats", aHeartbeat(n, { started_at, status, finished_at: started_at }));
  await send(5, at(0), "start");
  assertEquals(await last(), [runId(5), "running", at(0)]);
  await send(9, at(-1), "fail");
  await send(4, at(0), "fail");
  assertEquals(await last(), [runId(5), "running", at(0)]);
  await send(6, at(0), "timeout");
  assertEquals(await last(), [runId(6), "timeout", at(0)]);
  await send(1, at(1));
  assertEquals(await last(), [runId(1), "success", at(1)]);
  await send(5, at(0));
  assertEquals(await last(), [runId(1), "success", at(1)]);
});

Harness.test("agents: first seen is the first arrival, last seen the latest opening or close", async (h) => {
  const times = async () => {
    const { first_seen, last_seen } = await agentOf(h, "researcher");
    return [first_seen, last_seen];
  };
  // Whatever the client's clock says.
  await h.post("/v1/runs", aRun(1, { started_at: "2001-01-01T00:00:00Z" }));
  assertEquals(await times(), [at(), at()]);
  h.nowMs += 1_000;
  await h.post("/v1/runs", aRun(2, { started_at: "2000-01-01T00:00:00Z" }));
  assertEquals(await times(), [at(), at(1_000)]);
  h.nowMs += 1_000;
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  assertEquals(await times(), [at(), at(2_000)]);
  h.nowMs += 1_000;
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  assertEquals(await times(), [at(), at(2_000)]);
});

Harness.test("agents: any slug can be requested in percent-encoded UTF-8", async (h) => {
  const slugs = ["a/b", "a b", "a+b", "a%2Fb", "a%b", "100%", "naïve 🦉", "?#&=", "/", "A", "a"];
  slugs.push("%41", "...", "a.", "__proto__", "字".repeat(128), "🦉".repeat(128), ":slug", "*");
  for (const agent of slugs) assertEquals((await h.post("/v1/heartbeats", { agent })).status, 202);
  for (const agent of slugs) {
    const { agent: record, runs } = await agentOf(h, agent);
    assertEquals([record, runs], [agent, 1]);
  }
  assertEquals((await h.get("/v1/agents/a%2fb")).json.agent, "a/b");
  assertEquals((await h.get("/v1/agents/%61%2Fb?key=/y")).json.agent, "a/b");
  assertEquals((await h.get("/v1/agents/a+b")).json.agent, "a+b");
  assertEquals((await h.get("/v1/agents/a/b")).json.message, "No such path: /docs lists all calls");
  assertEquals((await pagesOf(h, "limit=1000"))[0]?.toSorted(), slugs.toSorted());
});

Harness.test("agents: sorted by last seen or by slug, pages of any size contain each once", async (h) => {
  assertEquals(await pagesOf(h, ""), [[]]);
  // Two are seen at the same time: the slug decides. Slugs sort by their bytes, like keys.
  const arrivals: [string, number][] = [["b", 30], ["é", 10], ["a b", 20], ["a", 30], ["Z", 40]];
  arrivals.push(["🦉", 25], ["\uff5e", 26]);
  const noon = h.nowMs;
  for (const [agent, ms] of arrivals) {
    h.nowMs = noon + ms;
    await h.post("/v1/heartbeats", { agent });
  }
  const orders = {
    last_seen: ["Z", "a", "b", "\uff5e", "🦉", "a b", "é"],
    agent: ["Z", "a", "a b", "b", "é", "\uff5e", "🦉"],
  };
  assertEquals(await pagesOf(h, ""), [orders.last_seen]);
  for (const [sort, order] of Object.entries(orders)) {
    for (let limit = 1; limit <= order.length + 1; limit++) {
      const pages = await pagesOf(h, `sort=${sort}&limit=${limit}`);
      assertEquals(pages.flat(), order);
      assert(pages.slice(0, -1).every((page) => page.length === limit));
      assertEquals(pages.length, Math.ceil(order.length / limit));
    }
  }
  // An archived agent keeps its place, on request.
  const archived = ["a", "🦉", "b"];
  for (const agent of archived) {
    await h.request("PATCH", `/v1/agents/${encodeURIComponent(agent)}`, {
      body: { archived: true },
    });
  }
  for (const [sort, order] of Object.entries(orders)) {
    for (const limit of [1, 2, 3, 1_000]) {
      const query = `sort=${sort}&limit=${limit}`;
      assertEquals((await pagesOf(h, `${query}&archived=true`)).flat(), order, query);
      const used = order.filter((agent) => !archived.includes(agent));
      assertEquals((await pagesOf(h, query)).flat(), used, query);
    }
  }
});

freeTeam.test("decision 38: every call with metadata reports what it drops, also on a retry", async (h) => {
  const metadata = { a: 1, b: 2 };
  const note = "/v1/ping?agent=nightly&metadata=note&id=";
  const calls: [method: string, path: string, body?: Record<string, unknown>][] = [
    ["POST", "/v1/runs", aRun(1, { metadata })],
    ["POST", `/v1/runs/${runId(1)}/finish`, aFinish({ metadata })],
    ["POST", "/v1/heartbeats", aHeartbeat(2, { metadata })],
    ["POST", "/v1/heartbeats", aHeartbeat(3, { metadata, status: "start" })],
    ["POST", "/v1/heartbeats", aHeartbeat(3, { metadata })],
    ["GET", note + runId(4)],
    ["HEAD", note + runId(5)],
  ];
  for (const [method, path, body] of calls) {
    for (const replayed of [null, "true"]) {
      const { headers } = await h.request(method, path, { body });
      const reported = ["idempotent-replayed", "runledger-dropped"].map((name) =>
        headers.get(name)
      );
      assertEquals(reported, [replayed, `metadata=${body ? 2 : 1}`], `${method} ${path}`);
    }
  }
});

freeTeam.test("decision 38: a refused call and a call without metadata report no dropped labels", async (h) => {
  const metadata = { a: 1 };
  await h.post("/v1/runs", aRun(1));
  const input = [
    await h.post(`/v1/runs/${runId(1)}/events`, { metadata, events: [anEvent(1, { metadata })] }),
    await h.post("/v1/runs", aRun(1, { agent: "another", metadata })),
    await h.post("/v1/heartbeats", aHeartbeat(2, { status: "no such", metadata })),
    await h.get("/v1/ping?metadata=x"),
  ];
  assertEquals(input.map(({ status }) => status), [202, 409, 400, 400]);
  assertEquals(input.map(({ headers }) => headers.get("runledger-dropped")), Array(4).fill(null));
});

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
