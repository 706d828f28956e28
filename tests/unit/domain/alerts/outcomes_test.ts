/** Outcomes of a group: when it fires, until when, and when it needs a row. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RunId } from "../../../../domain/core/ids.ts";
import {
  type AlertInstance,
  isStored,
  newInstance,
  stateOf,
  withSignal,
} from "../../../../domain/alerts/instance.ts";
import type { Rule, RuleCondition } from "../../../../domain/alerts/rule.ts";
import type { AlertSignal } from "../../../../domain/alerts/signal.ts";
import type { Thresholds } from "../../../../domain/outcomes/window.ts";

const THREE: Thresholds = { consecutive: 3, resolveAfter: 1 };

const SUBJECT = { agent: null, customer: null, feature: null, model: null };

/** A rule about failed runs; about runs that are stuck without thresholds. */
function aRule(thresholds: Thresholds | null, kind = "stuck"): Rule {
  const condition = thresholds === null
    ? { kind, reasons: ["missed"], seconds: 60 }
    : { kind: "run_failed", statuses: ["failed"], consecutive: thresholds.consecutive };
  const settings = {
    condition: condition as RuleCondition,
    match: { agents: [], customers: [], features: [] },
    groupBy: null,
    severity: "warning" as const,
    ...{ resolveAfter: thresholds?.resolveAfter ?? 1, renotifySeconds: 0, channels: [] },
    enabled: true,
  };
  return {
    ...{ slug: "rule", id: "rul_1", version: 1, createdAt: 0, updatedAt: 0, updatedBy: null },
    settings,
  };
}

/** A signal by its number: the time of its arrival and its key. */
function signal(n: number, outcome: AlertSignal["outcome"], rule: Rule): AlertSignal {
  const key = `run_${String(n).padStart(3, "0")}`;
  const { kind } = rule.settings.condition;
  const detail = kind === "missed" ? "missed" : "failed";
  return {
    ...{ kind, rule: null, subject: SUBJECT, key, at: n, outcome, run: key as RunId },
    ...{ value: null, detail, error: null },
  };
}

function instanceAfter(signals: readonly AlertSignal[], rule: Rule, before?: AlertInstance) {
  const start = before ?? newInstance(rule, { text: "", group: {} });
  return signals.reduce((instance, each) => withSignal(instance, rule, each), start);
}

/** An instance after outcomes by text: `b` is bad, `g` good, each a millisecond after the one before it. */
function named(text: string, rule: Rule): AlertInstance {
  const signals = Array.from(
    text,
    (letter, i) => signal(i + 1, letter === "b" ? "bad" : "good", rule),
  );
  return instanceAfter(signals, rule);
}

function result(text: string, thresholds: Thresholds | null = THREE) {
  const rule = aRule(thresholds);
  const { isFiring, count, runs } = stateOf(named(text, rule), rule);
  return { isFiring, count, runs: runs.length };
}

Deno.test("a group of more than 32 outcomes goes on counting", () => {
  const thresholds = { consecutive: 32, resolveAfter: 32 };
  const bad = "b".repeat(40);
  assertEquals(result(bad, thresholds), { isFiring: true, count: 40, runs: 20 });
  assertEquals(result(bad + "g".repeat(31), thresholds).isFiring, true);
  assertEquals(result(bad + "g".repeat(32), thresholds).isFiring, false);
});

Deno.test("a row is needed while a bad outcome is among the last ones, or it fires", () => {
  const needs = (text: string, thresholds = THREE) => {
    const rule = aRule(thresholds);
    return isStored(named(text, rule), rule);
  };
  assertEquals(needs("b"), true);
  assertEquals(needs("bgg"), true);
  assertEquals(needs("bggg"), false);
  assertEquals(needs("ggg"), false);
  assertEquals(needs("bg", { consecutive: 1, resolveAfter: 2 }), true);
  assertEquals(needs("bgg", { consecutive: 1, resolveAfter: 2 }), false);
});

Deno.test("without thresholds a group fires while a thing is bad", () => {
  const [stuck, missed] = [aRule(null), aRule(null, "missed")];
  const both = named("bb", stuck);
  assertEquals(stateOf(both, stuck).isFiring, true);
  const after = (before: AlertInstance, key: string, rule: Rule) => {
    const good = { ...signal(9, "good", rule), key };
    const { isFiring, count, changedAt } = stateOf(instanceAfter([good], rule, before), rule);
    return { isFiring, count, changedAt };
  };
  assertEquals(after(both, "run_001", stuck), { isFiring: true, count: 2, changedAt: 1 });
  const one = instanceAfter([{ ...signal(9, "good", stuck), key: "run_001" }], stuck, both);
  assertEquals(after(one, "run_002", stuck), { isFiring: false, count: 2, changedAt: 9 });
  assertEquals(after(both, "all", stuck).isFiring, false);
  // A monitor that is up again says nothing about another one.
  assertEquals(after(named("bb", missed), "other", missed).isFiring, true);
});

Deno.test("things that are bad count the same in any order", () => {
  const rule = aRule(null);
  const some = fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 60 });
  fc.assert(fc.property(some, (ns) => {
    const countOf = (order: readonly number[]) => {
      const all = order.map((n) => signal(n, "bad", rule));
      const { count, runs } = stateOf(instanceAfter(all, rule), rule);
      return { count, runs };
    };
    assertEquals(countOf(ns), countOf(ns.toSorted((a, b) => a - b)));
  }));
});
