/** Reading agents, their order and access; reports of dropped metadata. */
import { assert, assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { freeTeam, Harness } from "../support/harness/harness.ts";
import { put } from "../support/builders/rate_cards.ts";

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
  const repriced = await h.post("/v1/rate-card/reprice", {
    model: "atlas",
    provider: "acme",
    from: at(-86_400_000),
    to: at(86_400_000),
  });
  assert(repriced.status < 300, repriced.text);
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
