/**
 * `deno task assure deploy`: runs the program as Deno Deploy does, kills its instances under load, and
 * compares the ledger with the clients' responses. Then one instance takes load without a kill, and
 * a deadline passes while only crons run.
 */
import { assertEquals } from "@std/assert";
import { number } from "../../../tools/table.ts";
import { createProgress, type Io } from "../../../tools/command.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Platform } from "../../support/fakes/platform.ts";
import { KEY } from "../../support/harness/harness.ts";
import { type AssuranceOptions, commandOf, distribution } from "../assurance.ts";
import { KillRounds, settingsOf } from "./kill_rounds.ts";

/** Kills before the ledger is compared. */
const KILLS_PER_ROUND = 10;

/** Acknowledged calls of the instance that is not killed. */
const CALLS = 5_000;

/** Maximum resident megabytes of an instance. */
const RSS_MB_MAX = 400;

/** Milliseconds in which an instance must end after SIGINT. */
const STOP_MS_MAX = 4_000;

/**
 * Milliseconds of the crons that make all costs final, and until a monitor is down after its
 * deadline: one period, and 10 s.
 */
const CRON_MS_MAX = 70_000;

interface Measurements {
  kills: number;
  acknowledged: number;
  started: number;
  peakMb: number;
  readonly stopMs: number[];
  readonly cronMs: number[];
  downMs: number;
}

/** Compares a round with its clients' responses, stops its instances and adds its measurements. */
async function finish(rounds: KillRounds, measurements: Measurements): Promise<void> {
  const { platform, load } = rounds;
  measurements.cronMs.push(await rounds.verify());
  await platform.stopAll();
  for (const { code, ms } of platform.stops) {
    if (code !== 0 || ms === null || ms > STOP_MS_MAX) {
      throw new Error(`SIGINT: code ${code} after ${ms} ms`);
    }
    measurements.stopMs.push(ms);
  }
  if (platform.files.length > 0) throw new Error(`Files were made: ${platform.files.join(", ")}`);
  measurements.kills += rounds.kills;
  measurements.acknowledged += load.acknowledged;
  measurements.started += platform.started;
  measurements.peakMb = Math.max(measurements.peakMb, platform.peakMb);
}

async function deploy({ count, seed }: AssuranceOptions, io: Io): Promise<Measurements> {
  const measurements: Measurements = {
    kills: 0,
    acknowledged: 0,
    started: 0,
    peakMb: 0,
    stopMs: [],
    cronMs: [],
    downMs: NaN,
  };
  {
    using progress = createProgress(io.screen, "kills", count);
    for (let done = 0; done < count; done += KILLS_PER_ROUND) {
      await using rounds = await KillRounds.start({});
      const kills = Math.min(KILLS_PER_ROUND, count - done);
      await rounds.run(kills, `${seed} ${done}`);
      await finish(rounds, measurements);
      for (let kill = 0; kill < kills; kill++) progress.step();
    }
  }
  await using calm = await KillRounds.start({ instancesMax: 1 });
  await calm.fill(CALLS);
  await finish(calm, measurements);
  measurements.downMs = await measureDeadline();
  return measurements;
}

/** The agent's period, the shortest there is, and the platform's time between crons. */
const PERIOD_MS = 60_000, CRON_MS = 60_000;

/** Milliseconds before the deadline at which a cron runs, so that the next one is the latest possible. */
const CRON_BEFORE_MS = 1_000;

/** Returns the milliseconds from an agent's deadline until its monitor is stored as down. */
async function measureDeadline(): Promise<number> {
  await using kv = await KvServer.start();
  await using platform = new Platform(settingsOf(kv.url()), { instancesMax: 1 });
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Basic ${btoa(`${KEY}:`)}` };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${platform.url}${path}`, { method, headers, ...init });
    return await response.json();
  };
  await call("POST", "/v1/heartbeats", { agent: "nightly", status: "ok" });
  await platform.runCrons();
  const settings = { schedule: { every_seconds: PERIOD_MS / 1_000 }, grace_seconds: 0 };
  const { down_after } = await call("PUT", "/v1/agents/nightly/monitor", settings);
  const deadline = Date.parse(down_after);
  // No instance runs at the deadline.
  await platform.stopAll();
  await waitUntil(deadline - CRON_BEFORE_MS);
  await platform.runCrons();
  await platform.stopAll();
  await waitUntil(deadline - CRON_BEFORE_MS + CRON_MS);
  await platform.runCrons();
  const ms = Date.now() - deadline;
  const { flips } = await call("GET", "/v1/agents/nightly/flips");
  const down = flips.filter(({ to }: { readonly to: string }) => to === "down");
  assertEquals(down.map(({ at }: { readonly at: string }) => Date.parse(at)), [deadline]);
  return ms;
}

/** Deadlines of a platform are real time. */
function waitUntil(atMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, atMs - Date.now()));
}

function report(measurements: Measurements, io: Io): void {
  const { kills, acknowledged, started, peakMb, stopMs, cronMs, downMs } = measurements;
  io.out(`${kills} x kill -9 of ${started} instances, ${stopMs.length} x SIGINT`);
  io.out(`${number(acknowledged)} acknowledged calls: 0 lost, 0 doubled, all sums exact`);
  io.out(`ended after SIGINT: ${distribution(stopMs)}`);
  io.out(`crons that made all costs final: ${distribution(cronMs)}`);
  io.out(`a monitor was down ${number(downMs)} ms after its deadline, which crons alone notice`);
  io.out(`at most ${number(peakMb)} MB resident`);
}

/** Kills `count` instances; returns false if a promise was broken. */
export async function run(options: AssuranceOptions, io: Io): Promise<boolean> {
  io.out(commandOf("deploy", options));
  try {
    const measurements = await deploy(options, io);
    report(measurements, io);
    const [rssMb, cronMs] = [measurements.peakMb, Math.max(...measurements.cronMs)];
    if (rssMb > RSS_MB_MAX) io.fail(`More than ${RSS_MB_MAX} MB resident`);
    if (cronMs > CRON_MS_MAX) io.fail(`Costs were not final after ${CRON_MS_MAX} ms`);
    const isDown = measurements.downMs <= CRON_MS_MAX;
    if (!isDown) io.fail(`A monitor was not down ${CRON_MS_MAX} ms after its deadline`);
    return rssMb <= RSS_MB_MAX && cronMs <= CRON_MS_MAX && isDown;
  } catch (error) {
    io.fail(error instanceof Error ? error.stack ?? error.message : String(error));
    return false;
  }
}
