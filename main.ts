/** Composition root: settings, store, application, server, and the way down. */
import { startBackground } from "./background.ts";
import { parseConfig } from "./config.ts";
import { Deadlines } from "./domain/deadlines.ts";
import { BODY_DEADLINE_MS } from "./domain/limits.ts";
import { createRequestLimits } from "./domain/plan/rate_limit.ts";
import type { Environment } from "./domain/ports.ts";
import { createCredentialStore, ensureFirstTeam } from "./kv/teams/credentials.ts";
import { isShared, openStore, StoreRefused } from "./kv/open.ts";
import { createAgentStore } from "./kv/teams/agents.ts";
import { RateSlices } from "./kv/teams/rate_slices.ts";
import { createRateCardStore } from "./kv/teams/rate_cards.ts";
import { createUsageStore } from "./kv/teams/usage.ts";
import { createSpendStore } from "./kv/pipeline/rollups.ts";
import { createRunStore } from "./kv/runs/run_store.ts";
import { isReady } from "./kv/store.ts";
import { createLineLog } from "./log.ts";
import { createMailer } from "./mail.ts";
import { createApp } from "./routes/app.ts";
import { type RunningServer, serve } from "./routes/serve.ts";
import { TIMERS } from "./kv/deadline.ts";
import { stopOnSignals } from "./shutdown.ts";
import { announce, EXIT, fatal, reportUnhandled } from "./terminal.ts";

const parsed = parseConfig(Deno.env.toObject(), Deno.args);
if (!parsed.ok) fatal(EXIT.settings, ["Cannot start with these settings:", ...parsed.problems]);
const { config } = parsed;
const environment: Environment = {
  now: () => Date.now(),
  random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
};

const store = await openStore(config.kv, undefined, config.queue).catch((error) => {
  if (error instanceof StoreRefused) fatal(EXIT.store, [error.message]);
  throw error;
});
const { region, refusedKey: refusedSecret } = config;
const credentials = createCredentialStore(store, environment, { region, refusedSecret });
const first = await ensureFirstTeam(store, credentials, environment, config);

// Who has its ledger alone keeps its buckets in memory.
const slices = isShared(config.kv) ? new RateSlices(store) : null;
const bodyDeadlines = new Deadlines(BODY_DEADLINE_MS, TIMERS);
const log = createLineLog(Deno.stdout);
const rateCards = createRateCardStore(store, environment);
const { worker, sweep, reprices, deletions } = startBackground(
  store,
  rateCards,
  environment,
  log.write,
  config.smtpUrl === null ? null : createMailer(config.smtpUrl),
);
const app = createApp({
  region,
  runs: createRunStore(store, rateCards),
  credentials,
  spend: createSpendStore(store),
  usage: createUsageStore(store),
  agents: createAgentStore(store),
  rateCards,
  reprices,
  deletions,
  environment,
  limits: createRequestLimits(TIMERS.now, (api) => slices?.bucketsFor(api)),
  bodyDeadlines,
  ready: () => isReady(store),
  draining: () => shutdown.begun(),
  log: log.write,
});
const server = listen();
// Whatever bell was lost: once a minute the worker looks by itself.
const clock = new AbortController();
sweep.start();
Deno.cron("wake the worker", "* * * * *", { signal: clock.signal }, () => worker.wake());
const shutdown = stopOnSignals(drain, exit);
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  reportUnhandled(event.reason);
});
announce(server.url, config, first.createdKey);

function listen(): RunningServer {
  const { host, port } = config;
  try {
    return serve(app.fetch, host, port);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return fatal(EXIT.settings, [`Cannot listen on ${host}:${port}: ${why}: change HOST or PORT`]);
  }
}

/** Lets requests under way finish and keeps every acknowledged write. */
async function drain(): Promise<void> {
  await server.drain();
  clock.abort();
  await Promise.all([worker.stop(), sweep.stop(), slices?.stop()]);
  await store.close();
  bodyDeadlines[Symbol.dispose]();
  log.flush();
}

/** Ends the process at once, with the log lines that are still gathered. */
function exit(code: number): never {
  log.flush();
  Deno.exit(code);
}
