/** `/dashboard/alerts/history`: incidents of any state, resolved ones by default. */
import type { Incident } from "../../../domain/alerts/incident.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { queryOf, timeCursor } from "../../http/query.ts";
import { parseIncidentsQuery } from "../../api/incidents/incidents.ts";
import { queryText } from "../layout/paths.ts";
import { Empty } from "../components/elements.tsx";
import { FilterForm, NextPage } from "../components/list_page.tsx";
import { Field, type Option, Select } from "../components/form_fields.tsx";
import { type Column, Table } from "../components/table.tsx";
import { At } from "../components/time.tsx";
import { readSetup, showAlerts } from "./frame.tsx";
import { KnownLists, readKnownValues } from "./known_values.tsx";
import { countText, IncidentMark, openFor } from "./labels.tsx";
import { HISTORY_PATH, incidentPath } from "./paths.ts";
import { RESOLVED_LABELS } from "./story.tsx";

/** Incidents per page. */
const PER_PAGE = 50;

/** States to choose from; without one the resolved ones are shown. */
const STATES: readonly Option[] = [
  ["resolved", "resolved"],
  ["unresolved", "open"],
  ["any", "any"],
];

export const showHistory: Handler = async (c, deps) => {
  const parameters = new URLSearchParams(queryOf(c));
  const { state = "resolved", rule = null, agent = null, severity = null, cursor = null } = Object
    .fromEntries(parameters);
  const parsed = parseIncidentsQuery(
    queryText([
      ...Object.entries({ rule, agent, severity, cursor, state: state === "any" ? null : state }),
      ["limit", PER_PAGE],
    ]).slice(1),
  );
  if (!parsed.ok) return fail(c, parsed.problem);
  const { team } = c.get("principal");
  const [setup, page] = await Promise.all([
    readSetup(c, deps),
    deps.incidents.list(team, parsed.value),
  ]);
  const { agents } = await readKnownValues(deps, team);
  const { incidents, next } = page;
  const filters = { state, rule, agent, severity };
  return showAlerts(c, setup, "history", {
    title: "History",
    lead: "Incidents, newest first",
    body: (
      <>
        <FilterForm action={HISTORY_PATH}>
          <Select name="state" label="State" value={state} options={STATES} />
          <Select
            name="rule"
            label="Rule"
            value={rule ?? ""}
            options={[["", "any"], ...setup.rules.map(({ slug }) => [slug, slug] as const)]}
          />
          <Select
            name="severity"
            label="Severity"
            value={severity ?? ""}
            options={[["", "any"], ...SEVERITIES.map((name) => [name, name] as const)]}
          />
          <Field name="agent" label="Agent" value={agent ?? ""} list="known-agents" />
          <KnownLists known={{ agents }} />
        </FilterForm>
        {incidents.length > 0
          ? (
            <div class="panel">
              <IncidentTable incidents={incidents} now={setup.now} />
            </div>
          )
          : (
            <Empty title={next === null ? "No incident matches" : "None of the latest incidents"}>
              <p>
                <a href={HISTORY_PATH + queryText([["state", "any"]])}>Show all incidents</a>
              </p>
            </Empty>
          )}
        <NextPage
          to={next === null ? null : HISTORY_PATH +
            queryText([...Object.entries(filters), ["cursor", timeCursor(next)]])}
        />
      </>
    ),
  });
};

interface IncidentTableProps {
  readonly incidents: readonly Incident[];
  readonly now: number;
}

/** Incidents as a table. */
export function IncidentTable({ incidents, now }: IncidentTableProps) {
  const columns: readonly Column<Incident>[] = [
    {
      head: "Incident",
      isName: true,
      cell: (incident) => (
        <>
          <IncidentMark of={incident} />{" "}
          <a class="row" href={incidentPath(incident.id)}>{incident.title}</a>
        </>
      ),
    },
    { head: "Severity", cell: ({ severity }) => severity },
    { head: "Rule", before: "rule", cell: ({ rule }) => rule },
    { head: "Opened", cell: ({ openedAt }) => <At at={openedAt} /> },
    { head: "Open for", class: "num", before: "for", cell: (of) => openFor(of, now) },
    { head: "Counted", class: "num", cell: (incident) => countText(incident) ?? "–" },
    {
      head: "How it ended",
      cell: ({ state, resolvedBy }) => resolvedBy === null ? state : RESOLVED_LABELS[resolvedBy],
    },
  ];
  return <Table label="Incidents" class="fold" columns={columns} rows={incidents} />;
}
