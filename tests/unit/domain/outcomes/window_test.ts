/** The window of outcomes: what it makes does not depend on their order, for rules and monitors. */
import { assert, assertEquals } from "@std/assert";
import { isStored, newInstance, stateOf, withSignal } from "../../../../domain/alerts/instance.ts";
import type { Rule } from "../../../../domain/alerts/rule.ts";
import {
  deadlinesOf,
  failuresInRow,
  type Monitor,
  nextDueAt,
} from "../../../../domain/monitors/monitor.ts";
import {
  addOutcome,
  type Outcome,
  OUTCOMES_MAX,
  removeOutcome,
  resultOf,
  type Streak,
  streakAfter,
  type Thresholds,
  type Window,
} from "../../../../domain/outcomes/window.ts";
import { created, HOUR, type Kind, MINUTE, outcome, T0, Watched } from "../monitors/monitors.ts";

import fc from "fast-check";

const END = T0 + 24 * HOUR;

/** Returns the state of a group of a rule that counts outcomes, and whether it needs a row. */
function ruleAfter(outcomes: readonly Outcome[], { consecutive, resolveAfter }: Thresholds) {
  const condition = { kind: "run_failed", statuses: ["failed"], consecutive } as const;
  const rule = { slug: "rule", id: "rul_1", version: 1, settings: { condition, resolveAfter } };
  const group = newInstance(rule as unknown as Rule, { text: "", group: {} });
  const subject = { agent: null, customer: null, feature: null, model: null };
  const instance = outcomes.reduce(
    (instance, { at, key, kind, run }) =>
      withSignal(instance, rule as unknown as Rule, {
        ...{ kind: "run_failed", rule: null, subject, key, at, run, value: null },
        ...{ outcome: kind === "good" ? "good" : "bad", detail: "failed", error: null },
      }),
    group,
  );
  return [stateOf(instance, rule as unknown as Rule), isStored(instance, rule as unknown as Rule)];
}

/** Returns the state of a monitor that counts outcomes in batches, now and after all its deadlines. */
function monitorAfter(
  outcomes: readonly Outcome[],
  { consecutive, resolveAfter }: Thresholds,
  size: number,
  isNew: boolean,
) {
  const settings = { failureThreshold: consecutive, recoveryThreshold: resolveAfter };
  const watched = new Watched(created(settings, isNew ? null : T0 - HOUR));
  for (let i = 0; i < outcomes.length; i += size) watched.add(...outcomes.slice(i, i + size));
  const now = stateOfMonitor(watched.monitor);
  for (;;) {
    const due = nextDueAt(watched.monitor, watched.monitor.since, 0);
    if (due === null || due > END) return [now, stateOfMonitor(watched.monitor)];
    watched.evaluate(due);
  }
}

function stateOfMonitor(monitor: Monitor) {
  const { state, lastArrivalAt, lastOkAt } = monitor;
  return { state, lastArrivalAt, lastOkAt, ...deadlinesOf(monitor), fails: failuresInRow(monitor) };
}

/** Outcomes of 24 hours, before their end, each of a run once. */
const outcomes = fc.uniqueArray(
  fc.tuple(
    fc.integer({ min: 1, max: 1_439 }),
    fc.constantFrom<Kind>("good", "bad", "overrun"),
    fc.nat(40),
  ),
  { maxLength: OUTCOMES_MAX, selector: ([, kind, run]) => `${run} ${kind}` },
).map((all) => all.map(([minute, kind, run]) => outcome(T0 + minute * MINUTE, kind, run)));

/** Outcomes with the same in another order, some of them again. */
const orders = outcomes.chain((sent) =>
  fc.array(fc.nat(Math.max(0, sent.length - 1)), { maxLength: 20 }).chain((again) => {
    const length = sent.length + again.length;
    return fc.shuffledSubarray([...sent.keys(), ...again], {
      minLength: length,
      maxLength: length,
    });
  }).map((order) => ({ sent, mixed: order.flatMap((i) => sent[i] ?? []) }))
);

const limits = fc.record({
  consecutive: fc.integer({ min: 1, max: 6 }),
  resolveAfter: fc.integer({ min: 1, max: 4 }),
});

Deno.test("window: any order and repetition ends in the same state, of rules and of monitors", () => {
  const size = fc.integer({ min: 1, max: 8 });
  fc.assert(
    fc.property(orders, limits, size, fc.boolean(), ({ sent, mixed }, thresholds, size, isNew) => {
      const inOrder = sent.toSorted((a, b) => a.at - b.at);
      assertEquals(ruleAfter(mixed, thresholds), ruleAfter(inOrder, thresholds));
      assertEquals(
        monitorAfter(mixed, thresholds, size, isNew),
        monitorAfter(inOrder, thresholds, inOrder.length, isNew),
      );
    }),
    { numRuns: 2_000 },
  );
});

const EMPTY: Window<Streak> = {
  base: { at: 0, key: "", isFiring: false, bads: 0, goods: 0 },
  kept: [],
};

function step(before: Streak, each: Outcome): Streak {
  return streakAfter(before, each, { consecutive: 3, resolveAfter: 2 });
}

Deno.test("window: it keeps the latest outcomes and a missed deadline, and older ones change nothing", () => {
  const bads = Array.from({ length: 40 }, (_, i) => outcome(T0 + i, "bad"));
  const missed: Outcome = { ...outcome(T0 + 20, "bad"), key: "missed", kind: "missed", run: null };
  const full = [...bads, missed].reduce((window, each) => addOutcome(window, each, step), EMPTY);
  assertEquals([full.kept.length, full.base.bads, full.base.isFiring], [33, 8, true]);
  assertEquals(resultOf(full, step).bads, 40);
  assert(addOutcome(full, outcome(T0 + 1, "good", 77), step) === full);
  const passed = Array.from({ length: 20 }, (_, i) => outcome(T0 + 40 + i, "good"))
    .reduce((window, each) => addOutcome(window, each, step), full);
  assertEquals([passed.kept.length, passed.base.bads, passed.kept[0]?.kind], [32, 28, "bad"]);
});

Deno.test("window: a later outcome of a key replaces the earlier one, and one can be removed", () => {
  const run = outcome(T0 + 5, "bad");
  const window = addOutcome(EMPTY, run, step);
  const later = addOutcome(window, { ...run, at: T0 + 9, kind: "good" }, step);
  assertEquals(later.kept.map(({ at, kind }) => [at, kind]), [[T0 + 9, "good"]]);
  assertEquals(removeOutcome(later, run.key).kept, []);
  assert(removeOutcome(later, "another") === later);
});
