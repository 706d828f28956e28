/** Results of checks as signals for rules of the kind `check_failed`. */
import { assertEquals } from "@std/assert";
import type { AlertSignal } from "../../../../domain/alerts/signal.ts";
import { checkSignals } from "../../../../domain/alerts/signal_sources.ts";
import {
  type AlertInstance,
  newInstance,
  stateOf,
  withSignal,
} from "../../../../domain/alerts/instance.ts";
import type { Rule, RuleCondition, RuleSettings } from "../../../../domain/alerts/rule.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import type { CheckResult } from "../../../../domain/runs/check_result.ts";
import type { RunSummary } from "../../../../domain/runs/summary.ts";
import fc from "../../../packages/fast_check.ts";

type CheckFailed = Extract<RuleCondition, { kind: "check_failed" }>;

const RUN = "run_eu_00000000000000000000000000000001" as RunId;
const DAY_MS = 86_400_000;

function aRule(
  condition: Partial<CheckFailed> = {},
  settings: Partial<RuleSettings> = {},
  slug = "checks",
): Rule {
  return {
    ...{ slug, id: "rul_1", version: 1, createdAt: 0, updatedAt: 0, updatedBy: "key_1" },
    settings: {
      condition: {
        ...{ kind: "check_failed", checks: [], severityMin: "warn", consecutive: 1 },
        ...condition,
      },
      match: { agents: [], customers: [], features: [] },
      ...{ groupBy: "agent", severity: "warning", resolveAfter: 1, renotifySeconds: 0 },
      ...{ channels: [], enabled: true },
      ...settings,
    },
  };
}

/** The fields of a closed run's summary that signals depend on. */
function summary(at: number, agent = "a", finishedAt = at): RunSummary {
  return {
    contribution: { labels: { agent, customer: null, feature: null, status: "success" } },
    times: { startedAt: finishedAt, receivedAt: at },
    seen: { opening: true, closing: true, batches: 0, repricings: 0 },
    shown: { finishedAt },
  } as unknown as RunSummary;
}

/** Results of a text, such as `cheap:fail:warn polite:pass:info`. */
function results(text: string): readonly CheckResult[] {
  return text.split(" ").filter((one) => one !== "").map((one) => {
    const [check = "", status, severity = "fail"] = one.split(":");
    const message = status === "pass" ? null : `${check} is wrong`;
    return {
      ...{ check, id: `chk_${check}`, version: 1, severity, status, got: "", message },
      ...{ at: 1, revision: 1 },
    } as CheckResult;
  });
}

interface Change {
  readonly before?: string | null;
  readonly after?: string | null;
  readonly was?: RunSummary | null;
  readonly is?: RunSummary | null;
}

function signals(change: Change, rules: readonly Rule[]): AlertSignal[] {
  const { before = null, after = null, was = summary(9), is = summary(9) } = change;
  return checkSignals(
    { id: RUN, before: was, after: is, latestAt: null },
    {
      before: before === null ? null : results(before),
      after: after === null ? null : results(after),
    },
    rules,
  );
}

/** Outcomes as rule, agent and outcome. */
function outcomes(change: Change, ...rules: Rule[]): string[] {
  return signals(change, rules.length === 0 ? [aRule()] : rules)
    .map(({ rule, subject, outcome }) => `${rule} ${subject.agent} ${outcome}`);
}

Deno.test("check signals: a failure or an error is bad, a pass alone is good, and the rest is none", () => {
  const outcomeOf = (after: string, condition: Partial<CheckFailed> = {}) =>
    signals({ after }, [aRule(condition)])[0]?.outcome ?? null;
  assertEquals(outcomeOf("cheap:fail"), "bad");
  assertEquals(outcomeOf("cheap:pass polite:fail"), "bad");
  assertEquals(outcomeOf("cheap:pass polite:skipped"), "good");
  assertEquals(outcomeOf("cheap:skipped"), null);
  assertEquals(outcomeOf(""), null);
  assertEquals(outcomeOf("cheap:fail:info cheap:pass"), "good");
  assertEquals(outcomeOf("cheap:fail:info"), null);
  assertEquals(outcomeOf("cheap:fail:info", { severityMin: "info" }), "bad");
  assertEquals(outcomeOf("cheap:fail:warn"), "bad");
  assertEquals(outcomeOf("cheap:fail:warn", { severityMin: "fail" }), null);
  // An error is as severe as a warning, whatever the check's severity.
  assertEquals(outcomeOf("cheap:error:info"), "bad");
  assertEquals(outcomeOf("cheap:error:fail", { severityMin: "fail" }), null);
  assertEquals(outcomeOf("cheap:pass polite:fail", { checks: ["cheap"] }), "good");
  assertEquals(outcomeOf("cheap:pass polite:fail", { checks: ["absent"] }), null);
  assertEquals(outcomeOf("cheap:pass polite:fail", { checks: ["cheap", "polite"] }), "bad");
});

Deno.test("check signals: only a changed outcome is a signal", () => {
  assertEquals(outcomes({ after: "cheap:fail", was: null }), ["checks a bad"]);
  assertEquals(outcomes({ before: "cheap:fail", after: "cheap:fail" }), []);
  assertEquals(outcomes({ before: "cheap:pass", after: "cheap:pass polite:pass" }), []);
  assertEquals(outcomes({ before: "cheap:fail", after: "polite:fail" }), ["checks a bad"]);
  assertEquals(outcomes({ before: "cheap:pass", after: "cheap:error" }), ["checks a bad"]);
  assertEquals(outcomes({ before: "cheap:fail", after: "cheap:pass" }), ["checks a good"]);
  assertEquals(outcomes({ before: "cheap:fail", after: "cheap:skipped" }), ["checks a none"]);
  assertEquals(outcomes({ before: "cheap:fail" }), ["checks a none"]);
  assertEquals(outcomes({ before: "cheap:fail", is: null }), []);
  assertEquals(outcomes({ before: "cheap:skipped" }), []);
  assertEquals(outcomes({ before: "cheap:fail", after: "cheap:fail", is: summary(12) }), [
    "checks a bad",
  ]);
});

