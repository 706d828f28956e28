/** Idle closes in the store: damage is found, lost answers and several processes close once. */
import { assert, assertEquals } from "@std/assert";
import { keys } from "../../../kv/base/keys.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";
import type { IdleClose } from "../../../domain/runs/idle.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { KvSet, Write } from "../../../kv/writer/write.ts";
import { anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { BareInstance } from "../../support/harness/bare_instance.ts";
import { Harness, NOON } from "../../support/harness/harness.ts";
import { KvServer } from "../../support/harness/kv_server.ts";

/** Time of a deadline after the opening, and of the first look after it; milliseconds. */
const TIMEOUT_MS = 60_000, LOOK_MS = 62_000;

async function differences(h: Harness): Promise<string[]> {
  const { differences } = await verifyStore(h.store, { pauseMs: 0 });
  return differences.map(({ what, expected, found }) => `${what}: ${expected}, not ${found}`);
}

Deno.test("idle closes: the integrity check finds a wrong close and a lost deadline", async () => {
  await using h = await Harness.open();
  for (const n of [1, 2]) {
    await h.post("/v1/runs", aRun(n, { idle_timeout_seconds: 60 }));
    await h.post(`/v1/runs/${runId(n)}/events`, { events: [anEvent(5)] });
  }
  await h.worker.idle();
  h.nowMs = NOON + LOOK_MS;
  await h.clock.idle();
  await h.worker.idle();
  await h.post("/v1/runs", aRun(3, { idle_timeout_seconds: 60 }));
  await h.worker.idle();
  assertEquals(await differences(h), []);

  const key = keys.idle(h.team.id, runId(1) as RunId);
  const { value } = await h.store.reader.get<IdleClose>(key);
  assert(value !== null);
  const damaged = async (write: Write, undo: KvSet): Promise<string[]> => {
    await h.store.writer.commit(write);
    const found = await differences(h);
    await h.store.writer.commit({ sets: [undo] });
    return found.filter((line) => /idle close|deadlines/.test(line));
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
  const [due] = await Array.fromAsync(h.store.reader.list({ prefix: keys.dueRows() }));
  assert(due !== undefined);
  assertEquals(await damaged({ deletes: [due.key] }, due), [
    "deadlines of open runs: at least 1, not 0",
  ]);
  assertEquals(await differences(h), []);
});

Deno.test("idle closes: two instances whose answers are lost close each run once", async () => {
  await using kv = await KvServer.start();
  const world = { nowMs: NOON };
  const environment = { now: () => world.nowMs, random: (n: number) => new Uint8Array(n) };
  await using one = await BareInstance.start(kv.url(), { environment });
  await using two = await BareInstance.start(kv.url(), { environment, isIdle: true });
  const ids = Array.from({ length: 40 }, (_, n) => 1 + n);
  await Promise.all(
    ids.map((n) => one.call("POST", "/v1/runs", aRun(n, { idle_timeout_seconds: 60 }))),
  );
  await one.service.worker.idle();
  world.nowMs = NOON + LOOK_MS;
  let commits = 0;
  kv.knobs.answer = () => commits++ % 3 === 0 ? "lost" : "sent";
  const round = ({ service }: BareInstance) => service.clock.round().catch(() => {});
  for (let rounds = 0; rounds < 5; rounds++) await Promise.all([round(one), round(two)]);
  kv.knobs.answer = () => "sent";
  await two.service.clock.round();
  await one.service.worker.idle();
  const { runs } = await two.call("GET", "/v1/runs?limit=100");
  assertEquals(runs.length, ids.length);
  for (const { id, closed_by, cost } of runs) {
    assertEquals([closed_by, cost.revision], ["idle", 1], id);
    const { value } = await two.store.reader.get<IdleClose>(keys.idle(two.team.id, id));
    assertEquals(value, { status: "timeout", at: NOON, receivedAt: NOON + TIMEOUT_MS, seen: 0 });
  }
  assertEquals(await Array.fromAsync(two.store.reader.list({ prefix: keys.dueRows() })), []);
});
