/** Bodies of rules and silences, previews of rules, and names of their evaluations. */
import { assert, assertEquals } from "@std/assert";
import { RULES } from "../../../../domain/alerts/rule_body.ts";
import { SILENCES } from "../../../../domain/alerts/silence.ts";
import { Random } from "../../../../tools/random.ts";
import { unlessRefused } from "../../../../domain/core/errors.ts";
import {
  type AlertInstance,
  groupEndOf,
  newInstance,
  repeatDueAt,
  spendPeriodOf,
  stateOf,
  withSignal,
} from "../../../../domain/alerts/instance.ts";
import {
  type AlertSignal,
  groupName,
  groupOf,
  kindName,
  matches,
  newSignal,
  targetOf,
  TEAM,
} from "../../../../domain/alerts/signal.ts";
import { countOpened, unstoredRule } from "../../../../domain/alerts/preview.ts";
import { type Rule, RULE_KINDS } from "../../../../domain/alerts/rule.ts";
import type { RunId } from "../../../../domain/core/ids.ts";
import { formatInstant, parseInstant } from "../../../../domain/core/time.ts";

const NOW = Date.UTC(2026, 10, 23);
const DAY = 86_400_000;

function ruleOf(value: Record<string, unknown>) {
  return RULES.parse(value, NOW);
}

function silenceOf(value: Record<string, unknown>) {
  return SILENCES.parse(value, NOW);
}

Deno.test("rules: one of failed checks counts warnings of all checks unless set otherwise", () => {
  const parsed = ruleOf({ kind: "check_failed" });
  assertEquals(parsed.settings.condition, {
    ...{ kind: "check_failed", checks: [], severityMin: "warn", consecutive: 1 },
  });
});

Deno.test("rules: one about runs judges root runs, or all (R32)", () => {
  const runsOf = (params: object) =>
    RULES.fieldsOf(ruleOf({ kind: "run_failed", params }).settings).params;
  const params = { statuses: ["failed", "timeout"], consecutive: 1 };
  assertEquals(runsOf({}), { ...params, runs: "root" });
  assertEquals(runsOf({ runs: "root" }), { ...params, runs: "root" });
  assertEquals(runsOf({ runs: "all" }), { ...params, runs: "all" });
});

Deno.test("rules: of any settings that are accepted, the fields stand for the same settings", () => {
  const random = new Random("rules");
  const pick = <T>(...items: [T, ...T[]]): T => random.pick(items);
  const upTo = (max: number) => random.int(1, max);
  const paramsOf = {
    run_failed: () => ({
      consecutive: upTo(32),
      statuses: pick(["failed"], ["timeout", "failed", "timeout"]),
      runs: pick(undefined, "root", "all"),
    }),
    check_failed: () => ({
      checks: pick([], ["cheap", "cheap"], ["polite", "cheap-enough"]),
      severity_min: pick(undefined, "info", "fail"),
      consecutive: pick(undefined, upTo(32)),
    }),
    run_cost: () => ({ usd: pick<number | string>(upTo(1e9) / 1e3, `${upTo(99)}.${upTo(1e9)}`) }),
    spend: () => ({ usd: upTo(1e6), period: pick("day", "week", "month") }),
    budget: () => ({ budgets: pick([], ["acme"], ["each", "team"]) }),
    missed: () => ({ reasons: pick(["missed"], ["overrun", "failed"]) }),
    stuck: () => ({ seconds: 59 + upTo(1e6), runs: pick("root", "all") }),
    unpriced: () => ({}),
    quota: () => ({ percents: pick([80], [100, 80]) }),
    service: () => ({ what: pick(["dead_stage"], ["broken_channel", "dead_delivery"]) }),
  };
  let accepted = 0;
  for (let n = 0; n < 2_000; n++) {
    const kind = random.pick(Object.keys(paramsOf) as [keyof typeof paramsOf]);
    const body = {
      kind,
      params: paramsOf[kind](),
      match: pick(undefined, { agents: ["*"] }, { agents: ["a*"] }, { features: ["f", "f"] }),
      group_by: pick(undefined, "agent", "customer", "feature", "model"),
      severity: pick(undefined, "critical", "info"),
      resolve_after: pick(undefined, upTo(32)),
      renotify_seconds: pick(undefined, 0, 299 + upTo(1e5)),
      channels: pick(undefined, [], ["ops", "a.b_c-d", "ops"]),
      enabled: pick(undefined, true, false),
    };
    const first = unlessRefused(() => ruleOf(body), () => null);
    if (first === null) continue;
    accepted++;
    const { settings } = first;
    const again = ruleOf(JSON.parse(JSON.stringify(RULES.fieldsOf(settings))));
    assertEquals(again.settings, settings);
  }
  assert(accepted > 500, String(accepted));
});

