/** Bodies of rules and silences. */
import { assert, assertEquals } from "@std/assert";
import { RULES } from "../../../../domain/alerts/rule_body.ts";
import { SILENCES } from "../../../../domain/alerts/silence.ts";
import { Random } from "../../../../tools/random.ts";
import { unlessRefused } from "../../../../domain/core/errors.ts";

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
