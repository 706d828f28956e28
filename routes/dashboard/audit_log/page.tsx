/** `/dashboard/audit`: the audit log, newest first. */
import { OPERATOR } from "../../../domain/teams/credentials.ts";
import { DAY_MS, parseInstant } from "../../../domain/core/time.ts";
import {
  type AuditAction,
  type AuditValue,
  parseAuditQuery,
  type ReadAuditEntry,
} from "../../../domain/teams/audit_log.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import { auditCursor, parseAuditCursor } from "../../api/audit_log/audit_log.ts";
import type { Handler } from "../../http/admission.ts";
import { queryOf } from "../../http/query.ts";
import type { DashboardPage } from "../layout/page.ts";
import {
  agentPath,
  AUDIT_LOG_PATH,
  CHECKS_PATH,
  PLAN_PATH,
  queryText,
  RATE_CARD_PATH,
  RUNS_PATH,
} from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Empty, NextPage } from "../components/elements.tsx";
import { At } from "../components/time.tsx";
import { Field } from "../components/form_fields.tsx";
import { type Column, Table } from "../components/table.tsx";
import {
  channelPath,
  CHANNELS_PATH,
  DELIVERIES_PATH,
  incidentPath,
  rulePath,
  RULES_PATH,
  SILENCES_PATH,
} from "../alerts/paths.ts";
import { FilterForm } from "../alerts/filter_form.tsx";
import { checkPath } from "../checks/paths.ts";
import { Actor } from "../keys/labels.tsx";
import { keyPath } from "../keys/paths.ts";
import { jobPath } from "../rate_card/paths.ts";
import { teamPath } from "../teams/paths.ts";

const showAuditLog: Handler = async (c, { auditLog }) => {
  const parameters = new URLSearchParams(queryOf(c));
  const query = parseAuditQuery(withInstants(parameters), parseAuditCursor);
  if (!query.ok) return fail(c, query.problem);
  const { team, grant } = c.get("principal");
  const { entries, next } = await auditLog.page(team.id, query.value);
  const isOperator = grant.kind === OPERATOR.grant.kind;
  const nextPath = next === null ? null : AUDIT_LOG_PATH + queryText([
    ...["from", "to", "limit"].map((name) => [name, parameters.get(name)] as const),
    ["cursor", auditCursor(next)],
  ]);
  return showPage(c, {
    title: "Audit",
    body: (
      <>
        <FilterForm action={AUDIT_LOG_PATH}>
          {DAYS.map(([name, label]) => (
            <Field
              name={name}
              label={label}
              type="date"
              value={parameters.get(name)?.slice(0, 10) ?? ""}
            />
          ))}
        </FilterForm>
        {entries.length === 0
          ? (
            <Empty title="Nothing changed">
              <p>
                Changes of keys, prices, agents and the team are listed here for ever, with their
                actors. <a href={AUDIT_LOG_PATH}>Show all times</a>
              </p>
            </Empty>
          )
          : (
            <Table
              label="Changes"
              class="fold"
              caption={
                <caption>
                  {isOperator
                    ? "What the operator did, newest first."
                    : "Newest first; kept for ever."}
                </caption>
              }
              columns={columnsFor(isOperator)}
              rows={entries}
            />
          )}
        <NextPage to={nextPath} />
      </>
    ),
  });
};

const DAYS = [["from", "From (UTC)"], ["to", "To (day included)"]] as const;

/**
 * Replaces days with the instants that the API takes: `from` becomes the start of its day, `to` the
 * end of its day.
 */
function withInstants(parameters: URLSearchParams): string {
  const query = new URLSearchParams(parameters);
  for (const [name, days] of [["from", 0], ["to", 1]] as const) {
    const day = parameters.get(name) ?? "";
    const ms = /^\d{4}-\d\d-\d\d$/.test(day) ? parseInstant(`${day}T00:00:00Z`) : null;
    if (ms !== null) query.set(name, new Date(ms + days * DAY_MS).toISOString());
  }
  return query.toString();
}

function columnsFor(isOperator: boolean): readonly Column<ReadAuditEntry>[] {
  return [
    { head: "When", cell: ({ at }) => <At at={at} /> },
    { head: "Who", cell: ({ actor, actorName }) => <Actor id={actor} name={actorName} /> },
    { head: "What", cell: actionText, attributes: ({ action }) => ({ title: action }) },
    {
      head: isOperator ? "Team" : "To what",
      cell: (entry) => <Target entry={entry} isOperator={isOperator} />,
    },
    { head: "Details", class: "whole", cell: ({ details }) => <Details of={details} /> },
  ];
}

