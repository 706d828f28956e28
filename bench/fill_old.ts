/** Stores runs of one team that the nightly sweep must remove. */
import { runStoreOf } from "../tests/support/harness/stores.ts";
import { Memory } from "../domain/core/memory.ts";
import type { RawJson } from "../domain/core/raw_json.ts";
import { type EventId, type RunId, uuid7Hex } from "../domain/core/ids.ts";
import type { RetentionClass } from "../domain/retention/retention.ts";
import type { RunEvent } from "../domain/runs/event.ts";
import type { RunStore } from "../domain/runs/store.ts";
import { TIERS } from "../domain/teams/plans.ts";
import type { Team } from "../domain/teams/team.ts";
import { keys } from "../kv/base/keys.ts";
import { openStore } from "../kv/open.ts";
import { createSweepStore } from "../kv/retention/sweep_store.ts";
import type { Store } from "../kv/store.ts";
import { RunUpdater } from "../kv/summaries/run_updater.ts";
import { setTeamRate } from "../kv/teams/credentials.ts";
import { createBenchService, createTeams, ENVIRONMENT, firstTeamOf } from "./service.ts";

const IN_FLIGHT = 256;
const EVENTS = 10;
const DAY_MS = 86_400_000;
/** Days before the retention limit over which runs are spread. */
const DAYS = 10;
const TIER = "business";
/** A request rate that refuses no call. */
const RATE = { sustained: 1_000_000, burst: 1_000_000 };

/**
 * Fills a file. With the retention class `payload`, each run has ten expired events and an expired
 * output; with `record`, each run is a heartbeat with an expired record.
 */
export async function fillOld(
  file: string,
  count: number,
  retentionClass: RetentionClass,
): Promise<void> {
  const store = await openStore(file, new Memory());
  await createTeams(store, 1);
  // Without a sweep clock, a new service skips the first sweep: start the clock a day ago.
  await createSweepStore(store, new RunUpdater(store)).startClock(Date.now() - DAY_MS);
  const team = await moveTeam(store);
  const runs = runStoreOf(store);
  const service = createBenchService(store, { log: () => {} });
  service.start();
  const isRecord = retentionClass === "record";
  const lastMs = Date.now() - DAY_MS * (1 + TIERS[TIER][isRecord ? "recordDays" : "payloadDays"]);
  let next = 0;
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (next < count) {
      const at = lastMs - Math.floor(DAYS * DAY_MS * (1 - next++ / count));
      await (isRecord ? storeHeartbeat(runs, team, at) : storeRun(runs, team, at));
    }
  }));
  // The worker writes the expiry entry of each run.
  await service.worker.idle();
  await service.stop();
  await store.close();
}

/** Moves the first team to a plan that keeps nothing forever. */
async function moveTeam(store: Store): Promise<Team> {
  const id = await firstTeamOf(store);
  const team: Team = { ...await setTeamRate(store, id, RATE), tier: TIER };
  await store.writer.commit({ team: id, sets: [{ key: keys.team(id), value: team }] });
  return team;
}

async function storeHeartbeat(runs: RunStore, team: Team, at: number): Promise<void> {
  const id = `run_eu_${newHex(at)}` as RunId;
  await runs.heartbeat(
    team,
    { id, agent: "nightly", status: "ok", startedAt: at, reported: {} },
    at,
  );
}

async function storeRun(runs: RunStore, team: Team, at: number): Promise<void> {
  const id = `run_eu_${newHex(at)}` as RunId;
  const output = '{"answer":"what was found, in a few words"}' as RawJson;
  await runs.open(team, { id, agent: "researcher", startedAt: at, customerId: "acme" }, at);
  await runs.append(team, id, Array.from({ length: EVENTS }, () => anEvent(at)), at);
  await runs.finish(team, id, { status: "success", finishedAt: at, output }, at);
}

function anEvent(at: number): RunEvent {
  const data =
    '{"message":"one of the steps that led to the answer, as a line of text"}' as RawJson;
  return {
    id: `evt_eu_${newHex(at)}` as EventId,
    type: "log",
    ts: at,
    data,
    facts: { error: false },
  };
}

function newHex(at: number): string {
  return uuid7Hex(at, ENVIRONMENT.random(10));
}
