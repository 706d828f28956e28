/** Plays sequences of commands about checks: runs, changes of checks, deletions, and restarts: `deno task assure sim-checks`. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { command as anyCommand, defined, restart, sideSequences, withFaults } from "./command.ts";
import { call } from "./commands.ts";
import { beginChecks, type CheckPlay, compareChecks, judged } from "./check_running.ts";
import { createPlayer, createRun, type Side } from "./play.ts";
import { DEFAULT_RULES } from "./run_play.ts";
import { changeCheck, type CheckCall, forget } from "./check_state.ts";
import { EXPRESSIONS } from "./checks.ts";
import { pass } from "./monitor_commands.ts";
import { type Fields, instant, type Request } from "./shape.ts";
import type { World } from "./world.ts";

const command = anyCommand<CheckPlay>;

/** Numbers of runs; those from the half on are heartbeats. */
const RUNS = 10, EVENTS = 16;

/** Milliseconds after which everything is looked at. */
const DUE_MS = 60_000;

/** First instant of events; their numbers give their order. */
const EVENTS_MS = Date.UTC(2026, 10, 21, 11);

const runId = (n: number) => `run_eu_${`${n}`.padStart(32, "0")}`;
const slugs = ["a-first", "b.second", "c_third", "d-fourth"] as const;

/** A run follows from its number. */
function labelsOf(n: number): Fields {
  return defined({
    agent: ["ant", "bee", "ape"][n % 3],
    customer_id: n % 2 === 1 ? "acme" : undefined,
    feature: n % 4 === 1 ? "chat" : undefined,
  });
}

/** Data of an event follow from its number, so that a repeated one is the same. */
function eventOf(n: number): Fields {
  const [type, data] = [
    ["llm_call", { provider: "acme", model: "atlas", input_tokens: 10 * n, output_tokens: 3 }],
    ["tool_call", { name: "search", input: n % 3 === 0 ? { a: 1, b: [2] } : { b: [2], a: 1 } }],
    ["tool_call", { name: n % 5 === 0 ? "remove" : "search", input: "x" }],
    ["score", { name: "quality", value: n % 3 === 0 ? 0.2 : 0.9 }],
    ["llm_call", { provider: "acme", model: "zenith", input_tokens: 7 }],
    ["tool_call", { name: "fetch", error: n % 4 === 1 ? "it broke" : "" }],
    ["error", { message: "it broke" }],
    ["tool_call", { name: "search", input: { b: [2], a: 1 } }],
  ][n % 8] as [string, Fields];
  const id = `evt_eu_${`${n}`.padStart(32, "0")}`;
  return { id, type, ts: instant(EVENTS_MS + n * 1_000), data };
}

const runNumber = fc.nat(RUNS / 2 - 1);
const heartbeatNumber = runNumber.map((n) => n + RUNS / 2);
const agoMs = fc.constantFrom(0, 0, 30_000, 90_000, 86_400_000);

const runCall = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(runNumber, agoMs, fc.constantFrom(undefined, undefined, 60)).map(
      ([n, ago, idle_timeout_seconds]) => (nowMs: number): Request => ({
        call: "open",
        fields: defined({
          ...{ id: runId(n), ...labelsOf(n), started_at: instant(nowMs - ago) },
          idle_timeout_seconds,
        }),
      }),
    ),
  },
  {
    weight: 8,
    arbitrary: fc.tuple(
      runNumber,
      fc.uniqueArray(fc.nat(EVENTS - 1), { minLength: 1, maxLength: 4 }),
    )
      .map(
        ([n, numbers]) => (): Request => ({
          call: "events",
          id: runId(n),
          fields: { events: numbers.map(eventOf) },
        }),
      ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(
      runNumber,
      fc.constantFrom("success", "success", "failed", "timeout", "cancelled"),
      fc.constantFrom(undefined, { answer: 42 }, { answer: 7 }, { other: 42 }),
      fc.constantFrom(undefined, undefined, { quality: 0.2 }, { quality: 0.9, other: true }),
    ).map(([n, status, output, scores]) => (nowMs: number): Request => ({
      call: "finish",
      id: runId(n),
      fields: defined({ status, output, scores, finished_at: instant(nowMs) }),
    })),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(
      heartbeatNumber,
      fc.constantFrom("ok", "ok", "fail", "start", "cancelled"),
      fc.constantFrom(undefined, 0.1, 0.7),
      fc.constantFrom(undefined, 5_000, 70_000),
    ).map(([n, status, cost_usd, duration_ms]) => (nowMs: number): Request => ({
      call: "heartbeat",
      fields: defined({
        ...{ id: runId(n), ...labelsOf(n), status },
        ...status === "start" ? { started_at: instant(nowMs) } : { cost_usd, duration_ms },
      }),
    })),
  },
);

