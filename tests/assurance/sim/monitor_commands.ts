/** Commands of a sequence that change monitors, and time that passes while the clock turns. */
import { assert } from "@std/assert";
import fc from "fast-check";
import { changeMonitor, type MonitorCall } from "./monitor_state.ts";
import { checkMonitor } from "./monitor_reads.ts";
import { doWork, passAllDeadlines, type Play } from "./running.ts";
import { CRON_LINES, defaultGrace, type Schedule } from "./schedules.ts";
import { instant } from "./shape.ts";
import type { World, WorldResponse } from "./world.ts";

/** Maximum attempts of one call: more than there are faults in a sequence. */
const ATTEMPTS_MAX = 100;

/** Milliseconds after which a deadline can be judged. */
const LATE_MS = 2_000;

/** Changes a monitor over the API and in the model; compares the responses. */
export async function change(play: Play, world: World, call: MonitorCall): Promise<void> {
  await doWork(play, world);
  const [next, status] = changeMonitor(play.state, call, world.nowMs);
  const answers: WorldResponse[] = [];
  do {
    answers.push(await send(world, call));
    const isAgain = play.isFaulty && answers.length < ATTEMPTS_MAX;
    assert(isAgain || answers.at(-1)?.status !== 503, "never acknowledged");
  } while (answers.at(-1)?.status === 503);
  const [, again] = changeMonitor(next, call, world.nowMs);
  const answer = answers.at(-1) as WorldResponse;
  const allowed = answers.length === 1 ? [status] : [status, again];
  assert(allowed.includes(answer.status), `${answer.status}, not ${allowed}: ${answer.text}`);
  play.state = next;
  if (answer.status >= 400 || call.what === "delete") return;
  checkMonitor(JSON.parse(answer.text), next, call.agent);
}

/** Lets time pass while the clock turns each second; judges only when something is due. */
export async function pass(play: Play, world: World, ms: number): Promise<void> {
  const untilMs = world.nowMs + ms;
  await passAllDeadlines(play, world);
  for (;;) {
    const dueMs = await world.nextDueMs();
    if (dueMs === null || dueMs + LATE_MS > untilMs) break;
    await world.passTo(dueMs + LATE_MS);
    await passAllDeadlines(play, world);
  }
  await world.passTo(untilMs);
  await passAllDeadlines(play, world);
}

function send(world: World, call: MonitorCall): Promise<WorldResponse> {
  const path = `/v1/agents/${encodeURIComponent(call.agent)}/monitor`;
  switch (call.what) {
    case "put":
      return world.send("PUT", path, JSON.stringify(call.settings));
    case "delete":
      return world.send("DELETE", path);
    case "resume":
      return world.send("POST", `${path}/resume`);
    case "pause": {
      const { forMs = null, sticky = false } = call;
      const until = forMs === null ? null : instant(world.nowMs + forMs);
      return world.send("POST", `${path}/pause`, JSON.stringify({ until, sticky }));
    }
    default:
      return call.what satisfies never;
  }
}

const agent = fc.constantFrom("ant", "ant", "ant", "bee");
const schedule: fc.Arbitrary<Schedule> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(60, 300, 3_600).map((n) => ({ every_seconds: n })) },
  { weight: 2, arbitrary: fc.constantFrom(...CRON_LINES) },
);
const put = fc.record({
  agent,
  schedule,
  grace_seconds: fc.constantFrom(undefined, 0, 60, 600, 3_600),
  failure_threshold: fc.constantFrom(undefined, 1, 1, 2, 3),
  recovery_threshold: fc.constantFrom(undefined, 1, 1, 2),
  enabled: fc.constantFrom(undefined, true, true, true, false),
}).map(({ agent, grace_seconds, ...settings }): MonitorCall => ({
  what: "put",
  agent,
  settings: { ...settings, grace_seconds: grace_seconds ?? defaultGrace(settings.schedule) },
}));
const pause = fc.record({
  agent,
  forMs: fc.constantFrom(null, 1_000, 300_000),
  sticky: fc.boolean(),
}).map((fields): MonitorCall => ({ what: "pause", ...fields }));
const other = fc.record({ agent, what: fc.constantFrom("delete" as const, "resume" as const) });

export const anyMonitorCall: fc.Arbitrary<MonitorCall> = fc.oneof(
  { weight: 5, arbitrary: put },
  { weight: 2, arbitrary: pause },
  { weight: 2, arbitrary: other },
);

/** Milliseconds that pass in one command. */
export const passed = fc.constantFrom(2_000, 59_000, 65_000, 400_000, 4_000_000, 90_000_000);
