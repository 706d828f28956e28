/** `POST /v1/runs/{id}/scores`: any order, retries, races, and deleted runs. */
import { assert, assertEquals } from "@std/assert";
import { ADDED_SCORES_MAX, SCORE_SOURCE_CHARS_MAX } from "../../../domain/core/limits.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import {
  aFinish,
  anEvent,
  aRun,
  aScore,
  at,
  events,
  runId,
  scoreId,
} from "../../support/builders/requests.ts";
import { type Answer, freeTeam, Harness } from "../../support/harness/harness.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";

const RUN = `/v1/runs/${runId(1)}`;
const PATH = `${RUN}/scores`;
const DAY_MS = 86_400_000;

/** Score number `n` as shown in its run's record. */
function storedScore(n: number, fields: Record<string, unknown> = {}) {
  const { id, name, value } = aScore(n);
  return { name, value, source: "api", id, received_at: at(), ...fields };
}

Harness.test("scores: a source at the limit is kept, beyond it refused", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const source = "s".repeat(SCORE_SOURCE_CHARS_MAX);
  const refused = await h.post(PATH, aScore(1, { source: source + "s" }));
  assertEquals([refused.status, refused.json.field], [400, "source"]);
  const accepted = await h.post(PATH, aScore(1, { source }));
  assertEquals([accepted.status, accepted.json.source], [202, source]);
});

Harness.test("scores: 202 first, 200 and the same bytes on a retry, 409 with other content", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const before = await h.usage();
  const first = await h.post(PATH, aScore(1, { source: "review" }));
  assertEquals([first.status, first.headers.get("idempotent-replayed")], [202, null]);
  const { id, name, value } = aScore(1);
  const stored = { id, run_id: runId(1), name, value, source: "review", received_at: at() };
  assertEquals(first.json, stored);
  h.nowMs += 5_000;
  for (const source of ["review", "another", undefined]) {
    const again = await h.post(PATH, aScore(1, { source }));
    assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, "true"]);
    assertEquals(again.text, first.text);
  }
  for (const [field, other] of [["name", "speed"], ["value", 7], ["value", true]] as const) {
    const { status, json } = await h.post(PATH, aScore(1, { [field]: other }));
    assertEquals([status, json.error, json.field], [409, "id_conflict", field]);
  }
  assertEquals((await h.getFinal(RUN)).json.scores, [storedScore(1, { source: "review" })]);
  assertEquals(await h.usage(), before, "a score counts toward nothing");
});

Harness.test("scores: every order of a run's parts gives one record, its own scores first", async (h) => {
  const calls: [path: string, body: unknown][] = [
    ["", aRun(1)],
    ["/events", { events: [anEvent(1)] }],
    ["/finish", aFinish({ scores: { own: true } })],
    ["/scores", aScore(1)],
    ["/scores", aScore(2, { name: "passed", value: false, source: "ci" })],
  ];
  const records: unknown[] = [];
  for (const order of ordersOf(calls)) {
    const { key } = await h.addTeam("business");
    for (const [n, [path, body]] of order.entries()) {
      const where = path === "" ? "/v1/runs" : RUN + path;
      assertEquals((await h.post(where, body, { key })).status, 202, where);
      // Also aggregated in between.
      if (n === 2) await h.worker.idle();
    }
    const { cost, ...record } = (await h.getFinal(RUN, { key })).json;
    assertEquals(cost.state, "final");
    records.push(record);
  }
  assertEquals((records[0] as { scores: unknown }).scores, [
    { name: "own", value: true, source: "self" },
    storedScore(1),
    storedScore(2, { name: "passed", value: false, source: "ci" }),
  ]);
  assertEquals(records, Array(records.length).fill(records[0]));
  await assertClean(h.store);
});

Harness.test("scores: a score changes no cost and makes none pending, but updates updated_at", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`${RUN}/finish`, aFinish());
  const before = (await h.getFinal(RUN)).json;
  h.nowMs += 1_000;
  await h.worker.stop();
  await h.post(PATH, aScore(1));
  const after = (await h.get(RUN)).json;
  assertEquals(after.cost, before.cost);
  assertEquals([before.updated_at, after.updated_at], [at(), at(1_000)]);
  await h.restart();
  assertEquals((await h.getFinal("/v1/runs?has=late")).json.runs, []);
});

Harness.test("scores: a score alone is a run that is not open yet, and expires after 7 days", async (h) => {
  await h.post(PATH, aScore(1));
  await h.worker.idle();
  const { status, flags, scores, received_at } = (await h.get(RUN)).json;
  assertEquals([status, flags, received_at], ["running", ["no_opening"], at()]);
  assertEquals(scores, [storedScore(1)]);
  assertEquals((await h.get("/v1/runs?has=orphan")).json.runs.length, 1);
  await assertClean(h.store);
  h.nowMs += 7 * DAY_MS;
  await h.sweep.sweepNow();
  assertEquals((await h.get(RUN)).status, 200, "a moment too early");
  h.nowMs += DAY_MS;
  await h.sweep.sweepNow();
  assertEquals((await h.get(RUN)).status, 404);
  await assertClean(h.store);
});

