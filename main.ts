/** Process entry point: load config, open the store, serve, shut down gracefully. */
import { helpFor } from "./app/config.ts";
import { Memory } from "./runtime/memory.ts";
import { createRequestLimits } from "./runtime/rate_limit.ts";
import { TIMERS } from "./runtime/deadlines.ts";
import { LendableLeadership } from "./runtime/loop.ts";
import { sealKeysOf } from "./kv/channels/seal.ts";
import { isShared } from "./kv/location.ts";
import { RateSlices } from "./kv/teams/rate_slices.ts";
import { FLUSH_MS_MAX, LineLog } from "./app/request_log.ts";
import { resolveHost } from "./outbound/http.ts";
import { createMailer } from "./outbound/mail.ts";
import { createModels } from "./outbound/models.ts";
import { ProcessMetrics } from "./app/metrics.ts";
import { type RunningServer, serve } from "./app/server.ts";
import { createService, type Service } from "./app/compose.ts";
import { stopOnSignals } from "./app/shutdown.ts";
import {
  announce,
  EXIT,
  fatal,
  flushConsole,
  reportUnhandled,
  say,
  showHelp,
} from "./app/console.ts";
import { ensureFirstKey, ENVIRONMENT, openLedger, readConfig } from "./app/start.ts";

/** Milliseconds of one run of the background work: it ends before the next one begins. */
const WORK_MS_MAX = 50_000;

const help = helpFor(Deno.args);
if (help !== null) {
  showHelp(help);
  Deno.exit(0);
}
const config = await readConfig();
const { platform } = config;
// A platform reads the crons before the first request, and starts an instance for each run.
const clock = new AbortController();
const started = Promise.withResolvers<Service>();
Deno.cron("background work", "* * * * *", { signal: clock.signal }, work);

const memory = new Memory(config.memoryMb);
const store = await openLedger(config, memory);
// A process with its own ledger keeps its rate buckets in memory.
const slices = isShared(config.kv) ? new RateSlices(store, TIMERS, performance.timeOrigin) : null;
const log = new LineLog(platform.log, memory.bytesMax("log"));
memory.register("log", () => log.bytes);
const processMetrics = new ProcessMetrics(config.region);
const signInLink = config.dev && config.key !== null
  ? { code: ENVIRONMENT.random(16).toHex(), secret: config.key }
  : null;
const leadership = new LendableLeadership();
const sealKeys = sealKeysOf(config.kv, config.sealKey);
const service = createService({
  timers: TIMERS,
  leadership,
  loadSamples: config.dev && !isShared(config.kv) ? loadSamplesInUse : null,
  store,
  environment: ENVIRONMENT,
  region: config.region,
  isShared: isShared(config.kv),
  pollsForWork: store.workerSignal.bell === null,
  silentMsMax: platform.silentMsMax,
  clockGapMaxMs: platform.clockGapMaxMs,
  dev: config.dev,
  refusedSecret: config.refusedKey,
  operatorKey: config.operatorKey,
  signInLink,
  limits: createRequestLimits(TIMERS.now, (api) => slices?.bucketsFor(api), memory),
  sealKeys,
  mailer: config.mail && createMailer(config.mail.url, config.mail.from),
  egress: config.egress,
  models: createModels({
    connections: config.connections,
    keyOf: (variable) => Deno.env.get(variable),
    resolve: resolveHost,
    now: ENVIRONMENT.now,
  }),
  publicUrl: config.publicUrl,
  processFamilies: () => [...processMetrics.families(), ...log.families()],
  log: log.write,
  onOtherFormat: end,
  draining: () => shutdown.begun(),
});
const firstKey = await ensureFirstKey(config, store);
if (config.demo) await loadSamples();
service.start();
const server = await listen();
service.sweep.start();
const shutdown = stopOnSignals(platform.drainMs, drain, exit);
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  reportUnhandled("rejection", event.reason);
});
globalThis.addEventListener("error", (event) => {
  event.preventDefault();
  reportUnhandled("error", event.error);
});
announce(server.url, config, firstKey, signInLink);
started.resolve(service);

/** Fills the ledger of a developer with sample runs, unless it has agents. */
async function loadSamples(): Promise<void> {
  const { key, region } = config;
  if (key === null) return;
  say("Loading 30 days of sample runs");
  const { loadSamples } = await import("./tools/demo/load.ts");
  const runs = await loadSamples({ store, sealKeys, region, key, nowMs: Date.now() });
  say(runs === 0 ? "Nothing loaded: the ledger has agents already" : `Loaded ${runs} runs`);
}

/** The same while the service runs. */
async function loadSamplesInUse(): Promise<void> {
  await leadership.lend(loadSamples);
  // The store wakes the worker of the samples' service since then.
  service.start();
}

/** Does the work that is due; a platform may stop the instance when this resolves. */
async function work(): Promise<void> {
  const service = await started.promise;
  await service.workFor(WORK_MS_MAX);
}

/** Ends the process, because a newer version has changed the format of the ledger. */
async function end({ message }: Error): Promise<void> {
  say(message);
  // The lease may be read before the process serves.
  await started.promise;
  await shutdown.stop(EXIT.store);
}

function listen(): RunningServer | Promise<never> {
  const { host, port, overriddenBy } = config;
  const { drainMs } = platform;
  try {
    const isAddressOverridden = overriddenBy !== null;
    return serve(service.app.fetch, host, port, { isAddressOverridden, drainMs });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // A port below 1024 needs a right; a busy port, or an address that is not up, needs time.
    const isDenied = error instanceof Deno.errors.PermissionDenied;
    return fatal(isDenied ? EXIT.settings : EXIT.retry, [
      `Cannot listen on ${host}:${port}: ${reason}: ` +
      (isDenied ? "change HOST or PORT" : "start again, or change HOST or PORT"),
    ]);
  }
}

/** Lets requests in progress finish, and keeps every acknowledged write. */
async function drain(): Promise<void> {
  say("Stopping: new calls get 503, calls in progress are answered");
  service.leave();
  await server.drain();
  clock.abort();
  processMetrics.stop();
  await Promise.all([service.stop(), slices?.stop(), service.writeCounts(true)]);
  await store.close();
  say("Stopped: everything acknowledged is stored");
  // A write blocked on its reader would keep the process alive; so does the cron of a platform.
  if (!await flushLogs() || platform.isHosted) Deno.exit();
}

/** Flushes the log as far as possible, and ends the process. */
async function exit(code: number): Promise<never> {
  say("Stopped before all calls in progress were answered: clients repeat them");
  await flushLogs();
  Deno.exit(code);
}

/** Flushes the log and the console; returns whether everything was written. */
async function flushLogs(): Promise<boolean> {
  const flushed = await Promise.all([log.flush(FLUSH_MS_MAX), flushConsole(FLUSH_MS_MAX)]);
  return flushed.every(Boolean);
}
