/** Alert rules of a team in the model: their changes by calls. Imports nothing from the service. */
import { type Act, type Alerts, groupName, type Rule, type RuleSettings } from "./alerts.ts";
import { same } from "./shape.ts";

const COMMON = {
  match: { agents: [], customers: [], features: [] },
  group_by: "agent",
  severity: "critical",
  resolve_after: 1,
  renotify_seconds: 86_400,
  channels: [],
  enabled: true,
} as const;

/** Rules that each team has from the start, as far as the model knows their kinds (decision 70). */
export const DEFAULT_ALERTS: Alerts = {
  rules: {
    failures: byDefault({
      ...COMMON,
      kind: "run_failed",
      params: { statuses: ["failed", "timeout"], consecutive: 3 },
    }),
    missed: byDefault({
      ...COMMON,
      kind: "missed",
      params: { reasons: ["missed", "failed", "overrun"] },
    }),
  },
  acts: {},
};

export const KNOWN_KINDS: ReadonlySet<string> = new Set([
  "run_failed",
  "check_failed",
  "run_cost",
  "missed",
]);

export interface RuleCall {
  readonly slug: string;
  /** Settings of a put; null for a deletion. */
  readonly settings: RuleSettings | null;
}

/** Changes or deletes a rule; returns the status that the call gets. */
export function changeRule(
  alerts: Alerts,
  { slug, settings }: RuleCall,
  now: number,
): [Alerts, number] {
  const { [slug]: rule, ...others } = alerts.rules;
  if (settings === null) {
    return rule === undefined ? [alerts, 404] : [{ ...alerts, rules: others }, 200];
  }
  const version = (rule?.version ?? 0) + 1;
  if (version > 1 && same(settings, rule?.settings)) return [alerts, 200];
  return [{ ...alerts, rules: { ...others, [slug]: { settings, version, since: now } } }, 202];
}

export function act(alerts: Alerts, rule: string, group: string | null, act: Act): Alerts {
  const name = groupName(rule, group);
  return { ...alerts, acts: { ...alerts.acts, [name]: [...alerts.acts[name] ?? [], act] } };
}

function byDefault(settings: RuleSettings): Rule {
  return { settings, version: 0, since: 0 };
}
