/** Previews of rules count what the instances of the real rule would do, one signal after the other. */
import { assert, assertEquals } from "@std/assert";
import {
  type AlertInstance,
  groupEndOf,
  newInstance,
  stateOf,
  withSignal,
} from "../../../../domain/alerts/instance.ts";
import {
  type AlertSignal,
  groupOf,
  matches,
  newSignal,
  TEAM,
} from "../../../../domain/alerts/signal.ts";
import { countOpened, unstoredRule } from "../../../../domain/alerts/preview.ts";
import type { Rule } from "../../../../domain/alerts/rule.ts";
import { Random } from "../../../../tools/random.ts";
import { RULES } from "../../../../domain/alerts/rule_body.ts";
import type { RunId } from "../../../../domain/core/ids.ts";

const HOUR = 3_600_000;

/** Counts by instances, as commits do. */
function countByInstances(rule: Rule, signals: readonly AlertSignal[]): number {
  const groups = new Map<string, AlertInstance>();
  let opened = 0;
  for (const signal of signals) {
    if (!matches(rule.settings, signal.subject)) continue;
    const group = groupOf(rule.settings.groupBy, signal.subject);
    const known = groups.get(group.text) ?? newInstance(rule, group);
    const isOver = (groupEndOf(rule, known)?.at ?? Infinity) <= signal.at;
    const before = isOver ? newInstance(rule, group) : known;
    const after = withSignal(before, rule, signal);
    groups.set(group.text, after);
    if (!stateOf(before, rule).isFiring && stateOf(after, rule).isFiring) opened++;
  }
  return opened;
}

Deno.test("previews: random signals open as many incidents as the instances of the rule", () => {
  const random = new Random("previews");
  const pick = <T>(...items: [T, ...T[]]): T => random.pick(items);
  const bodies = [
    { kind: "run_failed", params: { consecutive: 3, statuses: ["failed"] }, resolve_after: 2 },
    { kind: "run_failed", params: { consecutive: 1 }, group_by: "agent" },
    { kind: "run_cost", params: { usd: 1 }, group_by: "agent", match: { agents: ["a"] } },
    { kind: "missed", params: { reasons: ["missed"] }, group_by: "agent" },
    { kind: "stuck", group_by: "agent" },
  ];
  for (const body of bodies) {
    const parsed = RULES.parse(body, 0);
    const rule = unstoredRule(parsed.settings);
    const { kind } = rule.settings.condition;
    const isOfThings = kind === "missed" || kind === "stuck";
    let at = 0;
    const signals = Array.from({ length: 500 }, (_, n) => {
      at += pick(1_000, HOUR, 30 * HOUR);
      const agent = pick("a", "b");
      // A monitor is bad and good under one key; so is a stuck run, of which few are open.
      const key = isOfThings ? agent : `run ${n}`;
      const outcome = kind === "run_cost" ? "bad" : pick("bad", "good");
      const detail = kind === "missed" ? pick("missed", "failed") : pick("failed", "timeout");
      const run = kind === "missed" ? null : `run ${n}` as RunId;
      const subject = { ...TEAM, agent };
      return newSignal({ kind, key, at, outcome, detail, run, subject });
    });
    const expected = countByInstances(rule, signals);
    assert(expected > 5, `${kind} ${expected}`);
    assertEquals(`${kind} ${countOpened(rule, signals)}`, `${kind} ${expected}`);
    assertEquals(countOpened(rule, signals.toReversed()), expected, "in the order of arrival");
  }
});
