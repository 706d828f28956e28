/** The service on a shared KV that loses answers of commits: the runtime then repeats them. */
import { assert, assertEquals } from "@std/assert";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import {
  aFinish,
  aHeartbeat,
  aRun,
  aScore,
  events,
  runId,
} from "../../support/builders/requests.ts";
import { type Answer, Harness } from "../../support/harness/harness.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { noise } from "../../support/harness/temp_store.ts";

/** Runs a test over a shared KV that loses the answer of each `every`th commit. */
async function withLosses(
  every: number,
  test: (h: Harness) => Promise<void>,
): Promise<void> {
  await using server = await KvServer.start();
  await using h = await Harness.open({ kv: server.url() });
  // New agents of a team are written one after the other, which takes long with losses.
  for (const agent of ["researcher", "nightly"]) await h.post("/v1/heartbeats", { agent });
  let commits = 0;
  server.knobs.answer = () => ++commits % every === 0 ? "lost" : "sent";
  await test(h);
  await h.worker.idle();
  const losses = server.counts.lost;
  assert(losses > 0, "no answer was lost");
  const { differences, teams } = await verifyStore(h.store);
  assertEquals(differences, []);
  assertEquals(new Set(teams.map(({ state }) => state)), new Set(["exact"]));
}

function assertFirst(answer: Answer, status: number): void {
  assertEquals([answer.status, answer.headers.get("idempotent-replayed")], [status, null]);
}

Deno.test("shared KV: a first call whose answers are lost is neither a replay nor a duplicate", () =>
  withLosses(4, async (h) => {
    const runs = Array.from({ length: 24 }, (_, n) => n);
    await Promise.all(runs.map(async (n) => {
      const path = `/v1/runs/${runId(n)}`;
      assertFirst(await h.post("/v1/runs", aRun(n)), 202);
      const batch = await h.post(`${path}/events`, { events: events(10 * n, 10 * n + 9) });
      assertFirst(batch, 202);
      assertEquals(batch.json, { accepted: 10, duplicates: 0 });
      assertFirst(await h.post(`${path}/finish`, aFinish()), 202);
      assertFirst(await h.post("/v1/heartbeats", aHeartbeat(100 + n)), 202);
      assertFirst(await h.post(`${path}/scores`, aScore(n)), 202);
    }));
    await h.worker.idle();
    for (const n of runs) {
      const { json } = await h.get(`/v1/runs/${runId(n)}`);
      assertEquals([json.status, json.cost.state, json.events.length], ["success", "final", 10]);
    }
    // Openings, events, heartbeats and scores.
    assertEquals(await h.usage(), 2 + 24 * 13);
  }));

Deno.test("shared KV: parts that are stored in pieces stay readable when answers are lost", () =>
  withLosses(2, async (h) => {
    for (let n = 0; n < 2; n++) {
      const output = noise(200_000, n);
      const path = `/v1/runs/${runId(n)}`;
      // More than one commit holds.
      const batch = events(10 * n, 10 * n + 3).map((event, i) => ({
        ...event,
        data: { text: noise(200_000, 10 * n + i + 1) },
      }));
      assertFirst(await h.post(`${path}/events`, { events: batch }), 202);
      assertFirst(await h.post(`${path}/finish`, aFinish({ output })), 202);
      const { status, json } = await h.getFinal(path);
      assertEquals(status, 200);
      assert(json.output === output, "another output");
      const texts = json.events.map(({ data }: { data: { text: string } }) => data.text);
      assert(batch.every(({ data }, i) => data.text === texts[i]), "other events");
    }
  }));

Deno.test("shared KV: a created or rotated key is returned once, and works", () =>
  withLosses(2, async (h) => {
    const body = { kind: "api_key", name: "ci", scopes: ["read"] };
    const made = await h.post("/v1/keys", body);
    assertEquals(made.status, 201);
    let key = made.json;
    for (let turn = 0; turn < 3; turn++) {
      const rotated = await h.post(`/v1/keys/${key.id}/rotate`, {});
      assertEquals([rotated.status, rotated.json.replaces], [201, key.id]);
      key = rotated.json;
      // 404 means that the secret was accepted.
      assertEquals((await h.get(`/v1/runs/${runId(1)}`, { key: key.secret })).status, 404);
    }
    const { keys } = (await h.get("/v1/keys")).json;
    assertEquals(keys.filter(({ name }: { name: string }) => name === "ci").length, 4);
  }));
