/**
 * Generates a week of runs and their requests from a seed and an instant.
 *
 * Each day's work depends only on the seed and the day. Of today, there is only the work up to now.
 */
import { type Region, uuid7Hex } from "../../../domain/core/ids.ts";
import { EVENTS_PER_BATCH_MAX } from "../../../domain/core/limits.ts";
import { formatInstant, parseInstant } from "../../../domain/core/time.ts";
import type { Json, SampleCall } from "../../../tools/demo/sample_run.ts";
import { Random } from "../../../tools/random.ts";
import {
  CUSTOMERS,
  type Ending,
  nightly,
  research,
  triage,
  watch,
  type Work,
} from "./week_agents.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Number of complete days before today. */
const DAYS_BEFORE = 7;

/** Interval of watches. They overlap, so that one is always in progress. */
const WATCH_EVERY_MS = 3 * HOUR_MS, WATCH_OVERLAP_MS = 300_000;

/** Runs of each agent by weekday; Sunday is 0. Nightly reports run every day. */
const LOAD = { triage: [11, 21, 21, 21, 21, 21, 11], research: [4, 6, 6, 6, 6, 6, 4] } as const;

/** Scenarios that runs demonstrate. */
type DemoScenario =
  | "with children"
  | "running"
  | "failed"
  | "out of order"
  | "delivered twice"
  | "unknown model"
  | "started, then closed"
  | "never came back";

/** Ending and scenario of the first triage by weekday; other runs end at random. */
const FIRST_TRIAGES: Readonly<Record<number, readonly [Ending, DemoScenario | null]>> = {
  2: ["timeout", null],
  3: ["success", "out of order"],
  4: ["success", "delivered twice"],
  5: ["cancelled", null],
};

/** A request of a run. */
type WeekCall = Pick<SampleCall, "path" | "body">;

/** A run and its requests, in the order in which they are sent. */
export interface DemoRun {
  readonly id: string;
  readonly agent: string;
  readonly scenario: DemoScenario | null;
  /** Unix milliseconds. */
  readonly startMs: number;
  /** Unix milliseconds; null if the run never ends. */
  readonly endMs: number | null;
  readonly calls: readonly WeekCall[];
}

/**
 * Returns all runs of the seven days before today and of today up to an instant, earliest first.
 *
 * @param nowMs unix milliseconds
 */
export function demoRuns(seed: number, nowMs: number, region: Region): DemoRun[] {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return Array.from({ length: DAYS_BEFORE + 1 }, (_, i) => todayMs - (DAYS_BEFORE - i) * DAY_MS)
    .flatMap((dayMs) => runsOfDay(seed, dayMs, region))
    .flatMap((run) => upTo(run, nowMs) ?? []);
}

