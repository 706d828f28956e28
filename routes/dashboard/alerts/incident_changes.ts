/** Submissions of an incident's forms. Each is the same as the API's call. */
import { type Incident, isIncidentId } from "../../../domain/alerts/incident.ts";
import { parseNote } from "../../../domain/alerts/note_body.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { expectedAfter } from "../../../domain/monitors/schedule.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import { NO_SUCH_INCIDENT } from "../../api/incidents/incidents.ts";
import { readPreferences, shownZone } from "../layout/preferences.ts";
import { seeOther } from "../layout/reply.tsx";
import { madeBy } from "../../http/context.ts";
import { bodyOf } from "../components/form_fields.tsx";
import { incidentPath } from "./paths.ts";
import { HOUR_MS } from "../../../domain/core/time.ts";

/** Changes of an incident by hand. */
const CHANGES = ["acknowledge", "resolve"] as const;

const NO_CHANGE: Problem = {
  code: "missing_field",
  message: "The form names no change: load the page again",
  field: "change",
};

/** Acknowledges or resolves an incident. */
export const submitChange: Handler = async (c, deps) => {
  const id = c.req.param("id") ?? "";
  const { team } = c.get("principal");
  const form = c.get("form");
  if (!isIncidentId(id)) return fail(c, NO_SUCH_INCIDENT);
  const change = CHANGES.find((name) => name === form.get("change"));
  if (change === undefined) return fail(c, NO_CHANGE);
  const note = parseNote(bodyOf({ note: (form.get("note") ?? "").trim() }));
  if (!note.ok) return fail(c, note.problem);
  const changed = await deps.incidents[change](team, id, note.value, madeBy(c, deps));
  return changed === null ? fail(c, NO_SUCH_INCIDENT) : seeOther(incidentPath(id));
};

/** Lengths of a silence, by name. */
export const SILENCE_LENGTHS = {
  hour: "For 1 hour",
  tomorrow: "Until tomorrow 09:00",
  week: "For 7 days",
} as const;

/** Creates or prolongs the silence of an incident's rule and group. */
export const submitIncidentSilence: Handler = async (c, deps) => {
  const id = c.req.param("id") ?? "";
  const { team } = c.get("principal");
  const incident = isIncidentId(id) ? await deps.incidents.read(team, id) : null;
  if (incident === null) return fail(c, NO_SUCH_INCIDENT);
  const made = madeBy(c, deps);
  const untilMs = endOf(c.get("form").get("length") ?? "", made.at, shownZone(readPreferences(c)));
  const settings = {
    match: matchOf(incident),
    fromMs: made.at,
    untilMs,
    comment: incident.title.slice(0, COMMENT_CHARS),
  };
  const put = await deps.silences.put(team, slugOf(incident), settings, null, made);
  return put.ok ? seeOther(incidentPath(id)) : fail(c, put.problem);
};

/** Characters of an incident's title that fit the comment of a silence. */
const COMMENT_CHARS = 200;

/** Returns the end of a silence; an unknown length is an hour. */
function endOf(length: string, now: number, tz: string): number {
  switch (length) {
    case "week":
      return now + 168 * HOUR_MS;
    case "tomorrow": {
      const midnight = expectedAfter({ cron: "0 0 * * *", tz }, now);
      return expectedAfter({ cron: "0 9 * * *", tz }, midnight);
    }
    default:
      return now + HOUR_MS;
  }
}

/** Silences match by rule, agent and customer; other groups are silenced with their rule. */
function matchOf({ rule, group: { agent, customer } }: Incident) {
  return {
    rules: [rule],
    agents: agent === undefined ? [] : [agent],
    customers: customer === undefined ? [] : [customer],
  };
}

/** Returns one name for each incident: silencing it again prolongs its silence. */
function slugOf({ id }: Incident): string {
  return `incident-${id.slice(-12).toLowerCase()}`;
}
