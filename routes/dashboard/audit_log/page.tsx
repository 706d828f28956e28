/** `/dashboard/audit`: who changed what, newest first. */
import { OPERATOR } from "../../../domain/teams/credentials.ts";
import { parseInstant } from "../../../domain/core/time.ts";
import { type AuditPage, parseAuditQuery } from "../../../domain/teams/audit_log.ts";
import { fail } from "../../http/answer.ts";
import { auditCursor, parseAuditCursor } from "../../api/audit_log/audit_log.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { AUDIT_LOG_PATH, queryText } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago, Empty, NextPage, Wide } from "../components/elements.tsx";
import { Field } from "../components/form_fields.tsx";
import { Actor } from "../keys/actor.tsx";
import { actionText, Details, Target } from "./labels.tsx";

const DAY_MS = 86_400_000;

/** Shows a page of the log. */
export function showAudit({ auditLog, environment }: AppDeps): Handle {
  return async (c) => {
    const sent = new URLSearchParams(queryOf(c));
    const query = parseAuditQuery(withInstants(sent), parseAuditCursor);
    if (!query.ok) return fail(c, query.problem);
    const { team, grant } = c.get("principal");
    const page = await auditLog.page(team.id, query.value);
    const isOperator = grant.kind === OPERATOR.grant.kind;
    const more = page.next === null ? null : AUDIT_LOG_PATH + queryText([
      ...["from", "to", "limit"].map((name) => [name, sent.get(name)] as const),
      ["cursor", auditCursor(page.next)],
    ]);
    return showPage(c, {
      title: "Audit",
      body: (
        <>
          <Filters from={sent.get("from") ?? ""} to={sent.get("to") ?? ""} />
          {page.entries.length === 0
            ? <Nothing />
            : <Entries page={page} now={environment.now()} isOperator={isOperator} />}
          <NextPage to={more} />
        </>
      ),
    });
  };
}

/** A day stands for its first instant, or as the end for the one behind its last; the call takes instants. */
function withInstants(sent: URLSearchParams): string {
  const query = new URLSearchParams(sent);
  for (const [name, days] of [["from", 0], ["to", 1]] as const) {
    const day = sent.get(name) ?? "";
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

function Nothing() {
  return (
    <Empty title="Nothing changed">
      <p>
        Changes of keys, prices, agents and the team stand here for ever, with who made them.{" "}
        <a href={AUDIT_LOG_PATH}>Show all times</a>
      </p>
    </Empty>
  );
}

interface Listed {
  readonly page: AuditPage;
  readonly now: number;
  readonly isOperator: boolean;
}

function Entries({ page: { entries }, now, isOperator }: Listed) {
  return (
    <Wide label="Changes">
      <table class="roomy folding">
        <caption>
          {isOperator ? "What the operator did, newest first." : "Newest first; kept for ever."}
        </caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">{isOperator ? "Team" : "To what"}</th>
            <th scope="col">Details</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr>
              <td>
                <Ago at={entry.at} now={now} />
              </td>
              <td>
                <Actor id={entry.actor} name={entry.actorName} />
              </td>
              <td title={entry.action}>{actionText(entry)}</td>
              <td>
                <Target entry={entry} isOperator={isOperator} />
              </td>
              <td class="whole">
                <Details entry={entry} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
