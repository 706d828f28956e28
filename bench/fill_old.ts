/**
 * Fills a file with runs of one team that the nightly sweep has to look at, as the service stores them.
 *
 * Usage: fill_old.ts FILE RUNS HORIZON; with the horizon `payload` each run has ten events and an output
 * that are too old, with `record` it is a heartbeat whose record is. Prints the seconds it took.
 */
import { TIMERS } from "../kv/base/deadline.ts";
import type { RawJson } from "../domain/core/raw_json.ts";
import { createRequestLimits } from "../domain/teams/rate_limit.ts";
import { TIERS } from "../domain/teams/plans.ts";
import type { RunEvent } from "../domain/runs/event.ts";
import { type EventId, type RunId, uuid7Hex } from "../domain/core/ids.ts";
import { openStore } from "../kv/open.ts";
import { RunUpdater } from "../kv/summaries/run_updater.ts";
import { createSweepStore } from "../kv/retention/sweep_store.ts";
import { createRunStore } from "../kv/runs/run_store.ts";
import { createCredentialStore, setTeamRate } from "../kv/teams/credentials.ts";
import { createRateCardStore } from "../kv/rate_cards/rate_cards.ts";
import { keys } from "../kv/base/keys.ts";
import { createService } from "../app/compose.ts";
import { print } from "./say.ts";
import { createTeams, keyOf } from "./teams.ts";

const IN_FLIGHT = 256;
const EVENTS = 10;
const DAY_MS = 86_400_000;
/** Runs are spread over so many days before what is kept. */
const DAYS = 10;
const TIER = "business";
/** A plan has a request rate; this one stands in nobody's way. */
const RATE = { sustained: 1_000_000, burst: 1_000_000 };

const [file = ":memory:", count = "0", horizon = "payload"] = Deno.args;
const isRecord = horizon === "record";
const store = await openStore(file);
await createTeams(store, 1);
// As if the night before had been swept: without a clock of sweeps, none is swept at the start.
await createSweepStore(store, new RunUpdater(store)).startClock(Date.now() - DAY_MS);
const environment = {
  now: () => Date.now(),
  random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
};
const rateCards = createRateCardStore(store, environment);
const team = await movedTeam();
const runs = createRunStore(store, rateCards);
const service = createService({
  store,
  environment,
  timers: TIMERS,
  region: "eu",
  refusedSecret: null,
  limits: createRequestLimits(() => performance.now()),
  mailer: null,
  log: () => {},
  draining: () => false,
});
service.start();
const startMs = performance.now();
const lastMs = Date.now() - DAY_MS * (1 + TIERS[TIER][isRecord ? "recordDays" : "payloadDays"]);
let next = 0;
await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
  while (next < Number(count)) {
    const at = lastMs - Math.floor(DAYS * DAY_MS * (1 - next++ / Number(count)));
    await (isRecord ? storeHeartbeat(at) : storeRun(at));
  }
}));
// Runs are filed by when they are due once they are summed up.
await service.worker.idle();
await service.stop();
const seconds = (performance.now() - startMs) / 1000;
await store.close();
print(JSON.stringify(seconds));

/** The first team, on a plan that keeps nothing for ever. */
async function movedTeam() {
  const options = { region: "eu", refusedSecret: null } as const;
  const principal = await createCredentialStore(store, environment, options).find(keyOf(1));
  if (principal === null) throw new Error("There is no team to fill the file for");
  const team = { ...await setTeamRate(store, principal.team.id, RATE), tier: TIER } as const;
  await store.writer.commit({ team: team.id, sets: [{ key: keys.team(team.id), value: team }] });
  return team;
}

async function storeHeartbeat(at: number): Promise<void> {
  const id = `run_eu_${newHex(at)}` as RunId;
  await runs.heartbeat(
    team,
    { id, agent: "nightly", status: "ok", startedAt: at, reported: {} },
    at,
  );
}

async function storeRun(at: number): Promise<void> {
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
  return uuid7Hex(at, environment.random(10));
}
