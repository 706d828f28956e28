/** Any order and any number of writers give the same run (decisions, section 1; decision 32). */
import { assertEquals } from "@std/assert";
import { FINISH_STATUSES } from "../../domain/runs/run.ts";
import { aFinish, aRun, at, events, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

type Step = (h: Harness, n: number) => Promise<Answer>;

/** The four calls of one run, in no particular order. */
const STEPS: readonly Step[] = [
  (h, n) => h.post("/v1/runs", aRun(n, { customer_id: "acme", metadata: { a: 1 } })),
  (h, n) => h.post(`/v1/runs/${runId(n)}/events`, { events: events(1, 3) }),
  (h, n) => h.post(`/v1/runs/${runId(n)}/events`, { events: events(4, 5) }),
  (h, n) => h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ output: { ok: true } })),
];

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) =>
    permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest])
  );
}

/** A run as read, without its id and the count of cost revisions, which depends on the order. */
async function record(h: Harness, n: number): Promise<string> {
  const { text } = await h.getSettled(`/v1/runs/${runId(n)}`);
  return text.replaceAll(runId(n), "ID").replace(/"revision":\d+/, '"revision":0');
}

Deno.test("section 1: every order of the calls, each sent twice, gives one record", async () => {
  await using h = await Harness.open();
  const orders = permutations(STEPS);
  assertEquals(orders.length, 24);
  const records = new Set<string>();
  for (const [n, steps] of orders.entries()) {
    for (const step of steps) assertEquals((await step(h, n)).status, 202);
    records.add(await record(h, n));
    assertEquals(await h.usage(), (n + 1) * 7);
    const before = await h.dump();
    for (const step of steps.toReversed()) await step(h, n);
    assertEquals(await h.dump(), before, "repeating the calls changes nothing");
  }
  assertEquals(records.size, 1);
  const run = (await h.get(`/v1/runs/${runId(0)}`)).json;
  assertEquals([run.status, run.usage.events, run.duration_ms], ["success", 5, 5_000]);
});

Deno.test("contract 6: all calls of a run may be concurrent, each several times", async () => {
  await using h = await Harness.open();
  for (const step of STEPS) await step(h, 1);
  const calls = Array.from({ length: 8 }, (_, i) => STEPS[i % STEPS.length]!);
  for (let n = 2; n < 6; n++) {
    const answers = await Promise.all(calls.map((step) => step(h, n)));
    for (const { status } of answers) assertEquals(status === 202 || status === 200, true);
  }
  const { distinct, ...expected } = comparable(await record(h, 1));
  assertEquals(distinct, expected.events);
  for (let n = 2; n < 6; n++) {
    const { distinct: _, ...raced } = comparable(await record(h, n));
    assertEquals(raced, expected);
  }
  assertEquals(await h.usage(), 5 * 7);
});

/** A record and its number of different events. */
function comparable(text: string) {
  const run = JSON.parse(text);
  const ids = new Set(run.events.map(({ id }: { id: string }) => id));
  return { ...run, events: run.events.length, distinct: ids.size };
}

Deno.test("contract 6: of identical concurrent openings one is 202, the others replay it", async () => {
  await using h = await Harness.open();
  const answers = await Promise.all(Array.from({ length: 12 }, () => h.post("/v1/runs", aRun(1))));
  const statuses = answers.map(({ status }) => status).sort();
  assertEquals(statuses, [...Array(11).fill(200), 202]);
  assertEquals(new Set(answers.map(({ text }) => text)).size, 1);
  assertEquals(await h.usage(), 1);
  assertEquals((await h.store.reader.get(["agent_count", h.team.id])).value, new Deno.KvU64(1n));
});

Deno.test("contract 6: of different concurrent openings one is 202, the others conflict", async () => {
  await using h = await Harness.open();
  const bodies = Array.from({ length: 8 }, (_, n) => aRun(1, { agent: `agent ${n}` }));
  const answers = await Promise.all(bodies.map((body) => h.post("/v1/runs", body)));
  assertEquals(answers.map(({ status }) => status).sort(), [202, ...Array(7).fill(409)]);
  const winner = answers.find(({ status }) => status === 202)?.json.agent;
  assertEquals((await h.get(PATH)).json.agent, winner);
  assertEquals(await h.usage(), 1);
  assertEquals((await h.store.reader.get(["agent_count", h.team.id])).value, new Deno.KvU64(1n));
});

Deno.test("contract 6: of different concurrent finishes one is 202 and all return it", async () => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  const bodies = [...FINISH_STATUSES, ...FINISH_STATUSES].map((status, n) =>
    aFinish({ status, finished_at: at(n) })
  );
  const answers = await Promise.all(bodies.map((body) => h.post(`${PATH}/finish`, body)));
  assertEquals(answers.map(({ status }) => status).sort(), [...Array(7).fill(200), 202]);
  assertEquals(new Set(answers.map(({ text }) => text)).size, 1);
  const { status, finished_at } = answers[0]?.json;
  const run = (await h.get(PATH)).json;
  assertEquals([run.status, run.finished_at], [status, finished_at]);
  assertEquals(await h.usage(), 2);
});

Deno.test("decision 32: one id is a separate run in each team", async () => {
  await using h = await Harness.open();
  const other = await h.addTeam("team");
  const as = { key: other.key };
  for (const step of STEPS) await step(h, 1);
  const before = await record(h, 1);

  const theirs = aRun(1, { agent: "theirs", started_at: at(7) });
  assertEquals((await h.post("/v1/runs", theirs, as)).status, 202);
  const batch = await h.post(`${PATH}/events`, { events: events(1, 2) }, as);
  assertEquals([batch.status, batch.json], [202, { accepted: 2, duplicates: 0 }]);
  assertEquals((await h.post(`${PATH}/finish`, aFinish({ status: "failed" }), as)).status, 202);

  const run = (await h.get(PATH, as)).json;
  assertEquals([run.agent, run.status, run.usage.events], ["theirs", "failed", 2]);
  assertEquals(await record(h, 1), before);
  assertEquals([await h.usage(), await h.usage(other.team)], [7, 4]);
});

Deno.test("decision 32: another team's run is the same 404 as an unknown one", async () => {
  await using h = await Harness.open();
  const { key } = await h.addTeam("team");
  for (const step of STEPS) await step(h, 1);
  const [foreign, never] = [
    await h.get(PATH, { key }),
    await h.get(`/v1/runs/${runId(9)}`, { key }),
  ];
  assertEquals([foreign.status, never.status], [404, 404]);
  assertEquals(foreign.text, never.text);
  const headers = ({ headers }: Answer) =>
    [...headers].filter(([name]) => name !== "x-request-id" && name !== "date");
  assertEquals(headers(foreign), headers(never));
});
