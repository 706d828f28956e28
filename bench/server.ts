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
import { TIMERS } from "../kv/base/deadline.ts";
import { createService } from "../app/compose.ts";
import { decideFinish, decideHeartbeat, decideOpen } from "../domain/runs/decide.ts";
import { decideAppend, EMPTY_LEDGER } from "../domain/runs/ledger.ts";
import { createRequestLimits } from "../domain/teams/rate_limit.ts";
import type { RunStore } from "../domain/runs/store.ts";
import { createRateCard } from "../domain/pricing/rate_card.ts";
import type { BackEnd } from "../kv/base/limits.ts";
import { openStore } from "../kv/open.ts";
import { createRateCardStore } from "../kv/rate_cards/rate_cards.ts";
import { createRunStore } from "../kv/runs/run_store.ts";
import type { Store } from "../kv/store.ts";
import { LineLog } from "../app/request_log.ts";
import { serve } from "../app/server.ts";
import { consumeFinished, createBaseline } from "./baselines.ts";
import type { SideKind } from "./sides.ts";
import { createTeams } from "./teams.ts";

/** Limits that no second write fits into; a first one always does. */
const ALONE: BackEnd = { checksMax: 0, mutationsMax: 0, bytesMax: 0, keyBytesMax: 0 };

/** Prices calls where nothing is kept too: only the storing is left out. */
const CARD = createRateCard([]);

const NO_PARTS = { opening: null, closing: null };
const NO_IDS = { isEmpty: true, has: () => false };
const keepNothing: RunStore = {
  open: (_, request, at) => Promise.resolve(decideOpen(NO_PARTS, request, at).outcome),
  finish: (_, __, request, at) => Promise.resolve(decideFinish(NO_PARTS, request, at).outcome),
  heartbeat: (_, request, at) =>
    Promise.resolve(decideHeartbeat(NO_PARTS, request, at, CARD).outcome),
  append(_, __, events, at) {
    const { fresh, duplicates } = decideAppend(EMPTY_LEDGER, NO_IDS, events, at, CARD);
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
const store = await openStore(onDisk ? file : ":memory:", limits);
const environment = {
  now: () => Date.now(),
  random: (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
};
await createTeams(store, Number(teams));
const rateCards = createRateCardStore(store, environment);
const service = createService({
  store,
  environment,
  timers: TIMERS,
  region: "eu",
  refusedSecret: null,
  limits: createRequestLimits(() => performance.now()),
  mailer: null,
  log: new LineLog(Deno.stdout, store.memory.bytesMax("log")).write,
  draining: () => false,
  parts: whole ? {} : { runs: await runsOf(kind, file, store) },
});
if (whole) service.start();
if (kind === "sweeping") service.sweep.start();
const server = serve(service.app.fetch, "127.0.0.1", 0);
Deno.stderr.writeSync(new TextEncoder().encode(`${server.url}\n`));