function runsOfDay(seed: number, dayMs: number, region: Region): DemoRun[] {
  const random = new Random(`${seed}:${formatInstant(dayMs).slice(0, 10)}`);
  const weekday = new Date(dayMs).getUTCDay();
  const runs: DemoRun[] = [];
  const add = (work: Work, scenario: DemoScenario | null = null): DemoRun => {
    const run = toRun(random, region, work, scenario);
    runs.push(run);
    return run;
  };
  const officeHour = () => dayMs + random.int(7 * HOUR_MS, 18 * HOUR_MS);
  // There is always a failed run of today and a running one.
  add(triage(random, dayMs + 1_000, "failed"), "failed");
  for (let ms = dayMs; ms < dayMs + DAY_MS; ms += WATCH_EVERY_MS) {
    add(watch(random, ms, ms + WATCH_EVERY_MS + WATCH_OVERLAP_MS));
  }
  const [ending, scenario] = FIRST_TRIAGES[weekday] ?? [anyEnding(random), null];
  add(triage(random, officeHour(), ending), scenario);
  for (let n = 1; n < (LOAD.triage[weekday] ?? 0); n++) {
    add(triage(random, officeHour(), anyEnding(random)));
  }
  const long = { ending: "success", rounds: random.int(30, 60) } as const;
  const parent = add(research(random, officeHour(), long), "with children");
  // Children start within their parent's time.
  for (const afterMs of [60_000, 90_000]) {
    const task = { ending: "success", rounds: random.int(4, 9), parent: parent.id } as const;
    add(research(random, parent.startMs + afterMs, task));
  }
  const isUnpriced = weekday === 5;
  const notes = { ending: "success", rounds: random.int(16, 24), isUnpriced } as const;
  add(research(random, officeHour(), notes), isUnpriced ? "unknown model" : null);
  for (let n = 4; n < (LOAD.research[weekday] ?? 0); n++) {
    const task = { ending: anyEnding(random), rounds: random.int(6, 30) };
    add(research(random, officeHour(), task));
  }
  for (const customer of CUSTOMERS) {
    add(nightly(random, dayMs, customer), nightlyScenario(customer, weekday));
  }
  return runs.sort((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
}

function nightlyScenario(customer: string, weekday: number): DemoScenario | null {
  if (customer === "acme") return "started, then closed";
  return customer === "umbrella" && weekday === 6 ? "never came back" : null;
}

function anyEnding(random: Random): Ending {
  if (random.chance(0.06)) return "failed";
  if (random.chance(0.03)) return "timeout";
  return random.chance(0.02) ? "cancelled" : "success";
}

function toRun(random: Random, region: Region, work: Work, scenario: DemoScenario | null): DemoRun {
  // As clients make them: a UUIDv7 of its instant.
  const newId = (prefix: "run" | "evt", ms: number) =>
    `${prefix}_${region}_${uuid7Hex(ms, random.bytes(10))}`;
  const { agent, startMs, endMs } = work;
  const id = newId("run", startMs);
  const opening = { id, agent, started_at: formatInstant(startMs), ...work.opening };
  const closing = { finished_at: formatInstant(endMs), ...work.closing };
  const run = { id, agent, scenario, startMs, endMs };
  if (work.events.length === 0) {
    const bodies = beats(opening, closing, scenario);
    const calls = bodies.map((body) => ({ path: "/v1/heartbeats", body }));
    return { ...run, endMs: bodies.at(-1)?.finished_at === undefined ? null : endMs, calls };
  }
  const events = work.events.map((event) => ({
    id: newId("evt", event.ts),
    ...event,
    ts: formatInstant(event.ts),
  }));
  const open = { path: "/v1/runs", body: opening };
  // An out-of-order run needs at least two batches.
  const size = scenario === "out of order" ? 3 : EVENTS_PER_BATCH_MAX;
  const batches = Array.from({ length: Math.ceil(events.length / size) }, (_, n) => ({
    path: `/v1/runs/${id}/events`,
    body: { events: events.slice(n * size, (n + 1) * size) },
  }));
  const finish = { path: `/v1/runs/${id}/finish`, body: closing };
  return { ...run, calls: delivered(open, batches, finish, scenario) };
}

/** Returns the heartbeats of a job: one for all, or one for each of start and end. */
function beats(opening: Json, closing: Json, scenario: DemoScenario | null): readonly Json[] {
  const start = { ...opening, status: "start" };
  if (scenario === "never came back") return [start];
  if (scenario !== "started, then closed") return [{ ...opening, ...closing }];
  // The closing call names only the run and its end; the server has the rest from the start.
  const { id, agent } = opening;
  return [start, { id, agent, ...closing }];
}

/**
 * Returns requests in delivery order: networks and retrying clients do not keep the order of
 * events.
 */
function delivered(
  open: WeekCall,
  batches: readonly WeekCall[],
  finish: WeekCall,
  scenario: DemoScenario | null,
): WeekCall[] {
  if (scenario === "out of order") {
    return [finish, ...batches.slice(1), open, ...batches.slice(0, 1)];
  }
  const calls = [open, ...batches, finish];
  return scenario === "delivered twice" ? calls.flatMap((call) => [call, call]) : calls;
}

/** Cuts a run at an instant, unix milliseconds; null if no call was sent by then. */
function upTo(run: DemoRun, nowMs: number): DemoRun | null {
  if (run.endMs !== null && run.endMs <= nowMs) return run;
  const calls = run.calls.flatMap((call) => callsUpTo(call, nowMs));
  // A heartbeat that reports a complete run has nothing to send before its end.
  if (calls.length === 0) return null;
  return { ...run, endMs: null, scenario: run.endMs === null ? run.scenario : "running", calls };
}

function callsUpTo({ path, body }: WeekCall, nowMs: number): WeekCall[] {
  const isPast = (instant: unknown) => (parseInstant(String(instant)) ?? Infinity) <= nowMs;
  if (!Array.isArray(body.events)) {
    return isPast(body.finished_at ?? body.started_at) ? [{ path, body }] : [];
  }
  const events = body.events.filter(({ ts }: { readonly ts: string }) => isPast(ts));
  return events.length === 0 ? [] : [{ path, body: { events } }];
}
