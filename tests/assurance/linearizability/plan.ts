/** Which calls clients send: the same for the same seed, though not when each takes effect. */
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import type { Random } from "../../../tools/random.ts";
import type { Call, Ending, Item } from "./calls.ts";

/** A call to send, and how long its client waits for the answer. */
export interface Planned {
  readonly run: number;
  readonly call: Call;
  readonly patienceMs: number;
}

/** Few runs at a time, each called often, so that clients race for them. */
export const RUNS_PER_GROUP = 4;
const CALLS_PER_RUN = 16;

/** Event ids of a run; batches take some of them, maybe one twice. */
const EVENTS = 10, ITEMS_MAX = 4;

/** Part of the calls that are sent once more, that have a flaw, and whose clients give up early. */
const AGAIN = 0.25, FLAWED = 0.06, HASTY = 0.03;

/** How long clients wait; the hasty leave while the call is on its way, mostly. */
export const PATIENCE_MS = { long: 10_000, shortMax: 6 } as const;

/** Kinds of calls, as often as they are sent. */
const KINDS = [
  ...["open", "open", "start", "beat", "ping", "finish", "finish"],
  ...["events", "events", "events", "events", "read", "read", "read"],
] as [Call["kind"], ...Call["kind"][]];

/** Kinds of calls that open a run by a heartbeat. */
const BEATS: readonly Call["kind"][] = ["start", "beat", "ping"];

/**
 * Calls to one run: it is opened by `POST /v1/runs` or by heartbeats. Of both the first replaces what the
 * others opened it with, and a part that is replaced leaves nothing that says which call stored it.
 */
function kindsOf(random: Random): readonly [Call["kind"], ...Call["kind"][]] {
  const isOpened = random.chance(0.5);
  return KINDS.filter((kind) => isOpened ? !BEATS.includes(kind) : kind !== "open") as typeof KINDS;
}

const ENDINGS: readonly [Ending, ...Ending[]] = ["ok", "ok", "fail", "timeout"];
const COSTS_USD: readonly [number | null, ...(number | null)[]] = [null, null, 0, 0.0025, 0.015];

/** Plans the calls to a group of runs, in the order in which clients take them. */
export function planGroup(random: Random, firstRun: number, startedAt: readonly string[]) {
  const planned: Planned[] = [];
  for (let run = firstRun; run < firstRun + RUNS_PER_GROUP; run++) {
    const calls: Call[] = [];
    const kinds = kindsOf(random);
    for (let n = 0; n < CALLS_PER_RUN; n++) {
      const known = calls[random.int(0, calls.length - 1)];
      const again = known !== undefined && random.chance(AGAIN);
      const call = again ? known : newCall(random, kinds, calls.length, startedAt);
      if (!again) calls.push(call);
      const hasty = random.chance(HASTY);
      const patienceMs = hasty ? random.int(0, PATIENCE_MS.shortMax) : PATIENCE_MS.long;
      planned.push({ run, call, patienceMs });
    }
  }
  return shuffled(random, planned);
}

function newCall(
  random: Random,
  kinds: ReturnType<typeof kindsOf>,
  by: number,
  startedAt: readonly string[],
): Call {
  // Mostly one agent and one start, so that most calls agree.
  const agent = random.chance(0.9) ? "atlas" : "boreas";
  const sent = startedAt[random.chance(0.9) ? 0 : 1] ?? "";
  const kind = random.pick(kinds);
  if (kind === "read") return { by, flawed: false, kind };
  const flawed = random.chance(FLAWED);
  switch (kind) {
    case "open":
      return { by, flawed, kind, agent, startedAt: sent };
    case "start":
    case "beat":
    case "ping": {
      const silent = random.chance(0.5);
      const costUsd = random.pick(COSTS_USD);
      const beat = { by, flawed, agent, startedAt: silent ? null : sent, costUsd };
      return kind === "start" ? { ...beat, kind } : { ...beat, kind, ending: random.pick(ENDINGS) };
    }
    case "finish":
      return { by, flawed, kind, status: random.pick(FINISH_STATUSES) };
    case "events":
      return { by, flawed, kind, items: itemsOf(random) };
  }
}

function itemsOf(random: Random): Item[] {
  return Array.from({ length: random.int(1, ITEMS_MAX) }, () => ({
    event: random.int(0, EVENTS - 1),
    tokens: random.int(1, 1_000),
  }));
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const all = [...list];
  for (let n = all.length - 1; n > 0; n--) {
    const other = random.int(0, n);
    [all[n], all[other]] = [all[other] as T, all[n] as T];
  }
  return all;
}
