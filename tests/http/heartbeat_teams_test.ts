/** One id in two teams: no call of one team changes a byte of the other's responses. */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness, KEY } from "../support/harness/harness.ts";

/** A team's calls on one id, of every kind, some of them refused or replayed. */
async function sendAll(h: Harness, key: string, agent: string): Promise<Answer[]> {
  const path = `/v1/runs/${runId(1)}`;
  const options = { key };
  return [
    await h.get(path, options),
    await h.post(
      "/v1/heartbeats",
      aHeartbeat(1, { agent, status: "start", started_at: at() }),
      options,
    ),
    await h.post("/v1/heartbeats", aHeartbeat(1, { agent: "another" }), options),
    await h.post("/v1/runs", aRun(1, { agent, started_at: at(7) }), options),
    await h.post(`${path}/events`, { events: [anEvent(1), anEvent(1), anEvent(2)] }, options),
    await h.post("/v1/heartbeats", aHeartbeat(1, { agent, status: "fail", cost_usd: 1 }), options),
    await h.post(`${path}/finish`, aFinish(), options),
    await h.get(`/v1/ping?agent=${encodeURIComponent(agent)}&id=${runId(1)}`, options),
    await h.get(`/v1/ping?agent=${encodeURIComponent(agent)}&id=${runId(2)}`, options),
    await h.getSettled(path, options),
    await h.get(`/v1/runs/${runId(9)}`, options),
  ];
}

/** Everything a client sees of a response except the ids of this exchange. */
function seen({ status, headers, text }: Answer): unknown {
  const stableHeaders = [...headers].filter(([name]) => !["date", "x-request-id"].includes(name));
  return { status, text, headers: stableHeaders };
}

Deno.test("decision 32: answers are the same bytes with and without another team's data", async () => {
  const alone = await (async () => {
    await using h = await Harness.open();
    return (await sendAll(h, KEY, "nightly")).map(seen);
  })();
  await using h = await Harness.open();
  const other = await h.addTeam("free");
  await h.post("/v1/runs", aRun(1, { agent: "theirs", started_at: at(-5) }), { key: other.key });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ status: "cancelled" }), { key: other.key });
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] }, { key: other.key });
  await h.post("/v1/heartbeats", aHeartbeat(2, { agent: "theirs" }), { key: other.key });
  await h.post("/v1/heartbeats", aHeartbeat(9, { agent: "theirs" }), { key: other.key });
  assertEquals((await sendAll(h, KEY, "nightly")).map(seen), alone);
});

Deno.test("decision 32: two teams use the same ids independently", async () => {
  await using h = await Harness.open();
  const other = await h.addTeam("business");
  const [ours, theirs] = await Promise.all([
    sendAll(h, KEY, "nightly"),
    sendAll(h, other.key, "nightly"),
  ]);
  assertEquals(ours.map(seen), theirs.map(seen));
  assertEquals(ours.map(({ status }) => status), [
    404,
    202,
    409,
    409,
    202,
    202,
    200,
    200,
    200,
    200,
    404,
  ]);
  assertEquals(await h.usage(), await h.usage(other.team));
});

Deno.test("decision 32: a team's writes leave the other team's record and count unchanged", async () => {
  await using h = await Harness.open();
  const other = await h.addTeam("business");
  await sendAll(h, KEY, "nightly");
  const before = { record: (await h.get(`/v1/runs/${runId(1)}`)).text, usage: await h.usage() };
  await sendAll(h, other.key, "theirs");
  const after = { record: (await h.get(`/v1/runs/${runId(1)}`)).text, usage: await h.usage() };
  assertEquals(after, before);
  const theirs = await h.get(`/v1/runs/${runId(1)}`, { key: other.key });
  assertEquals(theirs.json.agent, "theirs");
});

Deno.test("decision 32: one team at its agent cap does not stop another", async () => {
  await using h = await Harness.open({ tier: "free" });
  const other = await h.addTeam("free");
  await Promise.all(
    Array.from(
      { length: 10 },
      (_, i) => h.post("/v1/heartbeats", { agent: `a-${i}` }, { key: other.key }),
    ),
  );
  assertEquals((await h.post("/v1/heartbeats", { agent: "b" }, { key: other.key })).status, 403);
  assertEquals((await h.post("/v1/heartbeats", { agent: "b" })).status, 202);
});
