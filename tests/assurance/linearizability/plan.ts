/** Plan of the calls that clients send: deterministic for a seed, unlike the order of effects. */
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import type { Random } from "../../../tools/random.ts";
import type { Call, Ending, Item } from "./calls.ts";

/** A call to send, and its client's timeout. */
export interface Planned {
  readonly run: number;
  readonly call: Call;
  readonly patienceMs: number;
}

/** Few runs at a time with many calls each, so that clients race for them. */
export const RUNS_PER_GROUP = 4;
const CALLS_PER_RUN = 16;

/** Event ids of a run; a batch has up to four, possibly with a repetition. */
const EVENTS = 10, ITEMS_MAX = 4;

/** Fractions of calls that are resent, that have a flaw, and whose clients give up early. */
const AGAIN = 0.25, FLAWED = 0.06, HASTY = 0.03;

/** Timeouts of clients; the short one usually expires while the call is in flight. */
export const PATIENCE_MS = { long: 10_000, shortMax: 6 } as const;

/** Kinds of calls, weighted by repetition. */
const KINDS = [
  ...["open", "open", "start", "beat", "ping", "finish", "finish"],
  ...["events", "events", "events", "events", "read", "read", "read"],
] as [Call["kind"], ...Call["kind"][]];

const ENDINGS: readonly [Ending, ...Ending[]] = ["ok", "ok", "fail", "timeout"];
const COSTS_USD: readonly [number | null, ...(number | null)[]] = [null, null, 0, 0.0025, 0.015];

/** Plans the calls to a group of runs, in the order in which clients send them. */
export function planGroup(random: Random, firstRun: number, startedAt: readonly string[]) {
  const planned: Planned[] = [];
  for (let run = firstRun; run < firstRun + RUNS_PER_GROUP; run++) {
    const calls: Call[] = [];
    for (let n = 0; n < CALLS_PER_RUN; n++) {
      const earlier = calls[random.int(0, calls.length - 1)];
      const again = earlier !== undefined && random.chance(AGAIN);
      const call = again ? earlier : newCall(random, calls.length, startedAt);
      if (!again) calls.push(call);
      const hasty = random.chance(HASTY);
      const patienceMs = hasty ? random.int(0, PATIENCE_MS.shortMax) : PATIENCE_MS.long;
      planned.push({ run, call, patienceMs });
    }
  }
  return shuffled(random, planned);
}

function newCall(random: Random, by: number, startedAt: readonly string[]): Call {
  // Usually one agent and one start, so that most calls agree.
  const agent = random.chance(0.9) ? "atlas" : "boreas";
  const start = startedAt[random.chance(0.9) ? 0 : 1] ?? "";
  const kind = random.pick(KINDS);
  if (kind === "read") return { by, flawed: false, kind };
  const flawed = random.chance(FLAWED);
  switch (kind) {
    case "open":
      return { by, flawed, kind, agent, startedAt: start };
    case "start":
    case "beat":
    case "ping": {
      const silent = random.chance(0.5);
      const costUsd = random.pick(COSTS_USD);
      const beat = { by, flawed, agent, startedAt: silent ? null : start, costUsd };
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