freeTeam.test("scores: they stay when payloads expire, and are removed with the record", async (h) => {
  await h.post("/v1/runs", aRun(1, { goal: "to be removed" }));
  await h.post(`${RUN}/events`, { events: events(1, 3) });
  await h.post(`${RUN}/finish`, aFinish());
  await h.post(PATH, aScore(1));
  await h.worker.idle();
  h.nowMs += 8 * DAY_MS;
  await h.sweep.sweepNow();
  const accepted = (await h.get(RUN)).json;
  assertEquals([accepted.payload, accepted.goal, accepted.scores], ["removed", null, [
    storedScore(1),
  ]]);
  assertEquals((await h.post(PATH, aScore(1))).status, 200);
  h.nowMs += 25 * DAY_MS;
  await h.sweep.sweepNow();
  assertEquals((await h.get(RUN)).status, 404);
  await assertClean(h.store);
});

Harness.test("scores: a deleted run refuses them, and none of them is left", async (h) => {
  await h.post("/v1/runs", aRun(1));
  for (let n = 1; n <= 3; n++) await h.post(PATH, aScore(n));
  await h.worker.idle();
  assertEquals((await h.request("DELETE", RUN)).status, 200);
  for (const n of [1, 4]) {
    const { status, json } = await h.post(PATH, aScore(n));
    assertEquals([status, json.error, json.field], [409, "id_conflict", "id"]);
  }
  assertEquals((await h.get(RUN)).status, 404);
  await h.worker.idle();
  await assertClean(h.store);
});

Harness.test("scores: of many concurrent scores and events of a run, none is lost and the limit holds", async (h) => {
  const numbers = Array.from({ length: ADDED_SCORES_MAX + 20 }, (_, n) => n + 1);
  const answers: Answer[] = [];
  for (let at = 0; at < numbers.length; at += 22) {
    const calls = numbers.slice(at, at + 22).flatMap((n) => [
      h.post(PATH, aScore(n)),
      ...n % 10 === 0 ? [h.post(`${RUN}/events`, { events: [anEvent(n)] })] : [],
      ...n % 50 === 0 ? [h.post(PATH, aScore(n))] : [],
    ]);
    answers.push(...await Promise.all(calls));
  }
  const count = (status: number) => answers.filter((each) => each.status === status).length;
  assertEquals(count(202), ADDED_SCORES_MAX + 22);
  const refused = answers.filter(({ status }) => status === 403);
  assert(refused.length >= 20);
  assert(refused.every(({ json }) => json.error === "score_cap_reached"));
  const { scores, usage } = (await h.getFinal(RUN)).json;
  assertEquals([scores.length, usage.events], [ADDED_SCORES_MAX, 22]);
  // A stored score stays known, also when there is no space for another.
  const current = aScore(Number.parseInt(scores[0].id.slice(-4), 16));
  assertEquals((await h.post(PATH, current)).status, 200);
  assertEquals((await verifyStore(h.store, { pauseMs: 0 })).differences, []);
  await assertClean(h.store);
});

Harness.test("scores: verify finds a lost score and an uncounted one", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(PATH, aScore(1));
  await h.post(PATH, aScore(2));
  await h.worker.idle();
  const key = ["events", runId(1), h.team.id, "score", scoreId(1)];
  const { value } = await h.store.reader.get(key);
  const differences = async () => {
    const result = (await verifyStore(h.store, { pauseMs: 0 })).differences;
    return result.map(({ what, expected }) => `${what} ${expected}`);
  };
  await h.store.writer.commit({ deletes: [key] });
  assertEquals(await differences(), [`scores of ${runId(1)} scores 1`]);
  const another = ["events", runId(1), h.team.id, "score", scoreId(3)];
  await h.store.writer.commit({ sets: [{ key, value }, { key: another, value }] });
  assertEquals(await differences(), [`scores of ${runId(1)} scores 3`]);
});

Harness.test("scores: one id names a different score in each run and each team", async (h) => {
  const other = await h.addTeam("team");
  const post = (n: number, value: number, key = h.key) =>
    h.post(`/v1/runs/${runId(n)}/scores`, aScore(1, { value }), { key });
  assertEquals((await post(1, 1)).status, 202);
  assertEquals((await post(2, 2)).status, 202);
  assertEquals((await post(1, 3, other.key)).status, 202);
  const valueOf = async (n: number, key = h.key) =>
    (await h.get(`/v1/runs/${runId(n)}`, { key })).json.scores[0].value;
  assertEquals([await valueOf(1), await valueOf(2), await valueOf(1, other.key)], [1, 2, 3]);
});

function ordersOf<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) => ordersOf(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}
