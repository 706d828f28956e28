/** Monitors of two processes over a shared KV that loses answers, or over `denokv`. */
import { assertEquals } from "@std/assert";
import { Memory } from "../../../runtime/memory.ts";
import { type OpenStore, openStore } from "../../../kv/open.ts";
import { NOON } from "../../support/harness/harness.ts";
import { denokvCommand, KvProcess } from "../../support/fakes/denokv.ts";
import { asKvClient } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { MINUTE, MonitorProcess } from "../../support/harness/monitor_process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const DENOKV = denokvCommand();

/** Missed deadlines and outcomes after them. */
const ROUNDS = 5;

/** Lets both processes evaluate each deadline at once; fails unless each makes one change. */
async function assertOneChange(url: string): Promise<void> {
  const stores: OpenStore[] = [];
  try {
    for (let n = 0; n < 2; n++) {
      stores.push(await asKvClient(() => openStore(url, new Memory())));
    }
    await playRounds(stores as [OpenStore, OpenStore]);
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

async function playRounds([one, other]: [OpenStore, OpenStore]): Promise<void> {
  const [here, there] = [new MonitorProcess(one), new MonitorProcess(other)];
  await here.close(1, NOON);
  await here.work();
  await here.put();
  for (let n = 0; n < ROUNDS; n++) {
    const rows = await here.due();
    const lastAt = NOON + n * 100 * MINUTE;
    const rounds = [here, there].map((each) => each.evaluate(rows, lastAt + 90 * MINUTE));
    await Promise.all(rounds);
    await here.close(n + 2, lastAt + 100 * MINUTE);
    await Promise.all([here.work(), there.work()]);
  }
  const expected = Array.from({ length: ROUNDS }, (_, n) => n * 100).flatMap((minute) => [
    `${minute + 60} up>late expected`,
    `${minute + 70} late>down missed`,
    `${minute + 100} down>up recovered`,
  ]);
  assertEquals(await there.flips(), ["0 none>up created", ...expected]);
  assertEquals((await there.due()).map(({ at }) => at), [NOON + (ROUNDS * 100 + 60) * MINUTE]);
}

KvServer.test("monitors over a shared KV: evaluations by two processes, with lost answers, make one change", async (server) => {
  await asKvClient(async () => (await openStore(server.url(), new Memory())).close());
  server.knobs.answer = () => server.counts.commits % 4 === 0 ? "lost" : "sent";
  await assertOneChange(server.url());
});

Deno.test({
  name: "monitors over denokv: evaluations by two processes make one change",
  ignore: DENOKV === null,
  fn: () =>
    withFolder(async (folder) => {
      await using kv = await KvProcess.start(folder, DENOKV);
      await assertOneChange(kv.url);
    }),
});
