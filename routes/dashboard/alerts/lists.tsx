/** Lists of the area: `/dashboard/alerts/history` of incidents, and `/dashboard/alerts/deliveries`. */
import { existing } from "../../../domain/core/errors.ts";
import type { Incident } from "../../../domain/alerts/incident.ts";
import { DELIVERY_DAYS, DELIVERY_STATES } from "../../../domain/channels/delivery.ts";
import { headlineOf } from "../../../domain/channels/forms/words.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import { NO_SUCH_DELIVERY, parseDeliveriesQuery } from "../../api/deliveries/deliveries.ts";
import { parseIncidentsQuery } from "../../api/incidents/incidents.ts";
import { madeBy } from "../../http/context.ts";
import { idInPath, queryOf, timeCursor } from "../../http/query.ts";
import { formOf, type Option, readTexts } from "../components/form_fields.tsx";
import { type Column, FilterForm, listPage, nameColumn, nextPath } from "../components/table.tsx";
import { At } from "../components/elements.tsx";
import { ownPage, queryText } from "../layout/paths.ts";
import { type PageHandler, seeOther } from "../layout/page.tsx";
import { DELIVERY_LABELS, deliveryTable } from "./delivery_table.tsx";
import { readSetup, withTabs } from "./frame.tsx";
import { KnownLists, readKnownAgents } from "../objects/known_values.tsx";
import { countText, IncidentMark, openFor, RESOLVED_LABELS } from "./labels.tsx";
import { CHANNELS_PATH, DELIVERIES_PATH, HISTORY_PATH, incidentPath } from "./paths.ts";

/** The option of a filter that lets everything pass. */
const ANY: Option = ["", "any"];

/** Incidents or deliveries per page. */
const PER_PAGE = 50;

/** Returns the query of the API's call that lists the same page. */
function pageQuery(parameters: Readonly<Record<string, string | null | undefined>>): string {
  return queryText([...Object.entries(parameters), ["limit", PER_PAGE]]).slice(1);
}

/** Shows incidents of any state; by default the resolved ones. */
export const showHistory: PageHandler = async (visit) => {
  const { c, deps, team } = visit;
  const query = new URLSearchParams(queryOf(c));
  const { cursor, ...filters } = readTexts(query, ["state", "rule", "agent", "severity", "cursor"]);
  const texts = { ...filters, state: filters.state || "resolved" };
  const state = texts.state === "any" ? null : texts.state;
  const listed = parseIncidentsQuery(pageQuery({ ...texts, cursor, state }));
  const [setup, { incidents, next }, agents] = await Promise.all([
    readSetup(visit),
    deps.incidents.list(team, listed),
    readKnownAgents(visit),
  ]);
  const { text, choice } = formOf(texts, null);
  const view = listPage({
    title: "History",
    subtitle: "Incidents, newest first",
    filters: (
      <FilterForm action={HISTORY_PATH}>
        {choice("state", "State", ["resolved", ["unresolved", "open"], "any"])}
        {choice("rule", "Rule", [ANY, ...setup.rules.map(({ slug }) => slug)])}
        {choice("severity", "Severity", [ANY, ...SEVERITIES])}
        {text("agent", "Agent", { list: "known-agents" })}
        <KnownLists known={{ agents }} />
      </FilterForm>
    ),
    table: { label: "Incidents", class: "fold", columns: columnsAt(setup.now), rows: incidents },
    empty: [
      next === null ? "No incident matches" : "None of the latest incidents",
      <a href={HISTORY_PATH + queryText([["state", "any"]])}>Show all incidents</a>,
    ],
    next: nextPath(HISTORY_PATH, texts, next && timeCursor(next)),
  });
  return withTabs(setup, "history", view);
};

const columnsAt = (now: number): readonly Column<Incident>[] => [
  nameColumn("Incident", (incident) => (
    <>
      <IncidentMark of={incident} />{" "}
      <a class="row" href={incidentPath(incident.id)}>{headlineOf(incident)}</a>
    </>
  )),
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

/** Shows the messages on their way to channels. */
export const showDeliveries: PageHandler = async (visit) => {
  const { c, deps, team } = visit;
  const query = new URLSearchParams(queryOf(c));
  const texts = readTexts(query, ["channel", "state", "incident", "cursor"]);
  const listed = parseDeliveriesQuery(pageQuery(texts));
  const { deliveries, next } = await deps.deliveries.list(team, listed);
  const setup = await readSetup(visit);
  const { cursor: _, ...filters } = texts;
  const states = DELIVERY_STATES.map((state) => [state, DELIVERY_LABELS[state][0]] as const);
  const isFiltered = queryText(Object.entries(filters)) !== "";
  const shown = DELIVERIES_PATH + queryText(Object.entries(texts));
  const { choice } = formOf(texts, null);
  const view = listPage({
    title: "Deliveries",
    subtitle: `Messages to channels, kept for ${DELIVERY_DAYS} days`,
    filters: (
      <FilterForm action={DELIVERIES_PATH}>
        {choice("channel", "Channel", [ANY, ...setup.channels.map(({ slug }) => slug)])}
        {choice("state", "State", [ANY, ...states])}
        {filters.incident && <input type="hidden" name="incident" value={filters.incident} />}
      </FilterForm>
    ),
    table: { label: "Deliveries", ...deliveryTable({ deliveries, setup, page: shown }) },
    empty: [
      next === null ? "No deliveries" : "None of the latest deliveries",
      isFiltered ? <a href={DELIVERIES_PATH}>Show all deliveries</a> : [
        "Each message about an incident is listed here with its tries. ",
        <a href={CHANNELS_PATH}>Channels</a>,
      ],
    ],
    next: nextPath(DELIVERIES_PATH, filters, next && timeCursor(next)),
  });
  return withTabs(setup, "deliveries", view);
};

/** Sends a delivery again, and returns to the page that lists it. */
export const submitResend: PageHandler = async ({ c, deps, team }) => {
  const id = existing(idInPath(c, "whd"), NO_SUCH_DELIVERY);
  existing(await deps.deliveries.resend(team, id, madeBy(c, deps)), NO_SUCH_DELIVERY);
  return seeOther(ownPage(c.get("form").get("from")));
};
