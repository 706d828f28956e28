/** Incidents of two processes over a shared KV that loses answers. */
import { assertEquals } from "@std/assert";
import { Memory } from "../../../../runtime/memory.ts";
import { type OpenStore, openStore } from "../../../../kv/open.ts";
import { createIncidentStore } from "../../../../kv/alerts/incidents.ts";
import { run, TEAM } from "../../../support/builders/stored_runs.ts";
import { AlertProcess } from "../../../support/harness/alert_process.ts";
import { NOON } from "../../../support/harness/harness.ts";
import { asKvClient } from "../../../support/fakes/kv_client.ts";
import { KvServer } from "../../../support/fakes/kv_server.ts";

/** Runs that fail. */
const RUNS = 24;

KvServer.test("two processes that count the same runs open one incident, and count each once", async (server) => {
  const stores: OpenStore[] = [];
  try {
    for (let n = 0; n < 2; n++) {
      stores.push(await asKvClient(() => openStore(server.url(), new Memory())));
    }
    await race(
      stores.map((store) => new AlertProcess(store)) as [AlertProcess, AlertProcess],
      () => {
        server.knobs.answer = () => server.counts.commits % 4 === 0 ? "lost" : "sent";
      },
    );
  } finally {
    server.knobs.answer = () => "sent";
    await Promise.all(stores.map((store) => store.close()));
  }
});

async function race(
  [here, there]: [AlertProcess, AlertProcess],
  loseAnswers: () => void,
): Promise<void> {
  await here.putMail("ops");
  for (let n = 1; n <= RUNS; n++) await here.close(n, "failed");
  loseAnswers();
  const all = Array.from({ length: RUNS }, (_, i) => run(i + 1));
  const some = (from: number) => all.filter((_, i) => i % 3 !== from);
  await Promise.all([
    ...[0, 1].map((from) => here.pipeline.project(TEAM.id, some(from))),
    ...[1, 2].map((from) => there.pipeline.project(TEAM.id, some(from).reverse())),
  ]);
  const [incident, ...others] = await here.incidents();
  assertEquals([incident?.count, incident?.runs.length, others.length], [RUNS, 20, 0]);
  assertEquals(await there.deliveries(), ["ops incident.opened"]);
  const made = { by: "key_1", at: NOON + 100 };
  // The next message has a later identifier.
  here.nowMs = there.nowMs = NOON + 100;
  await Promise.all(
    [here, there].map(({ store, updater }) =>
      createIncidentStore({ store, changes: updater }).resolve(TEAM, incident?.id ?? "", null, made)
    ),
  );
  assertEquals(await there.deliveries(), ["ops incident.opened", "ops incident.resolved"]);
  await here.close(RUNS + 1, "failed", NOON + 200);
  await Promise.all(
    [here, there].map(({ pipeline }) => pipeline.project(TEAM.id, [run(RUNS + 1)])),
  );
  assertEquals(await there.open(), [`failures =a 1: ${RUNS + 1}`]);
  await here.close(RUNS + 2, "success", NOON + 300);
  await Promise.all(
    [here, there].map(({ pipeline }) => pipeline.project(TEAM.id, [run(RUNS + 2)])),
  );
  assertEquals(await there.open(), []);
  assertEquals((await there.incidents()).length, 2);
}
