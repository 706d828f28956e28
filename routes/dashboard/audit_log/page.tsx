/** `/dashboard/audit`: the audit log, newest first. */
import { OPERATOR } from "../../../domain/teams/credentials.ts";
import { parseInstant } from "../../../domain/core/time.ts";
import { parseAuditQuery, type ReadAuditEntry } from "../../../domain/teams/audit_log.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import { auditCursor, parseAuditCursor } from "../../api/audit_log/audit_log.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import type { DashboardPage } from "../layout/page.ts";
import { AUDIT_LOG_PATH, queryText } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago, Empty, NextPage } from "../components/elements.tsx";
import { Field } from "../components/form_fields.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Actor } from "../keys/actor.tsx";
import { actionText, Details, Target } from "./labels.tsx";

const DAY_MS = 86_400_000;

export const auditLogPage: DashboardPage = {
  path: AUDIT_LOG_PATH,
  menu: "Audit",
  access: teamKeyOrOperator("admin"),
  handler: showAuditLog,
};

function showAuditLog({ auditLog, environment }: AppDeps): Handle {
  return async (c) => {
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
          <Filters from={parameters.get("from") ?? ""} to={parameters.get("to") ?? ""} />
          {entries.length === 0 ? <NoEntries /> : (
            <Table
              label="Changes"
              class="roomy folding"
              caption={
                <caption>
                  {isOperator
                    ? "What the operator did, newest first."
                    : "Newest first; kept for ever."}
                </caption>
              }
              columns={columnsFor(environment.now(), isOperator)}
              rows={entries}
            />
          )}
          <NextPage to={nextPath} />
        </>
      ),
    });
  };
}

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

function Filters({ from, to }: { readonly from: string; readonly to: string }) {
  return (
    <form class="filters" method="get" action={AUDIT_LOG_PATH}>
      <Field name="from" label="From (UTC)" type="date" value={from.slice(0, 10)} />
      <Field name="to" label="To (day included)" type="date" value={to.slice(0, 10)} />
      <button type="submit" class="secondary">Show</button>
    </form>
  );
}

function NoEntries() {
  return (
    <Empty title="Nothing changed">
      <p>
        Changes of keys, prices, agents and the team are listed here for ever, with their actors.
        {" "}
        <a href={AUDIT_LOG_PATH}>Show all times</a>
      </p>
    </Empty>
  );
}

function columnsFor(now: number, isOperator: boolean): readonly Column<ReadAuditEntry>[] {
  return [
    { head: "When", cell: ({ at }) => <Ago at={at} now={now} /> },
    { head: "Who", cell: ({ actor, actorName }) => <Actor id={actor} name={actorName} /> },
    { head: "What", cell: actionText, attributes: ({ action }) => ({ title: action }) },
    {
      head: isOperator ? "Team" : "To what",
      cell: (entry) => <Target entry={entry} isOperator={isOperator} />,
    },
    { head: "Details", class: "whole", cell: (entry) => <Details entry={entry} /> },
  ];
}
