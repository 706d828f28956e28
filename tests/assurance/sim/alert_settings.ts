/** Random settings of rules. */
import fc from "fast-check";
import type { RuleSettings } from "./alerts.ts";

const ALL = { agents: [], customers: [], features: [] };
const match = fc.constantFrom(
  ...[ALL, ALL, ALL, { ...ALL, agents: ["ant"] }, { ...ALL, agents: ["a*", "zoo"] }],
  { ...ALL, customers: ["acme"] },
);
const group_by = fc.constantFrom("agent" as const, "agent" as const, "customer" as const, null);
const common = {
  severity: fc.constantFrom("critical" as const, "warning" as const, "info" as const),
  renotify_seconds: fc.constantFrom(0, 0, 43_200),
  channels: fc.constant([]),
  enabled: fc.constantFrom(true, true, true, true, false),
};
const runs = fc.constantFrom("root", "all");
const runFailed = fc.record({
  kind: fc.constant("run_failed" as const),
  params: fc.record({
    statuses: fc.constantFrom(["failed", "timeout"], ["failed", "timeout"], ["failed"]),
    consecutive: fc.constantFrom(1, 1, 2, 3, 4),
    runs,
  }),
  ...{ match, group_by, ...common },
  resolve_after: fc.constantFrom(1, 1, 2, 3),
});
const checkFailed = fc.record({
  kind: fc.constant("check_failed" as const),
  params: fc.record({
    checks: fc.constantFrom<string[]>([], [], ["patient"], ["finished", "absent"]),
    severity_min: fc.constantFrom("info", "warn", "fail"),
    consecutive: fc.constantFrom(1, 1, 2, 3),
    runs,
  }),
  ...{ match, group_by, ...common },
  resolve_after: fc.constantFrom(1, 1, 2),
});
const runCost = fc.record({
  kind: fc.constant("run_cost" as const),
  params: fc.record({ usd: fc.constantFrom("1", "0.5"), runs }),
  ...{ match, group_by, ...common, resolve_after: fc.constant(1) },
});
const missed = fc.record({
  kind: fc.constant("missed" as const),
  params: fc.constantFrom({ reasons: ["missed", "failed", "overrun"] }, { reasons: ["failed"] }),
  match: fc.constantFrom(ALL, { ...ALL, agents: ["a*"] }),
  ...{ group_by: fc.constant("agent" as const), ...common, resolve_after: fc.constant(1) },
});
/** Settings of a put; null for a deletion. */
export const settings: fc.Arbitrary<RuleSettings | null> = fc.oneof(
  { weight: 6, arbitrary: runFailed },
  { weight: 6, arbitrary: checkFailed },
  { weight: 3, arbitrary: runCost },
  { weight: 2, arbitrary: missed },
  { weight: 2, arbitrary: fc.constant(null) },
);
