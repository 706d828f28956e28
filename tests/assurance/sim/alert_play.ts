/** Plays sequences of commands about alerts: runs that end, rules, silences, and what users do: `deno task assure sim-alerts`. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { command as anyCommand, defined, restart, sideSequences, withFaults } from "./command.ts";
import { call } from "./commands.ts";
import { CHECKS } from "./alert_outcomes.ts";
import { type AlertPlay, beginAlerts, CHANNEL, compareAlerts, readJson } from "./alert_running.ts";
import { createPlayer, createRun, type Side } from "./play.ts";
import { act, changeRule, type RuleCall } from "./alert_state.ts";
import { firingOf, incidentsOf } from "./alert_reads.ts";
import { settings } from "./alert_settings.ts";
import { anyMonitorCall, change, pass } from "./monitor_commands.ts";
import { type MonitorCall, waitingOutcomes } from "./monitor_state.ts";
import { doWork, passAllDeadlines } from "./running.ts";
import { type Fields, instant, type Request } from "./shape.ts";
import type { World } from "./world.ts";

const command = anyCommand<AlertPlay>;

const RUN_IDS = Array.from({ length: 12 }, (_, n) => `run_eu_${`${n}`.padStart(32, "0")}`);

/** Milliseconds between a change of a rule, or an act, and the runs before and after it. */
const APART_MS = 5;

/** Milliseconds in which the clock sees a change of a rule. */
const RULE_MS = 3_000;

/** Milliseconds after which everything is looked at. */
const DUE_MS = 60_000;

/**
 * Runs by number. Heartbeats have their own: an opening that follows one moves its outcome, also past
 * what users did about it.
 */
const runNumber = fc.nat(RUN_IDS.length / 2 - 1);
const heartbeatNumber = runNumber.map((n) => n + RUN_IDS.length / 2);

/** A run's agent and customer follow from its number. */
function labelsOf(n: number): Fields {
  return { agent: n % 3 === 2 ? "bee" : "ant", ...n % 2 === 1 ? { customer_id: "acme" } : {} };
}

/** A run that another one starts, which is not stored; other runs have no parent. */
function parentOf(n: number): string | undefined {
  return n % 3 === 1 ? `run_eu_${"f".repeat(32)}` : undefined;
}

const runCall = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(
      heartbeatNumber,
      fc.constantFrom("fail", "fail", "fail", "timeout", "ok", "ok", "cancelled"),
      fc.constantFrom(0, 0, 0, 0, 0, 172_800_000),
      fc.constantFrom(undefined, undefined, 0.1, 3),
    ).map(([n, status, agoMs, cost_usd]) => (nowMs: number): Request => ({
      call: "heartbeat",
      fields: defined({
        ...{ id: RUN_IDS[n], ...labelsOf(n), status, cost_usd },
        finished_at: instant(nowMs - agoMs),
      }),
    })),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(runNumber, fc.constantFrom(undefined, 60, 3_600), fc.boolean())
      .map(([n, idle_timeout_seconds, isFailed]) => (nowMs: number): Request => ({
        call: "open",
        fields: defined({
          ...{ id: RUN_IDS[n], ...labelsOf(n), started_at: instant(nowMs) },
          parent_run_id: parentOf(n),
          idle_timeout_seconds,
          idle_timeout_status: idle_timeout_seconds && isFailed ? "failed" : undefined,
        }),
      })),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(runNumber, fc.nat(9), fc.constantFrom(10, 400_000)).map(
      ([n, event, input_tokens]) => (nowMs: number): Request => ({
        call: "events",
        id: RUN_IDS[n] ?? "",
        fields: {
          events: [{
            id: `evt_eu_${`${event}`.padStart(32, "0")}`,
            type: "llm_call",
            ts: instant(nowMs),
            data: { provider: "acme", model: "atlas", input_tokens },
          }],
        },
      }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(
      runNumber,
      fc.constantFrom("failed", "failed", "timeout", "success", "cancelled"),
    ).map(([n, status]) => (nowMs: number): Request => ({
      call: "finish",
      id: RUN_IDS[n] ?? "",
      fields: { status, finished_at: instant(nowMs) },
    })),
  },
);

const afterMs = fc.constantFrom(0, 0, 0, 1, 1, 1_000, 1_000, 61_000, 21_607_000, 93_600_000);

const calls = fc.tuple(runCall, afterMs).map(([make, ms]) =>
  command(`call ${JSON.stringify(make(0))} after ${ms} ms`, async (play, world) => {
    await elapse(play, world, ms);
    // Outcomes that wait together are counted in any order, which shows in the flips of monitors.
    if (waitingOutcomes(play.state).length > 0) await doWork(play, world);
    await withFaults(play, () => call(play, world, make(world.nowMs)));
  }, ({ alerts }) => !canBeIdle(make(0).fields) || Object.keys(alerts.acts).length === 0)
);

/** The close of such a run may move, also past what users did about its incident. */
function canBeIdle({ idle_timeout_seconds }: Fields): boolean {
  return idle_timeout_seconds !== undefined;
}

/** The worker does what it can, in spite of faults. */
const WORK = command("work", (play, world) => withFaults(play, () => world.work()));

/** Lets time pass; after a while everything is looked at, as the clock would have done. */
async function elapse(play: AlertPlay, world: World, ms: number): Promise<void> {
  if (ms < DUE_MS) world.nowMs += ms;
  else await pass(play, world, ms);
}