/** Labels of actions, and the pages of their targets. */
const ACTIONS: Readonly<
  Record<AuditAction, readonly [label: string, pageOf?: (target: string) => string]>
> = {
  "agent.changed": ["changed an agent", agentPath],
  "channel.put": ["set a channel", channelPath],
  "channel.deleted": ["deleted a channel", () => CHANNELS_PATH],
  "channel.rotated": ["rotated a secret", channelPath],
  "channel.tested": ["tested a channel", channelPath],
  "channel.broken": ["found a channel broken", channelPath],
  "credential.created": ["created a key", keyPath],
  "credential.rotated": ["rotated a key", keyPath],
  "credential.revoked": ["revoked a key", keyPath],
  "check.put": ["set a check", checkPath],
  "check.deleted": ["deleted a check", () => CHECKS_PATH],
  "customer.deleted": [
    "deleted a customer",
    (target) => RUNS_PATH + queryText([["customer_id", target]]),
  ],
  "delivery.resent": ["sent a delivery again", () => DELIVERIES_PATH],
  "incident.acknowledged": ["acknowledged an incident", incidentPath],
  "incident.resolved": ["resolved an incident", incidentPath],
  "monitor.put": ["set a monitor", agentPath],
  "monitor.deleted": ["deleted a monitor", agentPath],
  "monitor.paused": ["paused a monitor", agentPath],
  "monitor.resumed": ["resumed a monitor", agentPath],
  "rate.put": ["set a price", () => RATE_CARD_PATH],
  "rate.deleted": ["deleted a price", () => RATE_CARD_PATH],
  "reprice.started": ["repriced calls", jobPath],
  "rule.put": ["set a rule", rulePath],
  "rule.deleted": ["deleted a rule", () => RULES_PATH],
  "run.deleted": ["deleted a run"],
  "silence.put": ["set a silence", () => SILENCES_PATH],
  "silence.deleted": ["deleted a silence", () => SILENCES_PATH],
  "team.created": ["created the team", () => PLAN_PATH],
  "team.changed": ["changed the team", () => PLAN_PATH],
  "team.suspended": ["suspended the team", () => PLAN_PATH],
  "team.resumed": ["resumed the team", () => PLAN_PATH],
};

/** Names an action. */
function actionText({ action, details }: ReadAuditEntry): string {
  if (action === "reprice.started" && details.dry_run === true) return "previewed new prices";
  return ACTIONS[action][0];
}

/** The target of an action, linked if it has a page. The operator only has pages of teams. */
function Target(
  { entry, isOperator }: { readonly entry: ReadAuditEntry; readonly isOperator: boolean },
) {
  if (isOperator) return <a href={teamPath(entry.team)}>{entry.team}</a>;
  const { target, action, details: { name } } = entry;
  const full = action.startsWith("credential.") && typeof name === "string" ? name : target;
  const text = full.length > TARGET_CHARS ? `${full.slice(0, TARGET_CHARS)}…` : full;
  const to = ACTIONS[action][1]?.(target);
  return to === undefined
    ? <span title={target}>{text}</span>
    : <a href={to} title={target}>{text}</a>;
}

/** Characters of a target that are enough to recognise it. */
const TARGET_CHARS = 60;

/** The details of an entry, one line each; long ones are folded. */
function Details({ of }: { readonly of: ReadAuditEntry["details"] }) {
  const lines = linesOf(of);
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
  const linesFor = (values: ReadAuditEntry["details"]) =>
    Object.entries(values).map(([name, value]) => [nameText(name), textOf(value)] as const);
  if (!isFields(before) || !isFields(after)) return linesFor(details);
  const changes = Object.keys(after).map((name) =>
    [nameText(name), `${textOf(before[name])} → ${textOf(after[name])}`] as const
  );
  return [...linesFor(rest), ...changes];
}

function nameText(name: string): string {
  return name.replaceAll("_", " ");
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
    .map(([name, member]) => `${nameText(name)} ${textOf(member)}`).join(", ");
}

export const auditLogPage: DashboardPage = {
  path: AUDIT_LOG_PATH,
  menu: { name: "Audit", area: "settings" },
  access: teamKeyOrOperator("admin"),
  handler: showAuditLog,
};