Deno.test("check signals: a signal names the good outcome that it replaces", () => {
  const undone = (change: Change) =>
    signals(change, [aRule()]).map(({ outcome, undoneAt = null }) => [outcome, undoneAt]);
  assertEquals(undone({ before: "cheap:pass" }), [["none", 9]]);
  assertEquals(undone({ before: "cheap:pass", after: "cheap:fail" }), [["bad", 9]]);
  assertEquals(undone({ before: "cheap:pass", after: "cheap:pass", is: summary(12) }), [
    ["good", 9],
  ]);
  assertEquals(undone({ before: "cheap:fail", after: "cheap:pass" }), [["good", null]]);
  const moved = { before: "cheap:pass", after: "cheap:pass", is: summary(9, "b") };
  assertEquals(undone(moved), [["none", 9], ["good", null]]);
});

Deno.test("check signals: a run that moves to another agent leaves its group", () => {
  const moved = { before: "cheap:fail", after: "cheap:fail", is: summary(9, "b") };
  assertEquals(outcomes(moved), ["checks a none", "checks b bad"]);
  const match = { agents: ["a"], customers: [], features: [] };
  assertEquals(outcomes(moved, aRule({}, { match })), ["checks a none"]);
});

Deno.test("check signals: each rule judges for itself, ten of them at most", () => {
  const rules = Array.from(
    { length: 12 },
    (_, n) =>
      aRule({ severityMin: n % 2 ? "fail" : "info" }, {}, `rule-${`${n}`.padStart(2, "0")}`),
  );
  const sent = outcomes({ after: "cheap:fail:warn polite:pass" }, ...rules);
  assertEquals(sent.slice(0, 2), ["rule-00 a bad", "rule-01 a good"]);
  assertEquals(sent.length, 10);
});

Deno.test("check signals: an import raises nothing", () => {
  assertEquals(outcomes({ after: "cheap:fail", is: summary(2 * DAY_MS, "a", 1) }), []);
  assertEquals(outcomes({ after: "cheap:fail", is: summary(DAY_MS, "a", 1) }), ["checks a bad"]);
});

Deno.test("check signals: they name at most three checks, and say what the first one said", () => {
  const wordsOf = (after: string) => {
    const [signal] = signals({ after }, [aRule()]);
    return [signal?.detail, signal?.error];
  };
  assertEquals(wordsOf("a:pass"), [null, null]);
  assertEquals(wordsOf("a:pass b:fail c:fail"), ["b, c", "b is wrong"]);
  assertEquals(wordsOf("a:fail b:fail c:fail d:error e:fail"), [
    "a, b, c and 2 more",
    "a is wrong",
  ]);
  const [failed] = results("a:fail");
  const long = { ...failed as CheckResult, message: "x\n".repeat(300) };
  const change = { id: RUN, before: null, after: summary(9), latestAt: null };
  const [signal] = checkSignals(change, { before: null, after: [long] }, [aRule()]);
  assertEquals(signal?.error, "x ".repeat(100));
});

/** One of the ways in which a run was judged; the last one of a run counts. */
const judgements = fc.array(
  fc.record({
    run: fc.integer({ min: 1, max: 8 }),
    after: fc.constantFrom("c:pass", "c:fail", "c:error", "c:skipped", "c:fail:info d:pass", ""),
  }),
  { maxLength: 24 },
);

Deno.test("check signals: the order in which runs are judged and judged again does not matter", () => {
  const settings = fc.record({
    consecutive: fc.constantFrom(1, 2, 3),
    resolveAfter: fc.constantFrom(1, 2),
  });
  fc.assert(fc.property(judgements, settings, fc.infiniteStream(fc.nat()), (all, each, keys) => {
    const rule = aRule({ consecutive: each.consecutive }, { resolveAfter: each.resolveAfter });
    const last = new Map(all.map(({ run, after }) => [run, after]));
    const inOrder = [...last].sort(([a], [b]) => a - b).map(([run, after]) => ({ run, after }));
    const shuffled = all.map((one) => ({ one, key: keys.next().value as number }))
      .sort((a, b) => a.key - b.key).map(({ one }) => one);
    // Each run ends with its last judgement.
    const again = [...shuffled, ...inOrder.toReversed()];
    assertEquals(stateAfter(again, rule), stateAfter(inOrder, rule));
  }));
});

/** Returns what a group makes of judgements, each of which replaces the one of its run. */
function stateAfter(all: readonly { run: number; after: string }[], rule: Rule) {
  const known = new Map<number, string>();
  let instance: AlertInstance = newInstance(rule, { text: "=a", group: { agent: "a" } });
  for (const { run, after } of all) {
    const change = { before: results(known.get(run) ?? ""), after: results(after) };
    const id = `run_${run}` as RunId;
    const of = { id, before: summary(run), after: summary(run), latestAt: null };
    for (const signal of checkSignals(of, change, [rule])) {
      instance = withSignal(instance, rule, signal);
    }
    known.set(run, after);
  }
  return stateOf(instance, rule);
}
