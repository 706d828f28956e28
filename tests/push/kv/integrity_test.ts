/** Verify: exact for an intact ledger, and its report of a damaged one. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import { keys } from "../../../kv/base/keys.ts";
import { openUnlocked } from "../../../kv/open.ts";
import { newRowName } from "../../../kv/store.ts";
import { anEvent, aRun, aScore, events, runId } from "../../support/builders/requests.ts";
import { aRollup, json, RUN, verifyDamaged } from "../../support/oracles/damage.ts";
import { Harness } from "../../support/harness/harness.ts";
import { fill, FILLED } from "../../support/builders/ledger_of_everything.ts";
import { put } from "../../support/builders/rate_cards.ts";

Harness.test("verify: a ledger with every kind of data is exact", async (h) => {
  await fill(h);
  let reported = 0;
  const result = await verifyStore(h.store, { onRun: () => reported++ });
  assertEquals(result.differences, []);
  assertEquals([result.differenceCount, result.teams.length], [0, 2]);
  const first = result.teams.find(({ team }) => team === h.team.id);
  assertEquals(first, { team: h.team.id, state: "exact", ...FILLED, differences: 0 });
  assertEquals([result.runs, result.events, reported], [FILLED.runs + 2, FILLED.events + 1, 12]);
});

Harness.test("verify: after its calls were repriced a ledger is exact by the current prices", async (h) => {
  await fill(h);
  const before = (await h.get("/v1/spend")).json.totals.cost_usd;
  await put(h, { model: "atlas", input_usd_per_million: 7 });
  await put(h, { model: "new" });
  await put(h, { model: "model-3" });
  for (const model of ["atlas", "new", "model-3"]) {
    const job = await h.post("/v1/rate-card/reprice", { model });
    assertEquals(job.json.state, "done", job.text);
  }
  await h.worker.idle();
  assert((await h.get("/v1/spend")).json.totals.cost_usd > before);
  assertEquals((await verifyStore(h.store)).differences, []);
  // The new prices count.
  const prefix = keys.prices(h.team.id, RUN, 0).slice(0, -1);
  const [row] = await Array.fromAsync(h.store.reader.list({ prefix }), ({ key }) => key);
  assert(row !== undefined);
  const { differences } = await verifyDamaged(h, { deletes: [row] });
  assert(differences.some(({ what }) => what === `event totals of ${RUN}`), json(differences));
});

Harness.test("verify: a difference reports the expected and the stored values, and only the fields that differ", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  const { key, row, write } = await aRollup(h, "total");
  const value = write({ ...row, measures: { ...row.measures, runs: 5 } });
  const { differences } = await verifyDamaged(h, { sets: [{ key, value }] });
  assertEquals(differences, [{
    team: h.team.id,
    what: 'roll-up total 2026-11-21 ["total"]',
    expected: "runs 1",
    stored: "runs 5",
  }]);
});

Harness.test("verify: 100 differences are listed and all are counted", async (h) => {
  const { row, write } = { ...await withARollup(h) };
  const sets = Array.from({ length: 150 }, (_, n) => ({
    key: keys.rollup(h.team.id, "total", `2020-01-01`, `["${n}"]`),
    value: write(row),
  }));
  const result = await verifyDamaged(h, { sets });
  assertEquals([result.differences.length, result.differenceCount], [100, 150]);
});

async function withARollup(h: Harness) {
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  return await aRollup(h, "total");
}

Harness.test("verify: one team can be checked alone", async (h) => {
  await fill(h);
  const result = await verifyStore(h.store, { team: h.team.id });
  assertEquals(result.teams.map(({ team }) => team), [h.team.id]);
  assertEquals([result.runs, result.differenceCount], [FILLED.runs, 0]);
});

Harness.test("verify: a team with pending runs is busy, others are compared", async (h) => {
  await fill(h);
  const before = await verifyStore(h.store);
  await h.worker.stop();
  await h.post(`/v1/runs/${runId(8)}/events`, { events: events(400, 401) });
  const result = await verifyStore(h.store, { pauseMs: 1 });
  const states = Object.fromEntries(result.teams.map(({ team, state }) => [team, state]));
  const other = before.teams.find(({ team }) => team !== h.team.id)?.team as TeamId;
  assertEquals(states, { [h.team.id]: "busy", [other]: "exact" });
  assertEquals(result.differences, []);
});

Harness.test("verify: a run whose cost was given up is reported once, and its roll-ups are unchanged", async (h) => {
  await fill(h);
  await h.worker.stop();
  await h.post(`/v1/runs/${runId(8)}/events`, { events: [anEvent(400)] });
  const marks = await Array.fromAsync(h.store.reader.list({ prefix: ["dirty"] }), (row) => row.key);
  const key = keys.runFailure(h.team.id, runId(8) as RunId);
  const value = { work: "cost", tries: 8, at: 0, error: "TypeError: odd" };
  const { differences } = await verifyDamaged(h, { sets: [{ key, value }], deletes: marks });
  assertEquals(differences.map(({ what }) => what), [`cost of ${runId(8)}`]);
  assertStringIncludes(differences[0]?.stored ?? "", "TypeError: odd");
});

Harness.test("verify: next to a service under load it only reads, and finds the ledger exact once idle", async (h) => {
  await fill(h);
  const beside = await openUnlocked(h.path);
  try {
    let working = true;
    const writing = (async () => {
      // Bounded: a check reads up to the newest run, which must not get away from it.
      for (let n = 1_000; working && n < 1_200; n++) {
        const response = await h.post("/v1/runs", aRun(n, { id: `run_eu_${hex(n)}` }));
        assertEquals(response.status, 202);
        const answer = await h.post(`/v1/runs/run_eu_${hex(n)}/events`, {
          events: events(n, n + 3),
        });
        assertEquals(answer.status, 202);
      }
    })();
    for (let round = 0; round < 5; round++) {
      const { differences } = await verifyStore(beside, { pauseMs: 1 });
      assertEquals(differences, []);
    }
    working = false;
    await writing;
    await h.worker.idle();
    const { teams, runs } = await verifyStore(beside);
    assertEquals(teams.map(({ state }) => state), ["exact", "exact"]);
    assert(runs > FILLED.runs + 3);
  } finally {
    await beside.close();
  }
});

function hex(n: number): string {
  return n.toString(16).padStart(32, "0");
}

Deno.test("open: a read-only open does not create a missing file", async () => {
  const path = `/tmp/${newRowName()}.kv`;
  for (const location of [path, ":memory:"]) {
    const refused = await openUnlocked(location).then(() => null, (error) => error);
    assertEquals(refused?.name, "StoreRefused");
  }
  assertEquals(await Deno.stat(path).catch(() => null), null);
});

Harness.test("verify: a ledger is exact after a score of an open run, between its other calls", async (h) => {
  const calls = [
    () => h.post("/v1/runs", aRun(1)),
    () => h.post(`/v1/runs/${runId(1)}/scores`, aScore(1)),
    () => h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] }),
    () => h.post(`/v1/runs/${runId(1)}/scores`, aScore(2)),
  ];
  for (const call of calls) {
    assertEquals((await call()).status, 202);
    await h.worker.idle();
    assertEquals((await verifyStore(h.store)).differences, []);
  }
});
