/** Labels for audit log entries: actor, action, target and details. */
import type { AuditAction, AuditValue, ReadAuditEntry } from "../../../domain/teams/audit_log.ts";
import {
  agentPath,
  queryText,
  RATE_CARD_PATH,
  runPath,
  RUNS_PATH,
  TEAM_PATH,
} from "../layout/paths.ts";
import { keyPath } from "../keys/paths.ts";
import { jobPath } from "../rate_card/paths.ts";
import { teamPath } from "../teams/paths.ts";

const ACTIONS: Readonly<Record<AuditAction, string>> = {
  "agent.changed": "changed an agent",
  "credential.created": "created a key",
  "credential.rotated": "rotated a key",
  "credential.revoked": "revoked a key",
  "customer.deleted": "deleted a customer",
  "rate.put": "set a price",
  "rate.deleted": "deleted a price",
  "reprice.started": "repriced calls",
  "run.deleted": "deleted a run",
  "team.created": "created the team",
  "team.changed": "changed the team",
  "team.suspended": "suspended the team",
  "team.resumed": "resumed the team",
};

/** Names an action. */
export function actionText({ action, details }: ReadAuditEntry): string {
  if (action === "reprice.started" && details.dry_run === true) return "previewed new prices";
  return ACTIONS[action];
}

interface Of {
  readonly entry: ReadAuditEntry;
}

/** The target of an action, linked if it has a page. The operator only has pages of teams. */
export function Target({ entry, isOperator }: Of & { readonly isOperator: boolean }) {
  if (isOperator) return <a href={teamPath(entry.team)}>{entry.team}</a>;
  const { target, action, details: { name } } = entry;
  const full = action.startsWith("credential.") && typeof name === "string" ? name : target;
  const text = full.length > TARGET_CHARS ? `${full.slice(0, TARGET_CHARS)}…` : full;
  const to = pathOf(entry);
  return to === null ? <span title={target}>{text}</span> : <a href={to} title={target}>{text}</a>;
}

/** Characters of a target that are enough to recognise it. */
const TARGET_CHARS = 60;

function pathOf({ action, target }: ReadAuditEntry): string | null {
  const [what] = action.split(".", 1);
  switch (what) {
    case "agent":
      return agentPath(target);
    case "credential":
      return keyPath(target);
    case "customer":
      return `${RUNS_PATH}${queryText([["customer_id", target]])}`;
    case "rate":
      return RATE_CARD_PATH;
    case "reprice":
      return jobPath(target);
    case "run":
      // A deleted run has no page.
      return action === "run.deleted" ? null : runPath(target);
    case "team":
      return TEAM_PATH;
    default:
      return null;
  }
}

/** The details of an entry, one line each; long ones are folded. */
export function Details({ entry: { details } }: Of) {
  const lines = linesOf(details);
  if (lines.length === 0) return null;
  const list = <ul class="plain">{lines.map(([name, text]) => <li>{name}: {text}</li>)}</ul>;
  const chars = lines.reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  return lines.length <= LINES_SHOWN && chars <= CHARS_SHOWN ? list : (
    <details>
      <summary>{lines.length} details</summary>
      {list}
    </details>
  );
}

/** Maximum lines and characters of details shown unfolded. */
const LINES_SHOWN = 8, CHARS_SHOWN = 300;

function linesOf(details: ReadAuditEntry["details"]): (readonly [string, string])[] {
  const { before, after, ...rest } = details;
  const changes = isFields(before) && isFields(after)
    ? Object.keys(after).map((name) =>
      [name, `${textOf(before[name])} → ${textOf(after[name])}`] as const
    )
    : Object.entries({
      ...before === undefined ? {} : { before },
      ...after === undefined ? {} : { after },
    })
      .map(([name, value]) => [name, textOf(value)] as const);
  return [
    ...Object.entries(rest).map(([name, value]) => [name, textOf(value)] as const),
    ...changes,
  ]
    .map(([name, text]) => [name.replaceAll("_", " "), text]);
}

function isFields(value: AuditValue | undefined): value is { readonly [name: string]: AuditValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: AuditValue | undefined): string {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  if (!isFields(value)) return String(value);
  return Object.entries(value)
    .filter(([, member]) => member !== null && !(Array.isArray(member) && member.length === 0))
    .map(([name, member]) => `${name.replaceAll("_", " ")} ${textOf(member)}`).join(", ");
}
