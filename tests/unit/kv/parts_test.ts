/** Openings and closes in the store: large ones, races, and reading own writes. */
import { readRun } from "../../support/builders/stored_runs.ts";
import { runStoreOf } from "../../support/harness/stores.ts";
import { assert, assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import type { HeartbeatRequest } from "../../../domain/runs/decide.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import type { Metadata } from "../../../domain/runs/run.ts";
import { keys } from "../../../kv/base/keys.ts";
import { runId } from "../../support/builders/requests.ts";
import { NOON } from "../../support/harness/harness.ts";
import { noise, TempStore } from "../../support/harness/temp_store.ts";

const TEAM: Team = { id: "team" as TeamId, name: "team", tier: "enterprise" };
const ID = runId(1) as RunId;
const beat: HeartbeatRequest = { id: ID, agent: "a", status: "ok", reported: {} };

/** As many labels as fit a body of 1 MiB; an enterprise plan keeps them all. */
function manyLabels(): Metadata {
  return Array.from({ length: 15_000 }, (_, n) => {
    const text = noise(58, n + 1);
    return [String(n) + text.slice(0, 10), text.slice(10)];
  });
}

TempStore.test("decision 11: a heartbeat with a large output is read back, and replayed", async (temp) => {
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
