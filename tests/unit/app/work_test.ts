/** The work that a cron awaits: `Service.work`. */
import { assert, assertEquals } from "@std/assert";
import { keys } from "../../../kv/base/keys.ts";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { BareInstance, hurried } from "../../support/harness/bare_instance.ts";
import { KvServer } from "../../support/harness/kv_server.ts";

/** Milliseconds that no test lets pass. */
const LONG_MS = 60_000;

/** Sends closed runs `from` to `to`; returns their ids. */
async function close(instance: BareInstance, from: number, to: number): Promise<string[]> {
  const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i);
  await Promise.all(numbers.map((n) => instance.call("POST", "/v1/heartbeats", aHeartbeat(n))));
  return numbers.map((n) => runId(n));
}

async function costStates(instance: BareInstance, runs: readonly string[]): Promise<Set<string>> {
  const read = runs.map((run) => instance.call("GET", `/v1/runs/${run}`));
  return new Set((await Promise.all(read)).map(({ cost }) => cost.state));
}

Deno.test("work: it ends when a backlog is done, and all that was due", async () => {
  await using kv = await KvServer.start();
  await using front = await BareInstance.start(kv.url(), { isIdle: true });
  const runs = await close(front, 1, 60);
  assertEquals(await costStates(front, runs), new Set(["pending"]));

  await using back = await BareInstance.start(kv.url());
  const { status } = await back.request("POST", "/v1/runs", {});
  assertEquals(status, 400);
  kv.knobs.delayMs = 20;
  const startMs = performance.now();
  await back.service.work(LONG_MS);
  kv.knobs.delayMs = 0;
  assertEquals(await costStates(back, runs), new Set(["final"]));
  assert(performance.now() - startMs < LONG_MS / 2, "it waited");
  const families = new Set<Deno.KvKeyPart | undefined>();
  for await (const { key } of back.store.reader.list({ prefix: [] })) families.add(key[0]);
  // The last use of the key, the refused call, and the clock of the first sweep.
  const { team } = back;
  const due = [keys.credentialUse(team.id, ""), keys.refusalSums(team.id), keys.sweepClock()];
  for (const [family] of due) assert(families.has(family), String(family));
});

Deno.test("work: it ends while another instance holds the lease, and leaves the work to it", async () => {
  await using kv = await KvServer.start();
  await using holder = await BareInstance.start(kv.url());
  await holder.service.work(LONG_MS);
  await using other = await BareInstance.start(kv.url(), { timers: hurried(100) });
  const reads = kv.counts.reads;
  const startMs = performance.now();
  await other.service.work(100 * LONG_MS);
  assert(performance.now() - startMs < 2_000, "it waited for the lease");
  assert(kv.counts.reads - reads < 20, "it looked for work");
});

Deno.test("work: it ends in time while the store does not answer, and when the jobs stop", async () => {
  await using kv = await KvServer.start();
  await using instance = await BareInstance.start(kv.url(), { timers: hurried(100) });
  kv.knobs.delayMs = 1_000;
  await close(instance, 1, 1).catch(() => {});
  await instance.service.work(100 * 100);
  kv.knobs.delayMs = 0;
  const stopped = await BareInstance.start(kv.url());
  const work = stopped.service.work(LONG_MS);
  await stopped[Symbol.asyncDispose]();
  await work;
});
