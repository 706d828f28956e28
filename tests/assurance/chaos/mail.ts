/** Breaks the mail server (dead, silent or very slow) while a quota notice is due. */
import { assert, assertEquals } from "@std/assert";
import { monthOf } from "../../../domain/core/time.ts";
import { keys } from "../../../kv/base/keys.ts";
import { usageSet } from "../../../kv/summaries/team_write.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";
import { Process, type Settings } from "../../support/harness/process.ts";
import { drip, SENDER, SmtpSink } from "../../support/fakes/smtp.ts";
import { withFolder, withStore } from "../../support/harness/temp_store.ts";
import { settingsIn, statusOf } from "./fault.ts";

/** Calls during an attempt: fewer than the free plan's burst. */
const CALLS = 150;

/** An attempt takes 20 seconds; a call that waits for it would take as long. */
const CALL_MS_MAX = 2_000;

/**
 * Calls a service with each kind of mail server; all calls are accepted, as fast as without one.
 */
export async function mailDead(): Promise<string> {
  const none = await slowestCall({}, () => Promise.resolve());
  const url = closedPort();
  const dead = await slowestCall({ RUNLEDGER_SMTP_URL: url }, async (process) => {
    await process.logs(/"notice":"quota".*"state":"pending"/);
  });
  await using sink = await SmtpSink.start();
  sink.behaviour = "silent greeting";
  const silent = await slowestCall({ RUNLEDGER_SMTP_URL: sink.url }, async () => {
    await sink.until(({ connections }) => connections > 0);
  });
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const dripped = drip(listener);
  const dripping = await slowestCall(
    { RUNLEDGER_SMTP_URL: `smtp://127.0.0.1:${listener.addr.port}` },
    () => Promise.resolve(),
  );
  assert(await dripped > 0, "the dripping server was never called");
  return `${CALLS} calls each, all accepted, the slowest ${none} ms without a mail server, ` +
    `${dead} ms with a dead one, ${silent} ms with a silent one, ${dripping} ms with a dripping one`;
}

function closedPort(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `smtp://127.0.0.1:${listener.addr.port}`;
}

/** Returns the milliseconds of the slowest call during an attempt to send mail. */
async function slowestCall(
  settings: Settings,
  tried: (process: Process) => Promise<void>,
): Promise<string> {
  return await withFolder(async (folder) => {
    const all = settingsIn(folder, {
      RUNLEDGER_TIER: "free",
      RUNLEDGER_OWNER_EMAIL: "owner@example.org",
      RUNLEDGER_SMTP_FROM: SENDER,
      ...settings,
    });
    await reachQuota(all);
    await using process = await Process.start(all);
    await tried(process);
    const times = await Promise.all(Array.from({ length: CALLS }, (_, n) => call(process.url, n)));
    const slowest = Math.max(...times);
    assert(slowest < CALL_MS_MAX, `a call took ${slowest} ms`);
    assertEquals((await process.stop()).code, 0);
    return slowest.toFixed(0);
  });
}

/** Uses 80 % of the included events, and files a look at them. */
async function reachQuota(settings: ReturnType<typeof settingsIn>): Promise<void> {
  // Without a mail server no notice would be left to send.
  await using process = await Process.start({ ...settings, RUNLEDGER_SMTP_URL: undefined });
  await process.stop();
  await withStore(settings.RUNLEDGER_KV, async (store, team) => {
    const sums = [{ key: keys.usage(team, monthOf(Date.now())), by: 80_000n }];
    await store.writer.commit({ sums, sets: [usageSet(team, Date.now() - 60_000)] });
  });
}

async function call(url: string, n: number): Promise<number> {
  const startMs = performance.now();
  assertEquals(await statusOf(`${url}/v1/heartbeats`, JSON.stringify(aHeartbeat(n))), 202);
  return performance.now() - startMs;
}