const afterMs = fc.constantFrom(0, 0, 1, 1_000, 1_000, 61_000, 21_607_000);

const calls = fc.tuple(runCall, afterMs).map(([make, ms]) => {
  const { id, fields } = make(0);
  return command(`call ${JSON.stringify(make(0))} after ${ms} ms`, async (play, world) => {
    if (ms < DUE_MS) world.nowMs += ms;
    else await elapse(play, world, ms);
    await withFaults(play, () => call(play, world, make(world.nowMs)));
  }, ({ deleted }) => !deleted.has(id ?? String(fields.id)));
});

async function elapse(play: CheckPlay, world: World, ms: number): Promise<void> {
  await judged(play, world);
  await pass(play, world, ms);
  await judged(play, world);
}

const WORK = command("work", (play, world) => withFaults(play, () => world.work()));

const ALL = {
  kinds: ["run", "heartbeat"],
  statuses: ["success", "failed", "timeout", "cancelled"],
};

const settings = fc.record({
  expression: fc.constantFrom(...Object.keys(EXPRESSIONS)),
  agents: fc.constantFrom(["*"], ["*"], ["*"], ["ant"], ["a*", "zoo"]),
  kinds: fc.constantFrom(ALL.kinds, ALL.kinds, ALL.kinds, ["run"]),
  statuses: fc.constantFrom(ALL.statuses, ALL.statuses, ["success"], ["failed", "timeout"]),
  features: fc.constantFrom([], [], [], ["chat"]),
  severity: fc.constantFrom("fail" as const, "fail" as const, "warn" as const, "info" as const),
  sample: fc.constantFrom(1, 1, 1, 0.5),
  enabled: fc.constantFrom(true, true, true, true, false),
});

const changes = fc.record({
  slug: fc.constantFrom(...slugs),
  settings: fc.oneof(
    { weight: 4, arbitrary: settings },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
}).map((sent: CheckCall) =>
  command(`check ${JSON.stringify(sent)}`, async (play, world) => {
    await judged(play, world);
    await change(play, world, sent);
  })
);

/** Changes a check over the API and in the model; the runs that are judged already stay as they are. */
async function change(play: CheckPlay, world: World, sent: CheckCall): Promise<void> {
  const { slug, settings } = sent;
  const path = `/v1/checks/${slug}`;
  const { status, text } = settings === null
    ? await world.send("DELETE", path)
    : await world.send("PUT", path, JSON.stringify(settings));
  const [next, wanted] = changeCheck(play.checks, sent);
  assertEquals(status, wanted, text);
  const check = next.checks[slug];
  if (status >= 400 || check === undefined) {
    play.checks = next;
    return;
  }
  const { id, version } = JSON.parse(text);
  assertEquals(version, check.version, text);
  assertEquals(id, check.id || id, text);
  play.checks = { ...next, checks: { ...next.checks, [slug]: { ...check, id } } };
}

const deletions = fc.nat(RUNS - 1).map((n) => {
  const id = runId(n);
  return command(`delete ${id}`, async (play, world) => {
    await judged(play, world);
    const { status, text } = await world.send("DELETE", `/v1/runs/${id}`);
    assertEquals(status, 200, text);
    const { [id]: _, ...runs } = play.state.runs;
    play.state = { ...play.state, runs };
    play.checks = forget(play.checks, id);
    play.deleted.add(id);
    await judged(play, world);
  }, ({ state }) => state.runs[id] !== undefined);
});

const passes = fc.constantFrom(2_000, 65_000, 90_000_000).map((ms) =>
  command(`pass ${ms} ms`, (play, world) => elapse(play, world, ms))
);

const RESTART = command("restart", restart);

const COMPARE = command("compare", compareChecks);

const sequences = sideSequences<CheckPlay>(
  { weight: 60, arbitrary: calls },
  { weight: 10, arbitrary: fc.constant(WORK) },
  { weight: 20, arbitrary: changes },
  { weight: 3, arbitrary: deletions },
  { weight: 5, arbitrary: passes },
  { weight: 2, arbitrary: fc.constant(RESTART) },
  { weight: 3, arbitrary: fc.constant(COMPARE) },
);

export const CHECKS_SIDE: Side<CheckPlay> = {
  begin: beginChecks,
  ...sequences,
  async prepare(world) {
    // Incidents have a simulation of their own.
    for (const rule of DEFAULT_RULES) await world.send("DELETE", `/v1/rules/${rule}`);
  },
  compare: compareChecks,
};

export const playCheckSeed = createPlayer(CHECKS_SIDE);

export const run = createRun("sim-checks", playCheckSeed);