const slug = fc.constantFrom("failures", "often", "often", "other", "missed");

const rules = fc.record({ slug, settings }).map((sent: RuleCall) =>
  command(`rule ${JSON.stringify(sent)}`, async (play, world) => {
    await apart(play, world);
    const path = `/v1/rules/${sent.slug}`;
    const { status, text } = sent.settings === null
      ? await world.send("DELETE", path)
      : await world.send("PUT", path, JSON.stringify(sent.settings));
    const [alerts, wanted] = changeRule(play.alerts, sent, world.nowMs);
    assertEquals(status, wanted, text);
    play.alerts = alerts;
    // The clock ends the incidents of the version before.
    await pass(play, world, RULE_MS);
  })
);

/** Everything that waits is done before a change, and what comes later is later. */
async function apart(play: AlertPlay, world: World): Promise<void> {
  await passAllDeadlines(play, world);
  world.nowMs += APART_MS;
}

const acts = fc.record({
  nth: fc.nat(5),
  what: fc.constantFrom("acknowledge" as const, "resolve" as const),
}).map(({ nth, what }) =>
  command(`${what} incident ${nth}`, async (play, world) => {
    await apart(play, world);
    const read = (path: string) => readJson(world, path);
    const open = await incidentsOf(read, "state=unresolved&limit=500");
    if (open.length === 0) return;
    const incident = open[nth % open.length];
    const verb = what === "acknowledge" ? "ack" : "resolve";
    const send = () =>
      world.send("POST", `/v1/incidents/${incident.id}/${verb}`, '{"note":"seen"}');
    const answers = [await send(), await send()];
    for (const { status, text } of answers) assertEquals(status, 200, text);
    const [first, again] = answers.map(({ text }) => JSON.parse(text));
    assertEquals(again, first, "an act that is repeated changes nothing");
    assert(first.state === (what === "resolve" ? "resolved" : "acknowledged"));
    const { rule, group } = firingOf(incident);
    const isNew = incident.state === "open" || what === "resolve";
    if (isNew) play.alerts = act(play.alerts, rule, group, { at: world.nowMs, what });
    await apart(play, world);
  }, ({ state }) => !Object.values(state.runs).some(({ opening = {} }) => canBeIdle(opening)))
);

const silences = fc.record({
  slug: fc.constantFrom("night", "day"),
  rule: fc.constantFrom(null, "often", "failures"),
  ms: fc.constantFrom(null, 30_000, 7_200_000),
}).map(({ slug, rule, ms }) =>
  command(`silence ${slug} of ${rule} for ${ms} ms`, async (play, world) => {
    await apart(play, world);
    const { nowMs } = world;
    const path = `/v1/silences/${slug}`;
    const untilMs = nowMs + (ms ?? 0);
    const body = {
      match: { rules: rule === null ? [] : [rule], agents: [], customers: [] },
      until: instant(untilMs),
      comment: "work",
    };
    const { status, text } = ms === null
      ? await world.send("DELETE", path)
      : await world.send("PUT", path, JSON.stringify(body));
    const isKnown = play.silences.has(slug);
    assertEquals(status, ms !== null ? 202 : isKnown ? 200 : 404, text);
    play.silence(slug, ms === null ? null : { rule, fromMs: nowMs, untilMs }, nowMs);
    await apart(play, world);
  })
);

const monitors = anyMonitorCall.map((sent: MonitorCall) =>
  command(JSON.stringify(sent), async (play, world) => {
    await apart(play, world);
    await change(play, world, sent);
    await apart(play, world);
  })
);

const passes = fc.constantFrom(2_000, 65_000, 400_000, 4_000_000, 90_000_000).map((ms) =>
  command(`pass ${ms} ms`, (play, world) => pass(play, world, ms))
);

const absences = fc.constantFrom(62_000, 3_600_000).map((ms) =>
  command(`absent for ${ms} ms`, async (play, world) => {
    world.nowMs += ms;
    await passAllDeadlines(play, world);
  })
);

const RESTART = command("restart", restart);

const COMPARE = command("compare", compareAlerts);

const sequences = sideSequences<AlertPlay>(
  { weight: 60, arbitrary: calls },
  { weight: 9, arbitrary: fc.constant(WORK) },
  { weight: 9, arbitrary: rules },
  { weight: 6, arbitrary: acts },
  { weight: 4, arbitrary: silences },
  { weight: 4, arbitrary: monitors },
  { weight: 6, arbitrary: passes },
  { weight: 2, arbitrary: absences },
  { weight: 2, arbitrary: fc.constant(RESTART) },
  { weight: 3, arbitrary: fc.constant(COMPARE) },
);

export const ALERTS_SIDE: Side<AlertPlay> = {
  begin: beginAlerts,
  ...sequences,
  async prepare(world) {
    // Runs that are stuck are looked at each minute, which takes long in days.
    await world.send("DELETE", "/v1/rules/stuck");
    const put = async (path: string, body: unknown) => {
      const { status, text } = await world.send("PUT", path, JSON.stringify(body));
      assertEquals(status, 202, text);
    };
    await put(`/v1/channels/${CHANNEL.slug}`, CHANNEL.body);
    for (const [slug, { expression, severity }] of Object.entries(CHECKS)) {
      await put(`/v1/checks/${slug}`, { expression, severity });
    }
  },
  compare: compareAlerts,
};

export const playAlertSeed = createPlayer(ALERTS_SIDE);

export const run = createRun("sim-alerts", playAlertSeed);
