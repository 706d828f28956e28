/** The work that a cron awaits: `Service.work`. */
import { assert, assertEquals } from "@std/assert";
import { nightOf, type SweepReport } from "../../../domain/retention/retention.ts";
import { monthOf } from "../../../domain/core/time.ts";
import type { Notice } from "../../../domain/teams/quota.ts";
import { usageSet } from "../../../kv/summaries/team_write.ts";
import { keys } from "../../../kv/base/keys.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";
import { hurried, Instance, type InstanceOptions } from "../../support/harness/instance.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { insertTeam } from "../../support/builders/teams.ts";

/** Milliseconds that no test lets pass. */
const LONG_MS = 60_000;

/** Starts an instance with all of its jobs. */
function start(kv: KvServer, options: InstanceOptions = {}): Promise<Instance> {
  return Instance.start(kv.url(), { tier: "free", mailer: null, sweeps: true, ...options });
}

/** Sends closed runs 1 to `count`. */
async function close(instance: Instance, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, i) => 1 + i);
  await Promise.all(numbers.map((n) => instance.call("POST", "/v1/heartbeats", aHeartbeat(n))));
}

/** Reads all keys, as one program could at this moment. */
async function keysOf({ store }: Instance): Promise<Deno.KvKey[]> {
  return await Array.fromAsync(store.reader.list({ prefix: [] }), ({ key }) => key);
}

/** Counts the runs with a final cost. */
function finalRuns(rows: readonly Deno.KvKey[]): number {
  return rows.filter((key) => key[0] === "run" && key.at(-1) === "summary").length;
}

KvServer.test("work: it ends when a backlog is done, and all that was due", async (kv) => {
  await using front = await start(kv, { isIdle: true, sweeps: false });
  await close(front, 300);
  assertEquals(finalRuns(await keysOf(front)), 0);

  await using back = await start(kv);
  const { status } = await back.request("POST", "/v1/runs", {});
  assertEquals(status, 400);
  // The work takes many more round trips than to read its result.
  kv.knobs.delayMs = 30;
  const startMs = performance.now();
  await back.service.workFor(LONG_MS);
  const rows = await keysOf(front);
  assertEquals(finalRuns(rows), 300);
  assert(performance.now() - startMs < LONG_MS / 2, "it waited");
  kv.knobs.delayMs = 0;
  const families = new Set(rows.map(([family]) => family));
  // The last use of the key, the refused call, and the clock of the first sweep.
  const { team } = back;
  const due = [keys.credentialUse(team.id, ""), keys.refusals(team.id), keys.sweepClock()];
  for (const [family] of due) assert(families.has(family), String(family));
});

KvServer.test("work: it ends when the night is swept and the usage of a team is looked at", async (kv) => {
  await using front = await start(kv, { isIdle: true, sweeps: false });
  for (let n = 0; n < 4; n++) await insertTeam(front.store, "free", `Team ${n}`);
  const value = Date.now() - 86_400_000;
  const { team: { id: team } } = front;
  const [earlierMs, month] = [Date.now() - 60_000, monthOf(Date.now())];
  await front.store.writer.commit({
    sums: [{ key: keys.usage(team, month), by: 80_000n }],
    sets: [{ key: keys.sweepClock(), value }, usageSet(team, earlierMs)],
  });
  // Each of the jobs takes many round trips.
  kv.knobs.delayMs = 20;
  await using back = await start(kv);
  await back.service.workFor(LONG_MS);
  const night = keys.sweep(nightOf(Date.now()));
  const [swept, notice] = await front.store.reader.getMany<[SweepReport, Notice]>([
    night,
    keys.notice({ team, month, percent: 80 }),
  ]);
  assertEquals([swept.value?.teams, typeof swept.value?.finishedAt], [5, "number"]);
  assertEquals(notice.value?.state, "logged");
  kv.knobs.delayMs = 0;
});

KvServer.test("work: it ends while another instance holds the lease, and leaves the work to it", async (kv) => {
  await using holder = await start(kv);
  await holder.service.workFor(LONG_MS);
  await using other = await start(kv, { timers: hurried(100) });
  const reads = kv.counts.reads;
  const startMs = performance.now();
  await other.service.workFor(100 * LONG_MS);
  const ms = performance.now() - startMs;
  assert(ms < LONG_MS / 2, "it waited for the lease");
  // It looks at the lease each 20 ms.
  assert(kv.counts.reads - reads < 13 + ms / 20, "it looked for work");
});

KvServer.test("work: it ends in time while the store does not answer, and when the jobs stop", async (kv) => {
  await using instance = await start(kv, { timers: hurried(100), deadlineMs: 2_000 });
  kv.knobs.delayMs = 1_000;
  await close(instance, 1).catch(() => {});
  await instance.service.workFor(100 * 100);
  kv.knobs.delayMs = 0;
  const stopped = await start(kv);
  const work = stopped.service.workFor(LONG_MS);
  await stopped[Symbol.asyncDispose]();
  await work;
});

KvServer.test("work: an idle instance reads at most twelve times a second", async (kv) => {
  await using instance = await start(kv);
  await instance.service.workFor(LONG_MS);
  const [reads, startMs] = [kv.counts.reads, performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const seconds = (performance.now() - startMs) / 1_000;
  assert(kv.counts.reads - reads < 12 * seconds, `${kv.counts.reads - reads} in ${seconds} s`);
});
