/** Monitors in the store after any steps of two processes, compared with the pure rules. */
import { assert, assertEquals } from "@std/assert";
import {
  addOutcomes,
  changeSettings,
  evaluateMonitor,
  type Monitor,
  type MonitorChange,
  nextDueAt,
  pauseMonitor,
  resumeMonitor,
  runOutcome,
} from "../../../domain/monitors/monitor.ts";
import type { Outcome } from "../../../domain/outcomes/window.ts";
import { SEED } from "../../support/harness/seed.ts";
import { run, TEAM } from "../../support/builders/stored_runs.ts";
import { NOON } from "../../support/harness/harness.ts";
import { HOURLY, MINUTE, MonitorProcess } from "../../support/harness/monitor_process.ts";
import { TempStore } from "../../support/harness/temp_store.ts";
import { verifyStore } from "../../../kv/integrity/integrity.ts";

import fc from "fast-check";

/** A step of one of two processes, some minutes after the step before. */
const step = fc.record({
  what: fc.constantFrom(
    ...[
      "success",
      "failed",
      "cancelled",
      "work",
      "work",
      "evaluate",
      "evaluate",
      "put",
      "pause",
      "resume",
    ],
  ),
  process: fc.nat(1),
  minutes: fc.constantFrom(1, 5, 20, 61),
  value: fc.nat(3),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** The result of the pure rules for one monitor. */
class Model {
  readonly waiting: Outcome[] = [];
  readonly flips: string[] = [];

  constructor(public monitor: Monitor) {}

  apply(change: MonitorChange | null): void {
    if (change === null) return;
    this.monitor = change.monitor;
    this.flips.push(...change.flips.map(({ at, from, to }) => `${at} ${from}>${to}`));
  }
}

async function take(
  { what, process, value }: Step,
  n: number,
  nowMs: number,
  processes: readonly [MonitorProcess, MonitorProcess],
  model: Model,
): Promise<void> {
  const here = process === 0 ? processes[0] : processes[1];
  const made = { by: "key_1", at: nowMs };
  switch (what) {
    case "success":
    case "failed":
    case "cancelled": {
      await here.close(n, nowMs, what);
      const kind = what === "success" ? "good" : "bad";
      if (what !== "cancelled") model.waiting.push(runOutcome(kind, run(n), nowMs));
      return;
    }
    case "work":
      await here.work();
      return model.apply(addOutcomes(model.monitor, model.waiting.splice(0)));
    case "evaluate": {
      const oldest = model.waiting[0]?.at ?? Infinity;
      const turn = { nowMs, absences: [], summarizedToMs: Math.min(nowMs, oldest - 1) };
      const rows = await here.due(turn.summarizedToMs);
      await here.handler.handle(rows, turn, new AbortController().signal);
      return model.apply(rows.length === 0 ? null : evaluateMonitor(model.monitor, turn));
    }
    case "put": {
      const settings = { ...HOURLY, failureThreshold: value + 1, enabled: value > 0 };
      await here.put(settings, nowMs);
      return model.apply(changeSettings(model.monitor, settings, made));
    }
    case "pause": {
      const untilMs = value === 0 ? null : nowMs + value * 30 * MINUTE;
      const pause = { untilMs, isSticky: value % 2 === 1 };
      await here.monitors.pause(TEAM, "a", pause, made);
      return model.apply(pauseMonitor(model.monitor, pause, nowMs));
    }
    default:
      await here.monitors.resume(TEAM, "a", made);
      return model.apply(model.monitor.pause && resumeMonitor(model.monitor, nowMs));
  }
}

Deno.test("monitors: any steps of two processes end as the rules say, with one row of the due index", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      await using temp = await TempStore.open();
      const processes = [new MonitorProcess(temp.store), new MonitorProcess(temp.store)] as const;
      const [here] = processes;
      await here.close(0, NOON);
      await here.work();
      const model = new Model((await here.put()).record.monitor);
      let nowMs = NOON;
      for (const [i, each] of steps.entries()) {
        nowMs += each.minutes * MINUTE;
        await take(each, i + 1, nowMs, processes, model);
        const stored = await here.read();
        assert(stored !== null);
        const { dueAt } = stored;
        assertEquals(stored, { ...model.monitor, dueAt });
        const due = await here.due();
        assertEquals(due.map(({ at }) => at), dueAt === null ? [] : [dueAt]);
        const next = nextDueAt(stored, nowMs, 0);
        assert(next === null || dueAt !== null && dueAt <= next, `${dueAt} is after ${next}`);
      }
      const page = { fromMs: 0, toMs: Infinity, limit: 500, after: null };
      const { flips } = await here.monitors.flips(TEAM, "a", page);
      const [, ...changes] = flips.toReversed().map(({ at, from, to }) => `${at} ${from}>${to}`);
      assertEquals(changes, model.flips);
      assertEquals((await verifyStore(temp.store)).differences, []);
    }),
    { seed: SEED, numRuns: 6 },
  );
});
