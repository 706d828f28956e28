/** Tests the program on a platform that starts, stops and kills its instances. */
import { assert, assertEquals } from "@std/assert";
import { developmentKey } from "../../../domain/teams/credentials.ts";
import { groupsOf } from "../../../kv/base/reads.ts";
import { keys } from "../../../kv/base/keys.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";
import { KEY } from "../../support/harness/harness.ts";
import { Instance } from "../../support/harness/instance.ts";
import { KV_TOKEN } from "../../support/fakes/kv_client.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Platform } from "../../support/fakes/platform.ts";
import { KillRounds, settingsOf } from "../../assurance/deploy/kill_rounds.ts";

/** Milliseconds in which an instance must end after SIGINT; the platform kills it after 5 s. */
const STOP_MS_MAX = 4_000;

/** Milliseconds of a cron run that waits for no lease; far more than it takes. */
const CRON_MS_MAX = 10_000;

/** Sends a call with a key; returns the status. */
async function get({ url }: Platform, key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` };
  const { status, body } = await fetch(`${url}/v1/ping?agent=hello`, { headers });
  await body?.cancel();
  return status;
}

function assertKeptSecrets({ output }: Platform): void {
  for (const secret of [KEY, KV_TOKEN]) assert(!output.includes(secret), output);
}

KvServer.test("platform: a cron drains what was left while no worker ran; its instance writes no file and ends in time", async (kv) => {
  await using front = await Instance.start(kv.url(), { isIdle: true });
  const numbers = Array.from({ length: 80 }, (_, n) => n);
  for (const group of groupsOf(numbers, 10)) {
    await Promise.all(group.map((n) => front.call("POST", "/v1/heartbeats", aHeartbeat(n))));
  }
  const finalRuns = async () => {
    const rows = await Array.fromAsync(front.store.reader.list({ prefix: keys.runs() }));
    return rows.filter(({ key }) => key.at(-1) === "summary").length;
  };
  assertEquals(await finalRuns(), 0);

  await using platform = new Platform(settingsOf(kv.url()), { idleMs: 60_000 });
  const startMs = performance.now();
  // The platform refuses crons that are registered once it serves, and the program would end.
  assert(await platform.runCrons());
  assert(performance.now() - startMs < CRON_MS_MAX, "the cron did not return");
  assert(platform.crons.length > 0, "no cron");
  assertEquals(await finalRuns(), numbers.length);
  assertEquals(await get(platform, KEY), 200);
  for (const region of ["eu", "us"] as const) {
    assertEquals(await get(platform, developmentKey(region)), 401);
  }
  await platform.stopAll();
  assertEquals([platform.started, platform.failures, platform.files], [1, [], []]);
  const [stop] = platform.stops;
  assertEquals([stop?.code, stop?.signal], [0, null]);
  assert((stop?.ms ?? Infinity) <= STOP_MS_MAX, `${stop?.ms} ms`);
  assertKeptSecrets(platform);
});

Deno.test("platform: up to four instances that are killed at random lose and double nothing", async () => {
  await using rounds = await KillRounds.start({ instancesMax: 4, requestsPerInstance: 4 });
  await rounds.run(2, "short");
  assert(rounds.platform.servedMax > 1, "one instance did all");
  await rounds.verify();
  assertKeptSecrets(rounds.platform);
});