Deno.test("silences: settings, written as fields and sent again, are the same settings", () => {
  const match = { rules: ["failures"], agents: ["nightly*"], customers: ["acme"] };
  const first = silenceOf({
    match,
    from: "2026-11-24T00:00:00Z",
    until: "2026-12-01T00:00:00+01:00",
    comment: "Maintenance",
  });
  const { match: stored, untilMs, comment } = first.settings;
  const settings = { match: stored, fromMs: first.settings.fromMs ?? 0, untilMs, comment };
  assertEquals([stored, settings.fromMs - NOW], [match, DAY]);
  const again = silenceOf(JSON.parse(JSON.stringify(SILENCES.fieldsOf(settings))));
  assertEquals(again.settings, settings);
  // 30 days are the most.
  assertEquals(silenceOf({ match: {}, until: "2026-12-23T00:00:00Z" }).settings.fromMs, null);
});

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

Deno.test("evaluations: each name asks for one", () => {
  for (const kind of RULE_KINDS) assertEquals(targetOf(kindName(kind)), { of: "kind", kind });
  assertEquals(targetOf("quota"), { of: "rule", rule: "quota" });
  assertEquals(targetOf(groupName("a.b", "x *y z")), { of: "group", rule: "a.b", group: "x *y z" });
  assertEquals(targetOf(groupName("a", "")), { of: "group", rule: "a", group: "" });
  assertEquals(targetOf("*nothing"), null);
});

Deno.test("spend periods: days, weeks from Monday, and months, in UTC", () => {
  const periodOf = (period: "day" | "week" | "month", at: string) => {
    const { startMs, endMs } = spendPeriodOf(period, parseInstant(at) as number);
    return [startMs, endMs].map((ms) => formatInstant(ms).slice(0, 16));
  };
  assertEquals(periodOf("day", "2026-11-23T00:00:00Z"), ["2026-11-23T00:00", "2026-11-24T00:00"]);
  assertEquals(periodOf("day", "2026-11-22T23:59:59Z"), ["2026-11-22T00:00", "2026-11-23T00:00"]);
  // 23 November 2026 is a Monday.
  assertEquals(periodOf("week", "2026-11-23T00:00:00Z"), ["2026-11-23T00:00", "2026-11-30T00:00"]);
  assertEquals(periodOf("week", "2026-11-22T23:59:59Z"), ["2026-11-16T00:00", "2026-11-23T00:00"]);
  assertEquals(periodOf("week", "2027-01-01T12:00:00Z"), ["2026-12-28T00:00", "2027-01-04T00:00"]);
  assertEquals(periodOf("month", "2026-12-31T23:59:59Z"), ["2026-12-01T00:00", "2027-01-01T00:00"]);
  assertEquals(periodOf("month", "2028-02-29T12:00:00Z"), ["2028-02-01T00:00", "2028-03-01T00:00"]);
});

const NOON = Date.UTC(2026, 10, 23, 12);
Deno.test("messages are repeated while the incident is open", () => {
  const due = (renotifySeconds: number, changed = {}) => {
    const incident = { notifiedAt: NOON, state: "open", ...changed } as const;
    const at = repeatDueAt({ renotifySeconds }, incident);
    return at === null ? null : (at - NOON) / HOUR;
  };
  assertEquals(due(2 * 3_600), 2);
  assertEquals(due(2 * 3_600, { state: "acknowledged" }), null);
  assertEquals(due(2 * 3_600, { notifiedAt: null }), null);
  assertEquals(due(0), null);
  assertEquals(due(604_800), 7 * 24);
});
