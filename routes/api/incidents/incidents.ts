/** Endpoints of incidents: `/v1/incidents`. */
import { z } from "zod";
import {
  INCIDENTS_PER_PAGE,
  type IncidentsQuery,
  noteBody,
  parseNote,
} from "../../../domain/alerts/incident.ts";
import { incidentJson } from "../../../domain/channels/forms/words.ts";
import { INCIDENT_STATES, SEVERITIES } from "../../../domain/channels/message.ts";
import { isConfigSlug } from "../../../domain/config/body.ts";
import { existing, notFound } from "../../../domain/core/errors.ts";
import { instantText } from "../../../domain/core/fields.ts";
import { Query } from "../../../domain/core/query.ts";
import { isAgent } from "../../../domain/core/rules.ts";
import { teamKey } from "../../http/access.ts";
import { madeBy } from "../../http/context.ts";
import { idInPath, parseTimeCursor, queryOf, timeCursor } from "../../http/query.ts";
import { endpoints } from "../../openapi/describe.ts";
import { idOf, slug } from "../../openapi/fields.ts";
import { configSlug } from "../objects.ts";
import { incidentDetail, incidentPage, incidentValue, severity } from "./incident_json.ts";
import { listOf, returns } from "../answers.ts";

/** The same error for an unknown incident and one of another team. */
export const NO_SUCH_INCIDENT = notFound("No such incident: list the incidents for their ids");

/** Values of the parameter `state`. */
const STATE_CHOICES = [...INCIDENT_STATES, "unresolved"] as const;

/** Parses the query of a list of incidents. */
export function parseIncidentsQuery(text: string): IncidentsQuery {
  const query = new Query(text);
  const page = query.page((cursor) => parseTimeCursor(cursor, "inc"), INCIDENTS_PER_PAGE);
  const { from: fromMs, to: toMs } = query.range();
  const rule = query.valid("rule", isConfigSlug, "the slug of a rule");
  const agent = query.valid("agent", isAgent, "the slug of an agent");
  const state = query.choice("state", STATE_CHOICES) ?? null;
  const severity = query.choice("severity", SEVERITIES) ?? null;
  return { ...page, state, rule, agent, severity, fromMs, toMs };
}

const pathFields = { id: idOf("inc").describe("The incident's id.") };

const FILTERS = {
  state: z.enum(STATE_CHOICES).meta({ id: "IncidentStateChoice" }).optional().describe(
    "Only incidents in this state; `unresolved`: open and acknowledged ones.",
  ),
  rule: configSlug.optional().describe("Only incidents of the rule with this slug."),
  agent: slug().optional().describe("Only incidents of this agent."),
  severity: severity.schema.optional().describe("Only incidents of this severity."),
  from: instantText.optional().describe("Start of the range of openings, inclusive."),
  to: instantText.optional()
    .describe("End of the range of openings, exclusive; not before `from`."),
};

/** Declares the part of an endpoint by which it makes a change by hand. */
function changes(description: string, change: "acknowledge" | "resolve") {
  return returns(description, incidentValue, async (c, deps, { team }) => {
    const note = parseNote(c.get("body"));
    const id = existing(idInPath(c, "inc"), NO_SUCH_INCIDENT);
    const incident = await deps.incidents[change](team, id, note, madeBy(c, deps));
    return incidentDetail(existing(incident, NO_SUCH_INCIDENT), deps.publicUrl);
  });
}

export const INCIDENT_ENDPOINTS = endpoints("Alerts", {
  listIncidents: {
    route: "GET /v1/incidents",
    access: teamKey("read"),
    ...listOf("incidents", incidentPage, INCIDENTS_PER_PAGE, async (c, deps, { team }) => {
      const { incidents, next } = await deps.incidents.list(team, parseIncidentsQuery(queryOf(c)));
      const items = incidents.map((incident) => incidentJson(incident, deps.publicUrl));
      return { items, cursor: next && timeCursor(next) };
    }, FILTERS),
    summary: "List incidents",
    description: "Lists incidents by their opening, latest first. They are kept as long as the " +
      "records of runs.",
  },
  getIncident: {
    route: "GET /v1/incidents/:id",
    access: teamKey("read"),
    ...returns("The incident.", incidentValue, async (c, { incidents, publicUrl }, { team }) => {
      const id = existing(idInPath(c, "inc"), NO_SUCH_INCIDENT);
      return incidentDetail(existing(await incidents.read(team, id), NO_SUCH_INCIDENT), publicUrl);
    }),
    summary: "Read an incident",
    description: "Returns an incident with its timeline.",
    pathFields,
    errors: ["not_found"],
  },
  acknowledgeIncident: {
    route: "POST /v1/incidents/:id/ack",
    access: teamKey("admin"),
    mayLackBody: true,
    ...changes("The acknowledged incident.", "acknowledge"),
    summary: "Acknowledge an incident",
    description: "Says that a user takes care of it: messages about it are not repeated, and " +
      "PagerDuty is notified. The body may be empty. Changes nothing if it is acknowledged or resolved.",
    pathFields,
    body: noteBody.meta({ id: "NoteRequest" }),
    errors: ["not_found"],
    idempotency: "target",
  },
  resolveIncident: {
    route: "POST /v1/incidents/:id/resolve",
    access: teamKey("admin"),
    mayLackBody: true,
    ...changes("The resolved incident.", "resolve"),
    summary: "Resolve an incident",
    description: "Ends it by hand. The next bad outcome may open the next incident. The body may " +
      "be empty. Changes nothing if it is resolved.",
    pathFields,
    body: noteBody.meta({ id: "NoteRequest" }),
    errors: ["not_found"],
    idempotency: "target",
  },
});
