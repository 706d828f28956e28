/**
 * The service under load, in a process of its own, over one of these stores:
 *
 * - `ours`: the ledger on disk as it ships;
 * - `sweeping`: the same with the nightly sweep at work;
 * - `workless`: the first without the worker behind the requests;
 * - `alone`: that with a commit of its own for each write;
 * - `queued`: one commit with one queue message for each finish, and a consumer of the queue;
 * - `checked`: one commit with one checked key for each event;
 * - `nothing`: nothing is kept, which shows what everything else costs.
 *
 * Usage: server.ts KIND FILE [TEAMS]; says on stderr where it listens.
 */
import { startBackground } from "../background.ts";
import { Deadlines } from "../domain/deadlines.ts";
import { decideFinish, decideHeartbeat, decideOpen } from "../domain/run/decide.ts";
import { decideAppend, EMPTY_LEDGER } from "../domain/run/ledger.ts";
import { BODY_DEADLINE_MS } from "../domain/limits.ts";
import { createRequestLimits } from "../domain/plan/rate_limit.ts";
import type { RunStore } from "../domain/ports.ts";
import { createRateCard } from "../domain/money/rate_card.ts";
import { createCredentialStore } from "../kv/teams/credentials.ts";
import { TIMERS } from "../kv/deadline.ts";
import type { BackEnd } from "../kv/kv_limits.ts";
import { openStore } from "../kv/open.ts";
import { createAgentStore } from "../kv/teams/agents.ts";
import { createRateCardStore } from "../kv/teams/rate_cards.ts";
import { TeamCommits } from "../kv/pipeline/team_commits.ts";
import { createRepriceStore } from "../kv/reprice/reprice_jobs.ts";
import { createDeletionStore } from "../kv/retention/deletions.ts";
import { createSpendStore } from "../kv/pipeline/rollups.ts";
import { createRunStore } from "../kv/runs/run_store.ts";
import type { Store } from "../kv/store.ts";
import { createUsageStore } from "../kv/teams/usage.ts";
import { createLineLog } from "../log.ts";
import { createApp } from "../routes/app.ts";
import { serve } from "../routes/serve.ts";
import { consumeFinished, createBaseline } from "./baselines.ts";
import type { SideKind } from "./sides.ts";
import { createTeams } from "./teams.ts";

/** Limits that no second write fits into; a first one always does. */
const ALONE: BackEnd = { checksMax: 0, mutationsMax: 0, bytesMax: 0, keyBytesMax: 0 };

/** Prices calls where nothing is kept too: only the storing is left out. */
const CARD = createRateCard([]);

const NO_PARTS = { opening: null, closing: null };
const keepNothing: RunStore = {
  open: (_, request, at) => Promise.resolve(decideOpen(NO_PARTS, request, at).outcome),
  finish: (_, __, request, at) => Promise.resolve(decideFinish(NO_PARTS, request, at).outcome),
  heartbeat: (_, request, at) =>
    Promise.resolve(decideHeartbeat(NO_PARTS, request, at, CARD).outcome),
  append(_, __, events, at) {
    const { fresh, duplicates } = decideAppend(EMPTY_LEDGER, new Set(), events, at, CARD);
    return Promise.resolve({ kind: "stored", accepted: fresh.length, duplicates });
  },
  read: () => Promise.resolve(null),
};

/** The runs are in `file`; the credentials of a baseline are in memory. */
async function runsOf(kind: SideKind, file: string, store: Store): Promise<RunStore> {
  if (kind === "nothing") return keepNothing;
  if (onDisk) return createRunStore(store, rateCards);
  const kv = await Deno.openKv(file);
  if (kind === "queued") consumeFinished(kv);
  return createBaseline(kv);
}

const [name = "ours", file = ":memory:", teams = "1"] = Deno.args;
const kind = name as SideKind;
const whole = kind === "ours" || kind === "sweeping";
const onDisk = whole || kind === "workless" || kind === "alone";
const limits = kind === "alone" ? ALONE : undefined;
const store = await openStore(onDisk ? file : ":memory:", limits, whole);
const environment = {
  now: () => Date.now(),
  random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
};
await createTeams(store, Number(teams));
const rateCards = createRateCardStore(store, environment);
const log = createLineLog(Deno.stdout).write;
const { reprices, deletions, sweep } = whole
  ? startBackground(store, rateCards, environment, log)
  : {
    reprices: createRepriceStore(store, rateCards, environment),
    deletions: createDeletionStore(store, new TeamCommits(store), environment.now),
    sweep: null,
  };
if (kind === "sweeping") sweep?.start();
const app = createApp({
  region: "eu",
  runs: await runsOf(kind, file, store),
  credentials: createCredentialStore(store, environment, { region: "eu", refusedSecret: null }),
  rateCards,
  spend: createSpendStore(store),
  usage: createUsageStore(store),
  agents: createAgentStore(store),
  reprices,
  deletions,
  environment,
  limits: createRequestLimits(() => performance.now()),
  bodyDeadlines: new Deadlines(BODY_DEADLINE_MS, TIMERS),
  ready: () => Promise.resolve(true),
  draining: () => false,
  log,
});
const server = serve(app.fetch, "127.0.0.1", 0);
Deno.stderr.writeSync(new TextEncoder().encode(`${server.url}\n`));
