/** Bodies of rules and silences. */
import { assert, assertEquals } from "@std/assert";
import { DEFAULT_RULES } from "../../../../domain/alerts/rule.ts";
import { RULES } from "../../../../domain/alerts/rule_body.ts";
import { SILENCES } from "../../../../domain/alerts/silence.ts";
import { unlessRefused } from "../../../../domain/core/errors.ts";

const NOW = Date.UTC(2026, 10, 23);
const DAY = 86_400_000;

function ruleOf(value: Record<string, unknown>) {
  return RULES.parse(value, NOW);
}

function silenceOf(value: Record<string, unknown>) {
  return SILENCES.parse(value, NOW);
}

Deno.test("rules: settings, written as fields and sent again, are the same settings", () => {
  const sent = [
    ...DEFAULT_RULES.map(({ settings }) => RULES.fieldsOf(settings)),
    { kind: "run_cost", params: { usd: "0.000001000000" }, resolve_after: 32 },
    { kind: "run_cost", params: { usd: 1_000_000 }, renotify_seconds: 300 },
    { kind: "run_failed", params: { statuses: ["timeout", "failed", "timeout"] }, enabled: false },
    { kind: "check_failed", params: { checks: ["cheap", "cheap"], severity_min: "fail" } },
    { kind: "spend", params: { usd: 0.1, period: "month" }, group_by: "model" },
    {
      kind: "spend",
      params: { usd: 999_999.999999, period: "week" },
      match: { agents: ["*"], customers: ["acme"] },
      group_by: "customer",
      channels: ["ops", "a.b_c-d", "ops"],
    },
    { kind: "stuck", params: null, match: { agents: ["nightly*"] }, group_by: null },
  ];
  for (const body of sent) {
    const first = ruleOf(body);
    const { settings } = first;
    const again = ruleOf(JSON.parse(JSON.stringify(RULES.fieldsOf(settings))));
    assertEquals(again.settings, settings);
  }
});

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

/** Numbers that look random, the same each time. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed;;) {
    state = Math.imul(state, 1_664_525) + 1_013_904_223 | 0;
    yield (state >>> 8) / 2 ** 24;
  }
}

Deno.test("rules: of any settings that are accepted, the fields stand for the same settings", () => {
  const random = numbers(25);
  const pick = <T>(...items: T[]): T => items[Math.floor(random.next().value * items.length)]!;
  const upTo = (max: number) => Math.ceil(random.next().value * max);
  const paramsOf = {
    run_failed: () => ({
      consecutive: upTo(32),
      statuses: pick(["failed"], ["timeout", "failed"]),
      runs: pick(undefined, "root", "all"),
    }),
    check_failed: () => ({
      checks: pick([], ["cheap"], ["polite", "cheap-enough"]),
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
    const kind = pick(...Object.keys(paramsOf) as (keyof typeof paramsOf)[]);
    const body = {
      kind,
      params: paramsOf[kind](),
      match: pick(undefined, { agents: ["*"] }, { agents: ["a*"] }, { features: ["f", "f"] }),
      group_by: pick(undefined, "agent", "customer", "feature", "model"),
      severity: pick(undefined, "critical", "info"),
      resolve_after: pick(undefined, upTo(32)),
      renotify_seconds: pick(undefined, 0, 299 + upTo(1e5)),
      channels: pick(undefined, [], ["ops", "chat"]),
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
