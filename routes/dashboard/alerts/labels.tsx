/** Words and icons of incidents: severities, states, groups. */
import type { CheckSeverity } from "../../../domain/runs/check_result.ts";
import { type KeyValue, type Label, LabelSign } from "../components/elements.tsx";
import type {
  IncidentFacts,
  IncidentGroup,
  ResolvedBy,
  Severity,
} from "../../../domain/channels/message.ts";
import { UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { agentPath, queryText, RUNS_PATH } from "../layout/paths.ts";
import { capitalized, countedText, durationText } from "../components/format.ts";

/** The word, the icon and the class of each severity. */
export const SEVERITY_LABELS: Readonly<Record<Severity, Label>> = {
  critical: ["Critical", "bad"],
  warning: ["Warning", "warn"],
  info: ["Info", "info", "st-new"],
};

const RESOLVED: Label = ["Resolved", "ok"];

/** The icon of an incident: its severity, or a tick once it is resolved. */
export function IncidentMark({ of }: { readonly of: Pick<IncidentFacts, "state" | "severity"> }) {
  const isResolved = of.state === "resolved";
  return <LabelSign of={isResolved ? RESOLVED : SEVERITY_LABELS[of.severity]} isIcon />;
}

/** A severity as a tag. */
export function SeverityTag({ of }: { readonly of: Severity | CheckSeverity }) {
  const colour = { critical: " bad", fail: " bad", warning: " warn", warn: " warn", info: "" }[of];
  return <span class={`tag${colour}`}>{of}</span>;
}

/** Names the group of an incident, and links it to its agent or its runs; null for none. */
export function groupFact(group: IncidentGroup): KeyValue {
  const [[name, value] = []] = Object.entries(group);
  if (name === undefined || value === undefined) return ["", null];
  const label = capitalized(name);
  const isOther = value.startsWith("(") && value !== UNATTRIBUTED;
  if (isOther || name === "budget") return [label, value];
  const parameter = name === "customer" ? "customer_id" : name;
  const model = value.slice(value.indexOf("/") + 1);
  const to = name === "agent" && value !== UNATTRIBUTED
    ? agentPath(value)
    : RUNS_PATH + queryText([[parameter, name === "model" ? model : value]]);
  return [label, <a href={to}>{value}</a>];
}

/** Returns how long an incident was or is open. */
export function openFor({ openedAt, resolvedAt }: IncidentFacts, now: number): string {
  return durationText(Math.max(0, (resolvedAt ?? now) - openedAt));
}

/** Kinds of rules that count runs. */
const OF_RUNS: readonly string[] = ["run_failed", "check_failed", "run_cost", "stuck", "unpriced"];

/** Returns what an incident counts, such as "7 runs"; null for once. */
export function countText({ kind, count }: Pick<IncidentFacts, "kind" | "count">): string | null {
  if (OF_RUNS.includes(kind)) return countedText(count, "run");
  return count > 1 ? countedText(count, "time") : null;
}

/** Reasons for which incidents are resolved. */
export const RESOLVED_LABELS: Readonly<Record<ResolvedBy, string>> = {
  condition: "its condition is no longer true",
  quiet: "nothing happened for a day",
  hand: "by hand",
  rule: "its rule was changed, disabled or deleted",
  paused: "the monitor was paused",
};
