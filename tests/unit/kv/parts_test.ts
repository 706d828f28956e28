/** Openings and closes in the store: large ones, races, and reading own writes. */
import { readRun } from "../../support/builders/stored_runs.ts";
import { runStoreOf } from "../../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import type { FinishRequest, HeartbeatRequest, OpenRequest } from "../../../domain/runs/decide.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import type { Metadata } from "../../../domain/runs/metadata.ts";
import { keys } from "../../../kv/base/keys.ts";
import { runId } from "../../support/builders/requests.ts";
import { NOON } from "../../support/harness/harness.ts";
import { noise, TempStore } from "../../support/harness/temp_store.ts";

const TEAM: Team = { id: "team" as TeamId, name: "team", tier: "enterprise" };
const ID = runId(1) as RunId;

const opened: OpenRequest = { id: ID, agent: "a", startedAt: NOON };
const finished: FinishRequest = { status: "success", finishedAt: NOON + 1 };
const beat: HeartbeatRequest = { id: ID, agent: "a", status: "ok", reported: {} };

/** As many labels as fit a body of 1 MiB; an enterprise plan keeps them all. */
function manyLabels(): Metadata {
  return Array.from({ length: 15_000 }, (_, n) => {
    const text = noise(58, n + 1);
    return [String(n) + text.slice(0, 10), text.slice(10)];
  });
}

Deno.test("decision 38: an opening with all the metadata of an enterprise body is read back", async () => {
  await using temp = await TempStore.open();
  const runs = runStoreOf(temp.store);
  const metadata = manyLabels();
  assertEquals((await runs.open(TEAM, { ...opened, metadata }, NOON)).kind, "stored");
  const run = await runStoreOf(await temp.reopen()).find(TEAM, ID);
  assertEquals(run?.parts.opening?.metadata?.length, metadata.length);
  assertEquals(run?.parts.opening?.metadata?.at(-1), metadata.at(-1));
});

Deno.test("decision 11: a close with the largest output and labels is read back", async () => {
  await using temp = await TempStore.open();
  const runs = runStoreOf(temp.store);
  const output = JSON.stringify({ text: noise(500_000) }) as RawJson;
  const metadata = manyLabels().slice(0, 7_000);
  const request = { ...finished, output, metadata };
  assertEquals((await runs.finish(TEAM, ID, request, NOON)).kind, "stored");
  const run = await runStoreOf(await temp.reopen()).find(TEAM, ID);
  assert(run?.parts.closing?.output === output);
  assertEquals(run.parts.closing.metadata?.length, metadata.length);
});

Deno.test("decision 11: a heartbeat with a large output is read back, and replayed", async () => {
  await using temp = await TempStore.open();
  const runs = runStoreOf(temp.store);
  const output = JSON.stringify({ text: noise(500_000) }) as RawJson;
  const metadata = manyLabels().slice(0, 7_000);
  const request = { ...beat, output, metadata };
  assertEquals((await runs.heartbeat(TEAM, request, NOON)).kind, "stored");
  assertEquals((await runs.heartbeat(TEAM, request, NOON)).kind, "replayed");
  const run = await readRun(runs, TEAM, ID, null, 1);
  assert(run?.parts.closing?.output === output);
  const chunks = await temp.keysBelow(keys.chunks(TEAM.id, ID));
  assert(chunks.length > 5, `${chunks.length} pieces are not staged`);
  assertEquals(new Set(chunks.map((key) => key[3])).size, 1, "pieces of a lost commit remain");
});

Deno.test("a call that lost its check reads the winner's parts and returns them", async () => {
  await using temp = await TempStore.open();
  const stores = Array.from({ length: 8 }, () => runStoreOf(temp.store));
  const outcomes = await Promise.all(
    stores.map((runs, n) => runs.finish(TEAM, ID, { ...finished, finishedAt: NOON + n }, NOON)),
  );
  const kinds = outcomes.map(({ kind }) => kind).sort();
  assertEquals(kinds, [...Array(7).fill("replayed"), "stored"]);
  const closings = outcomes.map((outcome) => outcome.kind !== "conflict" && outcome.parts.closing);
  const stored = (await stores[0]?.find(TEAM, ID))?.parts.closing;
  for (const closing of closings) {
    assert(closing && closing.finishedAt === stored?.finishedAt);
  }
});

Deno.test("a write is visible through the reading handle as soon as it is acknowledged", async () => {
  await using temp = await TempStore.open();
  const runs = runStoreOf(temp.store);
  await Promise.all(Array.from({ length: 60 }, async (_, n) => {
    const id = runId(n) as RunId;
    await runs.open(TEAM, { ...opened, id }, NOON);
    assertEquals((await readRun(runs, TEAM, id, null, 1))?.parts.opening?.agent, "a");
    await runs.finish(TEAM, id, finished, NOON);
    assertEquals((await readRun(runs, TEAM, id, null, 1))?.parts.closing?.status, "success");
  }));
});

Deno.test("decision 39: racing first calls of one agent in two writers count it once", async () => {
  await using temp = await TempStore.open();
  const team: Team = { ...TEAM, tier: "free" };
  const stores = [runStoreOf(temp.store), runStoreOf(temp.store)];
  const outcomes = await Promise.all(Array.from({ length: 40 }, (_, n) => {
    const request = { ...opened, id: runId(n) as RunId, agent: `agent-${n >> 1}` };
    return stores[n & 1]?.open(team, request, NOON);
  }));
  const kinds = outcomes.map((outcome) => outcome?.kind);
  const agents = await temp.keysBelow(["agent"]);
  assertEquals(agents.length, 10);
  const [count] = await Array.fromAsync(temp.store.reader.list({ prefix: ["agent_count"] }));
  assertEquals(count?.value, new Deno.KvU64(10n));
  const named = new Set(agents.map((key) => key.at(-1)));
  kinds.forEach((kind, n) => {
    assertEquals(kind, named.has(`agent-${n >> 1}`) ? "stored" : "refused");
  });
});
