/** Endpoints of incidents: `/v1/incidents`. */
import { z } from "zod";
import type { Incident } from "../../../domain/alerts/incident.ts";
import { noteBody, parseNote } from "../../../domain/alerts/note_body.ts";
import { INCIDENTS_PER_PAGE } from "../../../domain/alerts/store.ts";
import { incidentJson } from "../../../domain/channels/forms/incident_json.ts";
import { instantText } from "../../../domain/core/fields.ts";
import { teamKey } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { answer, fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { timeCursor } from "../../http/cursor.ts";
import { madeBy } from "../../http/made_by.ts";
import { idInPath, queryOf } from "../../http/query.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { cursorOf, idOf, limitOf, slug } from "../../openapi/fields.ts";
import { configSlug } from "../config/fields.ts";
import { ACKNOWLEDGED, DETAIL, INCIDENT, INCIDENT_ID, RESOLVED } from "./examples.ts";
import { incidentDetail, incidentPage, incidentValue, severity } from "./incident_json.ts";
import { NO_SUCH_INCIDENT, parseIncidentsQuery, STATE_CHOICES } from "./incidents.ts";

const pathFields = { id: idOf("inc").describe("The incident's id.") };

/** Operations whose examples open an incident. */
const OPENED = ["putRule", "openRun", "appendEvents", "finishRun", "listIncidents"];

/** Answers with an incident; null for an unknown one. */
function answerIncident(
  c: RequestContext,
  { publicUrl }: AppDeps,
  incident: Incident | null,
): Response {
  if (incident === null) return fail(c, NO_SUCH_INCIDENT);
  return answer(c, 200, incidentValue.write(incidentDetail(incident, publicUrl)));
}

/** Creates the handler of a change by hand. */
function byHand(change: "acknowledge" | "resolve"): Handler {
  return async (c, deps) => {
    const note = parseNote(c.get("body"));
    if (!note.ok) return fail(c, note.problem);
    const id = idInPath(c, "inc");
    const { team } = c.get("principal");
    const incident = id === null
      ? null
      : await deps.incidents[change](team, id, note.value, madeBy(c, deps));
    return answerIncident(c, deps, incident);
  };
}

/** Endpoints of incidents. */
export const INCIDENT_ENDPOINTS = endpoints("Alerts", {
  listIncidents: {
    route: "GET /v1/incidents",
    access: teamKey("read"),
    handler: async (c, { incidents, publicUrl }) => {
      const query = parseIncidentsQuery(queryOf(c));
      if (!query.ok) return fail(c, query.problem);
      const page = await incidents.list(c.get("principal").team, query.value);
      const items = page.incidents.map((incident) => incidentJson(incident, publicUrl));
      const cursor = page.next === null ? null : timeCursor(page.next);
      return answer(c, 200, incidentPage.write({ items, cursor }));
    },
    summary: "List incidents",
    description: "Lists incidents by their opening, latest first. They are kept as long as the " +
      "records of runs.",
    query: {
      state: z.enum(STATE_CHOICES).meta({ id: "IncidentStateChoice" }).optional().describe(
        "Only incidents in this state; `unresolved`: open and acknowledged ones.",
      ),
      rule: configSlug.optional()
        .describe("Only incidents of the rule with this slug."),
      agent: slug().optional().describe("Only incidents of this agent."),
      severity: severity.schema.optional()
        .describe("Only incidents of this severity."),
      from: instantText.optional().describe("Start of the range of openings, inclusive."),
      to: instantText.optional()
        .describe("End of the range of openings, exclusive; not before `from`."),
      limit: limitOf(INCIDENTS_PER_PAGE, "incidents"),
      cursor: cursorOf("cursor"),
    },
    answers: ok("A page of incidents.", incidentPage),
    example: {
      query: { state: "unresolved" },
      answer: { incidents: [INCIDENT], cursor: null },
      needs: OPENED.slice(0, -1),
    },
  },
  getIncident: {
    route: "GET /v1/incidents/:id",
    access: teamKey("read"),
    handler: async (c, deps) => {
      const id = idInPath(c, "inc");
      const { team } = c.get("principal");
      const incident = id === null ? null : await deps.incidents.read(team, id);
      return answerIncident(c, deps, incident);
    },
    summary: "Read an incident",
    description: "Returns an incident with its timeline.",
    pathFields,
    answers: ok("The incident.", incidentValue),
    errors: ["not_found"],
    example: { path: { id: INCIDENT_ID }, answer: DETAIL, needs: OPENED },
  },
  acknowledgeIncident: {
    route: "POST /v1/incidents/:id/ack",
    access: teamKey("admin"),
    mayLackBody: true,
    handler: byHand("acknowledge"),
    summary: "Acknowledge an incident",
    description: "Says that a user takes care of it: messages about it are not repeated, and " +
      "PagerDuty is notified. The body may be empty. Changes nothing if it is acknowledged or resolved.",
    pathFields,
    body: noteBody.meta({ id: "NoteRequest" }),
    answers: ok("The acknowledged incident.", incidentValue),
    errors: ["not_found"],
    idempotency: "target",
    example: {
      path: { id: INCIDENT_ID },
      body: { note: "looking into it" },
      answer: ACKNOWLEDGED,
      needs: OPENED,
    },
  },
  resolveIncident: {
    route: "POST /v1/incidents/:id/resolve",
    access: teamKey("admin"),
    mayLackBody: true,
    handler: byHand("resolve"),
    summary: "Resolve an incident",
    description: "Ends it by hand. The next bad outcome may open the next incident. The body may " +
      "be empty. Changes nothing if it is resolved.",
    pathFields,
    body: noteBody.meta({ id: "NoteRequest" }),
    answers: ok("The resolved incident.", incidentValue),
    errors: ["not_found"],
    idempotency: "target",
    example: {
      path: { id: INCIDENT_ID },
      body: { note: "a smaller model is set" },
      answer: RESOLVED,
      needs: OPENED,
    },
  },
});
