/** Submissions of an incident's forms. Each is the same as the API's call. */
import { parseNote } from "../../../domain/alerts/incident.ts";
import { SILENCES } from "../../../domain/alerts/silence.ts";
import { existing, type Problem } from "../../../domain/core/errors.ts";
import { HOUR_MS } from "../../../domain/core/time.ts";
import { expectedAfter } from "../../../domain/monitors/schedule.ts";
import { NO_SUCH_INCIDENT } from "../../api/incidents/incidents.ts";
import { madeBy } from "../../http/context.ts";
import { idInPath } from "../../http/query.ts";
import { bodyOf } from "../components/form_fields.tsx";
import { readPreferences, shownZone } from "../layout/preferences.ts";
import { type PageHandler, seeOther } from "../layout/page.tsx";
import { incidentPath } from "./paths.ts";

/** Changes of an incident by hand. */
const CHANGES = ["acknowledge", "resolve"] as const;

const NO_CHANGE: Problem = {
  code: "missing_field",
  message: "The form names no change: load the page again",
  field: "change",
};

/** Acknowledges or resolves an incident. */
export const submitChange: PageHandler = async ({ c, deps, team }) => {
  const id = existing(idInPath(c, "inc"), NO_SUCH_INCIDENT);
  const form = c.get("form");
  const change = existing(CHANGES.find((name) => name === form.get("change")) ?? null, NO_CHANGE);
  const note = parseNote(bodyOf({ note: (form.get("note") ?? "").trim() }));
  existing(await deps.incidents[change](team, id, note, madeBy(c, deps)), NO_SUCH_INCIDENT);
  return seeOther(incidentPath(id));
};

/** The first 9 o'clock after the next midnight. */
const tomorrow = (now: number, tz: string) =>
  expectedAfter({ cron: "0 9 * * *", tz }, expectedAfter({ cron: "0 0 * * *", tz }, now));

/** Lengths of a silence: the name in the form, the label, and the end. */
export const SILENCE_LENGTHS = [
  ["hour", "For 1 hour", (now: number) => now + HOUR_MS],
  ["tomorrow", "Until tomorrow 09:00", tomorrow],
  ["week", "For 7 days", (now: number) => now + 168 * HOUR_MS],
] as const;

/** Characters of an incident's title that fit the comment of a silence. */
const COMMENT_CHARS = 200;

/**
 * Creates or prolongs the silence of an incident's rule and group. Silences match by rule, agent and
 * customer; other groups are silenced with their rule.
 */
export const submitIncidentSilence: PageHandler = async ({ c, deps, team }) => {
  const id = existing(idInPath(c, "inc"), NO_SUCH_INCIDENT);
  const incident = existing(await deps.incidents.read(team, id), NO_SUCH_INCIDENT);
  const { rule, group: { agent, customer }, title } = incident;
  const listOf = (name: string | undefined) => name === undefined ? [] : [name];
  const made = madeBy(c, deps);
  const length = c.get("form").get("length");
  const [, , endAfter] = SILENCE_LENGTHS.find(([name]) => name === length) ?? SILENCE_LENGTHS[0];
  const settings = {
    match: { rules: [rule], agents: listOf(agent), customers: listOf(customer) },
    fromMs: made.at,
    untilMs: endAfter(made.at, shownZone(readPreferences(c))),
    comment: title.slice(0, COMMENT_CHARS),
  };
  // One name for each incident: silencing it again prolongs its silence.
  const slug = `incident-${incident.id.slice(-12).toLowerCase()}`;
  await deps.objects(SILENCES).put(team, slug, settings, null, made);
  return seeOther(incidentPath(id));
};
