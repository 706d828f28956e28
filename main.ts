/** Process entry point: load config, open the store, serve, shut down gracefully. */
import { helpFor, KEY_REQUIRED, parseConfig } from "./app/config.ts";
import { isOfStore, StorageUnavailable } from "./domain/core/errors.ts";
import { Memory } from "./domain/core/memory.ts";
import { createRequestLimits } from "./domain/teams/rate_limit.ts";
import type { Environment } from "./domain/core/environment.ts";
import { TIMERS } from "./kv/base/deadline.ts";
import { isShared, openStore, withAccessToken } from "./kv/open.ts";
import { StoreRefused } from "./kv/refused.ts";
import { ensureFirstTeam, KeyRequired } from "./kv/teams/credentials.ts";
import { RateSlices } from "./kv/teams/rate_slices.ts";
import { FLUSH_MS_MAX, LineLog } from "./app/request_log.ts";
import { createMailer } from "./outbound/mail.ts";
import { ProcessMetrics } from "./app/process_metrics.ts";
import { type RunningServer, serve } from "./app/server.ts";
import { createService } from "./app/compose.ts";
import { stopOnSignals } from "./app/shutdown.ts";
import { announce, EXIT, fatal, flushConsole, reportUnhandled, showHelp } from "./app/console.ts";

const help = helpFor(Deno.args);
if (help !== null) {
  showHelp(help);
  Deno.exit(0);
}
const parsed = parseConfig(Deno.env.toObject(), Deno.args);
const config = parsed.ok ? parsed.config : await refuseSettings(parsed.problems);
const environment: Environment = {
  now: () => Date.now(),
  random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
};

const memory = new Memory(config.memoryMb);
const store = await withAccessToken(config.kvToken, () => openStore(config.kv, memory))
  .catch(refuseStore);
// A process with its own ledger keeps its rate buckets in memory.
const slices = isShared(config.kv) ? new RateSlices(store, TIMERS, performance.timeOrigin) : null;
const log = new LineLog(Deno.stdout, memory.bytesMax("log"));
memory.register("log", () => log.bytes);
const processMetrics = new ProcessMetrics(config.region);
const signInLink = config.dev && config.key !== null
  ? { code: environment.random(16).toHex(), secret: config.key }
  : null;
const service = createService({
  timers: TIMERS,
  store,
  environment,
  region: config.region,
  isShared: isShared(config.kv),
  dev: config.dev,
  refusedSecret: config.refusedKey,
  operatorKey: config.operatorKey,
  signInLink,
  limits: createRequestLimits(TIMERS.now, (api) => slices?.bucketsFor(api), memory),
  mailer: config.smtpUrl === null ? null : createMailer(config.smtpUrl),
  processFamilies: () => [...processMetrics.families(), ...log.families()],
  log: log.write,
  draining: () => shutdown.begun(),
});
const firstTeam = { ...config, isShared: isShared(config.kv) };
const first = await ensureFirstTeam(store, environment, firstTeam).catch(refuseStore);
service.start();
const server = await listen();
// The worker also polls once a minute, in case a signal was lost.
const clock = new AbortController();
Deno.cron("wake the worker", "* * * * *", { signal: clock.signal }, () => service.worker.wake());
Deno.cron("write down last uses", "* * * * *", { signal: clock.signal }, writeUses);
Deno.cron("write down refusals", "* * * * *", { signal: clock.signal }, writeRefusals);
service.sweep.start();
const shutdown = stopOnSignals(drain, exit);
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  reportUnhandled("rejection", event.reason);
});
globalThis.addEventListener("error", (event) => {
  event.preventDefault();
  reportUnhandled("error", event.error);
});
announce(server.url, config, first.createdKey, signInLink);

/** Exits with a list of what is wrong with the settings. */
function refuseSettings(problems: readonly string[]): Promise<never> {
  return fatal(EXIT.settings, ["Cannot start with these settings:", ...problems]);
}

/** Exits with the reason why the store cannot be used. */
function refuseStore(error: unknown): Promise<never> {
  if (error instanceof KeyRequired) return refuseSettings([KEY_REQUIRED]);
  if (error instanceof StoreRefused) return fatal(EXIT.store, [error.message]);
  if (!(error instanceof StorageUnavailable)) throw error;
  return fatal(EXIT.store, [`${error.message}: check the disk of ${config.kv}`]);
}

function listen(): RunningServer | Promise<never> {
  const { host, port } = config;
  try {
    return serve(service.app.fetch, host, port, { memory });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return fatal(EXIT.settings, [
      `Cannot listen on ${host}:${port}: ${reason}: change HOST or PORT`,
    ]);
  }
}

/** Lets requests in progress finish, and keeps every acknowledged write. */
async function drain(): Promise<void> {
  service.leave();
  await server.drain();
  clock.abort();
  processMetrics.stop();
  const uses = orLater(service.credentials.writeUses(true));
  await Promise.all([service.stop(), slices?.stop(), uses, writeRefusals()]);
  await store.close();
  // A write blocked on its reader would keep the process alive.
  if (!await flushLogs()) Deno.exit(0);
}

/** Stores the last use of credentials. */
function writeUses(): Promise<void> {
  return orLater(service.credentials.writeUses());
}

/** Stores the refused calls. */
function writeRefusals(): Promise<void> {
  return orLater(service.refusals.flush());
}

/** Ignores a store failure: the next write, a minute later, includes this data. */
async function orLater(written: Promise<void>): Promise<void> {
  try {
    await written;
  } catch (error) {
    if (!isOfStore(error)) throw error;
  }
}

/** Flushes the log as far as possible, and ends the process. */
async function exit(code: number): Promise<never> {
  await flushLogs();
  Deno.exit(code);
}

/** Flushes the log and the console; returns whether everything was written. */
async function flushLogs(): Promise<boolean> {
  const flushed = await Promise.all([log.flush(FLUSH_MS_MAX), flushConsole(FLUSH_MS_MAX)]);
  return flushed.every(Boolean);
}
