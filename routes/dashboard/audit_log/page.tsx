/** `/dashboard/audit`: the audit log, newest first. */
import { OPERATOR } from "../../../domain/teams/credentials.ts";
import type { TeamId } from "../../../domain/core/ids.ts";
import { ADMIN_PER_PAGE } from "../../../domain/core/limits.ts";
import { DAY_MS, parseInstant } from "../../../domain/core/time.ts";
import {
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditPage,
  type AuditQuery,
  parseAuditQuery,
  type ReadAuditEntry,
  SERVICE_ACTOR,
  SETTINGS_ACTOR,
} from "../../../domain/teams/audit_log.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import { auditCursor, parseAuditCursor } from "../../api/audit_log/audit_log.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
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
import { Empty } from "../components/elements.tsx";
import { FilterForm, NextPage } from "../components/list_page.tsx";
import { At } from "../components/time.tsx";
import { Field, Select } from "../components/form_fields.tsx";
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
import { checkPath } from "../checks/paths.ts";
import { Actor } from "../keys/labels.tsx";
import { keyPath } from "../keys/paths.ts";
import { jobPath } from "../rate_card/paths.ts";
import { teamPath } from "../teams/paths.ts";
import { Details, fieldOf } from "./details.tsx";

const showAuditLog: Handler = async (c, { auditLog, credentials }) => {
  const parameters = new URLSearchParams(queryOf(c));
  const who = parameters.get("who") ?? "";
  const what = parameters.get("what") ?? "";
  const query = parseAuditQuery(withInstants(parameters), parseAuditCursor);
  if (!query.ok) return fail(c, query.problem);
  const { team, grant } = c.get("principal");
  const { entries, next } = await readMatching(
    auditLog,
    team.id,
    query.value,
    (entry) =>
      (who === "" || entry.actor === who) && (what === "" || objectOf(entry.action) === what),
  );
  const keys = await credentials.list(team, { ...ALL_KEYS, agent: null });
  const isOperator = grant.kind === OPERATOR.grant.kind;
  const nextPath = next === null ? null : AUDIT_LOG_PATH + queryText([
    ...["who", "what", "from", "to", "limit"].map((name) => [name, parameters.get(name)] as const),
    ["cursor", auditCursor(next)],
  ]);
  return showPage(c, {
    title: "Audit",
    body: (
      <>
        <FilterForm action={AUDIT_LOG_PATH}>
          {!isOperator && (
            <Select
              name="who"
              label="Who"
              value={who}
              options={[
                ["", "anyone"],
                ...OTHERS,
                ...keys.records.map(({ id, name }) => [id, name] as const),
              ]}
            />
          )}
          <Select name="what" label="What" value={what} options={[["", "anything"], ...OBJECTS]} />
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
            <Empty title={next === null ? "Nothing changed" : "None of the latest changes"}>
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

/** All keys that a filter offers. */
const ALL_KEYS = { limit: ADMIN_PER_PAGE.max, after: null } as const;

/** Actors that are no keys. */
const OTHERS = [
  [OPERATOR.credentialId, "the operator"],
  [SETTINGS_ACTOR, "the startup settings"],
  [SERVICE_ACTOR, "Runledger"],
] as const;

/** Returns the kind of object that an action changes. */
function objectOf(action: AuditAction): string {
  return action.slice(0, action.indexOf("."));
}

/** Kinds of changed objects. */
const OBJECTS = [...new Set(AUDIT_ACTIONS.map(objectOf))].map((name) =>
  [name, { credential: "keys", rate: "prices", reprice: "repricing" }[name] ?? `${name}s`] as const
);

/** Maximum pages that one search reads: a page with rare matches ends early. */
const PAGES_MAX = 20;

/** Reads pages until one page of entries matches. */
async function readMatching(
  log: AppDeps["auditLog"],
  team: TeamId,
  query: AuditQuery,
  matches: (entry: ReadAuditEntry) => boolean,
): Promise<AuditPage> {
  const entries: ReadAuditEntry[] = [];
  let next = query.after;
  for (let pages = 0; pages < PAGES_MAX && entries.length < query.limit; pages++) {
    const page = await log.page(team, { ...query, after: next });
    entries.push(...page.entries.filter(matches));
    next = page.next;
    if (next === null) break;
  }
  return { entries, next };
}

const DAYS = [["from", "From (UTC)"], ["to", "To (day included)"]] as const;

/**
 * Replaces days with the instants that the API takes: `from` becomes the start of its day, `to` the
 * end of its day.
 */
function withInstants(parameters: URLSearchParams): string {
  const query = new URLSearchParams([...parameters].filter(([, value]) => value !== ""));
  for (const name of ["who", "what"]) query.delete(name);
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
    {
      head: "Change",
      class: "whole",
      cell: (entry) => (
        <>
          <Actor id={entry.actor} name={entry.actorName} /> {actionText(entry)}{" "}
          <Target entry={entry} isOperator={isOperator} />
        </>
      ),
      attributes: ({ action }) => ({ title: action }),
    },
    { head: "Details", class: "whole", cell: ({ details }) => <Details of={details} /> },
  ];
}

/** Labels of actions, and the pages of their targets. */
const ACTIONS: Readonly<
  Record<AuditAction, readonly [label: string, pageOf?: (target: string) => string]>
> = {
  "agent.changed": ["changed the agent", agentPath],
  "channel.put": ["set the channel", channelPath],
  "channel.deleted": ["deleted the channel", () => CHANNELS_PATH],
  "channel.rotated": ["rotated the secret of the channel", channelPath],
  "channel.tested": ["tested the channel", channelPath],
  "channel.broken": ["found that nothing reaches the channel", channelPath],
  "credential.created": ["created the key", keyPath],
  "credential.rotated": ["rotated the key", keyPath],
  "credential.revoked": ["revoked the key", keyPath],
  "check.put": ["set the check", checkPath],
  "check.deleted": ["deleted the check", () => CHECKS_PATH],
  "customer.deleted": [
    "deleted a customer",
    (target) => RUNS_PATH + queryText([["customer_id", target]]),
  ],
  "delivery.resent": ["sent the delivery again", () => DELIVERIES_PATH],
  "incident.acknowledged": ["acknowledged the incident", incidentPath],
  "incident.resolved": ["resolved the incident", incidentPath],
  "monitor.put": ["set the monitor of", agentPath],
  "monitor.deleted": ["deleted the monitor of", agentPath],
  "monitor.paused": ["paused the monitor of", agentPath],
  "monitor.resumed": ["resumed the monitor of", agentPath],
  "rate.put": ["set the price of", () => RATE_CARD_PATH],
  "rate.deleted": ["deleted the price of", () => RATE_CARD_PATH],
  "reprice.started": ["repriced calls, job", jobPath],
  "rule.put": ["set the rule", rulePath],
  "rule.deleted": ["deleted the rule", () => RULES_PATH],
  "run.deleted": ["deleted the run"],
  "silence.put": ["set the silence", () => SILENCES_PATH],
  "silence.deleted": ["deleted the silence", () => SILENCES_PATH],
  "team.created": ["created the team", () => PLAN_PATH],
  "team.changed": ["changed the team", () => PLAN_PATH],
  "team.suspended": ["suspended the team", () => PLAN_PATH],
  "team.resumed": ["resumed the team", () => PLAN_PATH],
};

/** Names an action. */
function actionText({ action, details }: ReadAuditEntry): string {
  if (action === "reprice.started" && details.dry_run === true) return "previewed new prices, job";
  return ACTIONS[action][0];
}

/** The target of an action, linked if it has a page. The operator only has pages of teams. */
function Target(
  { entry, isOperator }: { readonly entry: ReadAuditEntry; readonly isOperator: boolean },
) {
  if (isOperator) return <a href={teamPath(entry.team)}>{entry.team}</a>;
  const { target, action } = entry;
  const full = nameOf(entry);
  const text = full.length > TARGET_CHARS ? `${full.slice(0, TARGET_CHARS)}…` : full;
  const to = ACTIONS[action][1]?.(target);
  return to === undefined
    ? <span title={target}>{text}</span>
    : <a href={to} title={target}>{text}</a>;
}

/** Returns the name of a key and the model of a price; of another long id its end. */
function nameOf({ action, target, details: { name, model, before, after } }: ReadAuditEntry) {
  const states = {
    credential: [name],
    rate: [model, fieldOf(after, "model"), fieldOf(before, "model")],
  };
  const names: readonly unknown[] = states[objectOf(action) as keyof typeof states] ?? [];
  const known = names.find((text) => typeof text === "string");
  if (typeof known === "string") return known;
  return /^[a-z]{3,6}_(?:eu|us)_[0-9a-f]{32}$/.test(target) ? `…${target.slice(-8)}` : target;
}

/** Characters of a target that are enough to recognise it. */
const TARGET_CHARS = 60;

export const auditLogPage: DashboardPage = {
  path: AUDIT_LOG_PATH,
  menu: { name: "Audit", area: "settings" },
  access: teamKeyOrOperator("admin"),
  handler: showAuditLog,
};
