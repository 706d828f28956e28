/** Idle closes in the store: damage is found, lost answers and several processes close once. */
import { assert, assertEquals } from "@std/assert";
import { TIERS } from "../../../domain/teams/plans.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { WorkLoop } from "../../../jobs/work_loop.ts";
import { keyParts, keys, OWN_FORMAT } from "../../../kv/base/keys.ts";
import { createWorkStore } from "../../../kv/work/store.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import type { IdleClose } from "../../../domain/runs/idle.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { KnownAgents } from "../../../kv/agents/known_agents.ts";
import { createIdleHandler } from "../../../kv/runs/idle_closes.ts";
import type { Store } from "../../../kv/store.ts";
import { exportLines } from "../../../kv/transfer/export.ts";
import { importLines } from "../../../kv/transfer/import.ts";
import type { KvSet, Write } from "../../../kv/writer/group.ts";
import { anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { Instance } from "../../support/harness/instance.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { aCall, readRun, run, TEAM } from "../../support/builders/stored_runs.ts";
import { DAY_MS, RetentionHarness } from "../../support/harness/retention_harness.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { assertClean } from "../../support/oracles/stray_rows.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { readHead } from "../../../kv/runs/heads.ts";
import { MINUTE, MonitorProcess } from "../../support/harness/monitor_process.ts";

/** Time of a deadline after the opening, and of its first handling; milliseconds. */
const TIMEOUT_MS = 60_000, DUE_MS = 62_000;

async function differences(h: Harness): Promise<string[]> {
  const { differences } = await verifyStore(h.store, { pauseMs: 0 });
  return differences.map(({ what, expected, stored }) => `${what}: ${expected}, not ${stored}`);
}

Harness.test("idle closes: the integrity check finds a wrong close and a lost deadline", async (h) => {
  for (const n of [1, 2]) {
    await h.post("/v1/runs", aRun(n, { idle_timeout_seconds: 60 }));
    await h.post(`/v1/runs/${runId(n)}/events`, { events: [anEvent(5)] });
  }
  await h.worker.idle();
  h.nowMs = NOON + DUE_MS;
  await h.work.idle();
  await h.worker.idle();
  await h.post("/v1/runs", aRun(3, { idle_timeout_seconds: 60 }));
  await h.worker.idle();
  assertEquals(await differences(h), []);

  const key = keys.idle(h.team.id, runId(1) as RunId);
  const { value } = await h.store.reader.get<IdleClose>(key);
  assert(value !== null);
  const damaged = async (write: Write, undo: KvSet): Promise<string[]> => {
    await h.store.writer.commit(write);
    const lines = await differences(h);
    await h.store.writer.commit({ sets: [undo] });
    return lines.filter((line) => /idle close|deadlines/.test(line));
  };
  const close = async (fields: Partial<IdleClose>) =>
    await damaged({ sets: [{ key, value: { ...value, ...fields } }] }, { key, value });
  const what = `idle close of ${runId(1)}`;
  assertEquals(await close({ status: "success" }), [
    `${what}: status "timeout", not status "success"`,
  ]);
  assertEquals(await close({ at: NOON }), [`${what}: at ${NOON + 5}, not at ${NOON}`]);
  assertEquals(await close({ receivedAt: NOON + 1 }), [
    `${what}: receivedAt ${NOON + TIMEOUT_MS}, not receivedAt ${NOON + 1}`,
  ]);
  const [due] = await Array.fromAsync(h.store.reader.list({ prefix: keys.work("settled") }));
  assert(due !== undefined);
  assertEquals(await damaged({ deletes: [due.key] }, due), [
    "deadlines of open runs: at least 1, not 0",
  ]);
  assertEquals(await differences(h), []);
});

KvServer.test("idle closes: two instances whose answers are lost close each run once", async (kv) => {
  const world = { nowMs: NOON };
  const environment = { now: () => world.nowMs, random: (n: number) => new Uint8Array(n) };
  await using one = await Instance.start(kv.url(), { environment });
  await using two = await Instance.start(kv.url(), { environment, isIdle: true });
  const ids = Array.from({ length: 40 }, (_, n) => 1 + n);
  await Promise.all(
    ids.map((n) => one.call("POST", "/v1/runs", aRun(n, { idle_timeout_seconds: 60 }))),
  );
  await one.service.worker.idle();
  // Turns that are no absence.
  for (world.nowMs = NOON; world.nowMs < NOON + DUE_MS; world.nowMs += DUE_MS / 2) {
    await one.service.work.round();
  }
  let commits = 0;
  kv.knobs.answer = () => commits++ % 3 === 0 ? "lost" : "sent";
  const round = ({ service }: Instance) => service.work.round().catch(() => {});
  for (let rounds = 0; rounds < 5; rounds++) await Promise.all([round(one), round(two)]);
  kv.knobs.answer = () => "sent";
  await two.service.work.round();
  await one.service.worker.idle();
  const { runs } = await two.call("GET", "/v1/runs?limit=100");
  assertEquals(runs.length, ids.length);
  for (const { id, closed_by, cost } of runs) {
    assertEquals([closed_by, cost.revision], ["idle", 1], id);
    const { value } = await two.store.reader.get<IdleClose>(keys.idle(two.team.id, id));
    assertEquals(value, { status: "timeout", at: NOON, receivedAt: NOON + TIMEOUT_MS, seen: 0 });
  }
  const due = await Array.fromAsync(
    two.store.reader.list({ prefix: keys.work() }),
    ({ key }) => keyParts.work(key).kind,
  );
  assertEquals(due.filter((kind) => kind === "idle"), []);
});

/** A team's runs without a service, whose clock the test drives. */
class IdleHarness {
  readonly retention: RetentionHarness;
  readonly #loop: WorkLoop;

  constructor(store: Store) {
    this.retention = new RetentionHarness(store);
    const handlers = [createIdleHandler(store, new KnownAgents(store.memory, () => 0))];
    const [now, log] = [() => this.retention.nowMs, (line: string) => assertEquals(line, "")];
    this.#loop = new WorkLoop({ store: createWorkStore(store, TIMEOUT_MS), handlers, now, log });
  }

  async open(team: Team, n: number): Promise<void> {
    const { runs, nowMs } = this.retention;
    const request = { id: run(n), agent: "a", startedAt: nowMs, goal: "g", idleTimeoutSeconds: 60 };
    await runs.open(team, request, nowMs);
    await this.retention.work();
  }

  async closeIdle(nowMs: number): Promise<void> {
    this.retention.nowMs = nowMs;
    await this.#loop.round();
    await this.retention.work();
  }

  async read(team: Team, n: number) {
    return await readRun(this.retention.runs, team, run(n), null, 1);
  }
}

TempStore.test("idle closes: retention removes the payload, keeps the close, and removes it with the record", async (temp) => {
  const harness = new IdleHarness(temp.store);
  const { retention } = harness;
  const team = await retention.addTeam("free");
  await harness.open(team, 1);
  await harness.closeIdle(NOON + DUE_MS);
  const { payloadDays, recordDays } = TIERS.free;
  retention.nowMs = NOON + (payloadDays + 1) * DAY_MS;
  assertEquals((await retention.sweep()).payloads, 1);
  const stored = await harness.read(team, 1);
  assertEquals([stored?.payload, stored?.parts.closing?.closedBy], ["removed", "idle"]);
  const closing = await temp.store.reader.get(keys.closing(team.id, run(1)));
  assertEquals(closing.versionstamp, null);
  await assertClean(temp.store);
  retention.nowMs = NOON + (recordDays + 2) * DAY_MS;
  assertEquals((await retention.sweep()).records, 1);
  assertEquals(await harness.read(team, 1), null);
  assertEquals(await temp.keysBelow(keys.run(team.id, run(1))), []);
  await assertClean(temp.store);
});

TempStore.test("idle closes: an export has them and the deadlines of open runs", async (temp) => {
  const harness = new IdleHarness(temp.store);
  const team = await harness.retention.addTeam("free");
  await harness.open(team, 1);
  await harness.closeIdle(NOON + DUE_MS);
  await harness.open(team, 2);
  await using copy = await TempStore.open();
  await temp.store.writer.commit({ sets: [{ key: keys.format(), value: OWN_FORMAT }] });
  await importLines(copy.store, exportLines(temp.store));
  const copied = new IdleHarness(copy.store);
  // The move was an absence: the deadline inside it is judged as long after it.
  for (let ms = 0; ms <= 3 * TIMEOUT_MS; ms += TIMEOUT_MS / 2) {
    await copied.closeIdle(NOON + 2 * DUE_MS + ms);
  }
  for (const n of [1, 2]) {
    assertEquals((await copied.read(team, n))?.parts.closing?.closedBy, "idle");
  }
  await assertClean(copy.store);
});

MonitorProcess.test("idle race: a run reopened before its close is summarized is closed again", async (here) => {
  const handler = createIdleHandler(here.store, new KnownAgents(here.store.memory, () => 0));
  const closeIdle = async (nowMs: number) =>
    await handler.handle(
      await here.due(nowMs),
      { nowMs, absences: [], summarizedToMs: nowMs },
      new AbortController().signal,
    );
  const read = () => readHead({ store: here.store, team: TEAM.id, id: run(1) });
  const opening = { id: run(1), agent: "a", startedAt: NOON, idleTimeoutSeconds: 60 };
  await here.runs.open(TEAM, opening, NOON);
  await here.work();
  await closeIdle(NOON + MINUTE);
  assertEquals((await read()).head.parts.closing?.closedBy, "idle");
  await here.runs.append(TEAM, run(1), [aCall(1)], NOON + MINUTE + 1);
  await here.work();
  assertEquals((await read()).summary?.seen.closing, false);
  assertEquals((await here.due()).map(({ at }) => at), [NOON + 2 * MINUTE + 1]);
  // A later batch files no further row.
  await here.runs.append(TEAM, run(1), [aCall(2)], NOON + MINUTE + 2);
  await here.work();
  assertEquals((await here.due()).length, 1);
  await closeIdle(NOON + 3 * MINUTE);
  await closeIdle(NOON + 3 * MINUTE);
  await here.work();
  assertEquals((await read()).summary?.seen.closedBy, "idle");
  assertEquals(await here.due(), []);
  assertEquals((await verifyStore(here.store, { pauseMs: 0 })).differences, []);
});
