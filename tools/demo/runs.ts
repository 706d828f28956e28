/**
 * Generates the demo's runs and requests from a seed and an instant.
 *
 * Each day's work depends only on the seed and the day, so overlapping demos agree. Of today, only
 * work up to now is sent; a later demo sends the rest.
 */
import { EVENTS_PER_BATCH_MAX } from "../../domain/core/limits.ts";
import { type Region, uuid7Hex } from "../../domain/core/ids.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { CUSTOMERS, type Ending, research, triage, watch, type Work } from "./agents.ts";
import { nightly } from "./nightly.ts";
import { Random } from "../random.ts";
import { type DemoCall, type DemoRun, type DemoScenario, upTo } from "./run.ts";

export const DAY_MS = 86_400_000;

/** Number of complete days before today. */
const DAYS_BEFORE = 7;

/** Interval of watches. They overlap, so that one is always in progress. */
const WATCH_EVERY_MS = 3 * 3_600_000, WATCH_OVERLAP_MS = 300_000;

/** Runs of each agent by weekday; Sunday is 0. Nightly reports run every day. */
const LOAD = { triage: [11, 21, 21, 21, 21, 21, 11], research: [4, 6, 6, 6, 6, 6, 4] } as const;

/** Scenario of the first triage by weekday; other runs end at random. */
const TRIAGE_STORIES: Readonly<Record<number, DemoScenario>> = {
  2: "timeout",
  3: "out of order",
  4: "delivered twice",
  5: "cancelled",
};

/**
 * Returns all runs of the seven days before today and of today up to an instant, earliest first.
 *
 * @param nowMs unix milliseconds
 */
export function demoRuns(seed: number, nowMs: number, region: Region): DemoRun[] {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const days = Array.from(
    { length: DAYS_BEFORE + 1 },
    (_, i) => todayMs - (DAYS_BEFORE - i) * DAY_MS,
  );
  return days.flatMap((dayMs) => {
    const random = new Random(`${seed}:${formatInstant(dayMs).slice(0, 10)}`);
    const runs = [
      ...triages(random, dayMs, region),
      ...researches(random, dayMs, region),
      ...CUSTOMERS.map((customer) => nightly({ random, dayMs, region, customer })),
      ...aroundTheClock(random, dayMs, region),
    ];
    return runs.sort((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
  }).flatMap((run) => upTo(run, nowMs) ?? []);
}

/**
 * Returns a failed run at the start of the day and watches: there is always a failed run and a
 * running one.
 */
function aroundTheClock(random: Random, dayMs: number, region: Region): DemoRun[] {
  const first = triage(random, dayMs + 1_000, "failed");
  const watches = Array.from({ length: DAY_MS / WATCH_EVERY_MS }, (_, i) => {
    const startMs = dayMs + i * WATCH_EVERY_MS;
    return watch(random, startMs, startMs + WATCH_EVERY_MS + WATCH_OVERLAP_MS);
  });
  return [
    toRun(newId(random, "run", region, first.startMs), first, "failed", random),
    ...watches.map((work) => toRun(newId(random, "run", region, work.startMs), work, null, random)),
  ];
}

function triages(random: Random, dayMs: number, region: Region): DemoRun[] {
  const weekday = new Date(dayMs).getUTCDay();
  return Array.from({ length: LOAD.triage[weekday] ?? 0 }, (_, i) => {
    const story = i === 0 ? TRIAGE_STORIES[weekday] ?? null : null;
    const work = triage(random, officeHour(random, dayMs), endingOf(story) ?? anyEnding(random));
    return toRun(newId(random, "run", region, work.startMs), work, story, random);
  });
}

function researches(random: Random, dayMs: number, region: Region): DemoRun[] {
  const weekday = new Date(dayMs).getUTCDay();
  const start = () => officeHour(random, dayMs);
  const runs: DemoRun[] = [];
  const add = (work: Work, story: DemoScenario | null = null) => {
    const run = toRun(newId(random, "run", region, work.startMs), work, story, random);
    runs.push(run);
    return run;
  };
  const parent = add(
    research(random, start(), { ending: "success", rounds: random.int(30, 60) }),
    "with children",
  );
  // Children start within their parent's time.
  for (const afterMs of [60_000, 90_000]) {
    const task = { ending: "success", rounds: random.int(4, 9), parentId: parent.id } as const;
    add(research(random, parent.startMs + afterMs, task));
  }
  const unknownModel = weekday === 5;
  const rounds = random.int(8, 16);
  add(
    research(random, start(), { ending: "success", rounds, unknownModel }),
    unknownModel ? "unknown model" : null,
  );
  while (runs.length < (LOAD.research[weekday] ?? 0)) {
    const task = { ending: anyEnding(random), rounds: random.int(6, 30) };
    add(research(random, start(), task));
  }
  return runs;
}

/** Returns an instant between 07:00 and 18:00. */
function officeHour(random: Random, dayMs: number): number {
  return dayMs + random.int(7 * 3_600_000, 18 * 3_600_000);
}

function endingOf(story: DemoScenario | null): Ending | null {
  switch (story) {
    case "failed":
    case "timeout":
    case "cancelled":
      return story;
    case "out of order":
    case "delivered twice":
      return "success";
    default:
      return null;
  }
}

function anyEnding(random: Random): Ending {
  if (random.chance(0.06)) return "failed";
  if (random.chance(0.03)) return "timeout";
  return random.chance(0.02) ? "cancelled" : "success";
}

/** Returns an id as clients make them: a UUIDv7 of its instant. */
export function newId(random: Random, prefix: "run" | "evt", region: Region, ms: number): string {
  return `${prefix}_${region}_${uuid7Hex(ms, random.bytes(10))}`;
}

function toRun(id: string, work: Work, story: DemoScenario | null, random: Random): DemoRun {
  const { agent, startMs, endMs } = work;
  const region: Region = id.startsWith("run_us_") ? "us" : "eu";
  const open = { id, agent, started_at: formatInstant(startMs), ...work.opening };
  const finish = { status: work.ending, finished_at: formatInstant(endMs), ...work.closing };
  const events = work.events.map((event) => ({
    id: newId(random, "evt", region, event.ts),
    ...event,
    ts: formatInstant(event.ts),
  }));
  const parts: Parts = {
    open: { path: "/v1/runs", body: open },
    // An out-of-order run needs at least two batches.
    batches: inBatches(events, story === "out of order" ? 3 : EVENTS_PER_BATCH_MAX)
      .map((batch) => ({ path: `/v1/runs/${id}/events`, body: { events: batch } })),
    finish: { path: `/v1/runs/${id}/finish`, body: finish },
  };
  return { id, agent, story, startMs, endMs, calls: delivery(parts, story) };
}

interface Parts {
  readonly open: DemoCall;
  readonly batches: readonly DemoCall[];
  readonly finish: DemoCall;
}

/**
 * Returns requests in delivery order: networks and retrying clients do not keep the order of
 * events.
 */
function delivery({ open, batches, finish }: Parts, story: DemoScenario | null): DemoCall[] {
  const [first, ...later] = batches;
  const early = first === undefined ? [] : [first];
  switch (story) {
    case "out of order":
      return [finish, ...later, open, ...early];
    case "delivered twice":
      return [open, open, ...batches, ...batches, finish, finish];
    default:
      return [open, ...batches, finish];
  }
}

function inBatches<T>(items: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += size) batches.push(items.slice(at, at + size));
  return batches;
}
