/** JSON of incidents and their timelines in responses. */
import { z } from "zod";
import { rawOf } from "../../../domain/core/raw_json.ts";
import type { Incident, TimelineEntry } from "../../../domain/alerts/incident.ts";
import { type IncidentJson, incidentJson } from "../../../domain/channels/forms/words.ts";
import {
  INCIDENT_STATES,
  type IncidentGroup,
  RESOLVED_BY,
  SEVERITIES,
} from "../../../domain/channels/message.ts";
import * as shape from "../../openapi/wire.ts";

const incidentState = shape.oneOf("IncidentState", INCIDENT_STATES);

export const severity = shape.oneOf("Severity", SEVERITIES);

const resolvedBy = shape.oneOf("IncidentResolvedBy", RESOLVED_BY);

/** An instant that is a text already. */
const instant = shape.wire<string>(z.string().meta(shape.instant.schema.meta() ?? {}), rawOf);

const number = shape.wire<number>(z.number());

const group = shape.object<IncidentGroup>("IncidentGroup", {
  agent: shape.text.optional("agent"),
  customer: shape.text.optional("customer"),
  feature: shape.text.optional("feature"),
  model: shape.text.optional("model", "As `provider/model`."),
  budget: shape.text.optional("budget", "Slug of a budget, beside the one that spent it."),
}, "The group of the rule that it is about: one of these, or none.");

const acknowledgement = shape.object<NonNullable<IncidentJson["acknowledged"]>>(
  "Acknowledgement",
  {
    by: shape.text("by", "Id of the credential."),
    at: instant("at"),
    note: shape.text.orNull("note"),
  },
);

const INCIDENT: shape.WireFields<IncidentJson> = {
  id: shape.id("inc")("id"),
  rule: shape.text("rule", "Slug of the rule that opened it."),
  kind: shape.text("kind", "Kind of the rule."),
  severity: severity("severity"),
  state: incidentState("state"),
  group: group("group"),
  opened_at: instant("opened_at", "Time of the outcome that opened it."),
  resolved_at: instant.orNull("resolved_at", "Null while it is not resolved."),
  resolved_by: resolvedBy.orNull(
    "resolved_by",
    "`condition`: good outcomes; `quiet`: nothing for a day; `hand`: a user; `rule`: it was " +
      "changed, disabled or deleted; `paused`: the monitor was.",
  ),
  duration_seconds: shape.count.orNull("duration_seconds", "Null while it is not resolved."),
  count: shape.count("count", "Bad outcomes so far."),
  value: number.orNull("value", "Measured value of the latest one; null for none."),
  threshold: number.orNull("threshold", "Value of the rule that it is compared with."),
  message: shape.text("message", "One sentence for people."),
  run_ids: shape.list(shape.id("run"))("run_ids", "Newest runs, newest first, 20 at most."),
  silenced: shape.boolean("silenced", "True if a silence holds its messages back."),
  acknowledged: acknowledgement.orNull("acknowledged", "Null without an acknowledgement."),
  url: shape.text.orNull("url", "Its page; null without `RUNLEDGER_PUBLIC_URL`."),
};

/** An incident in lists. */
const incidentRow = shape.object<IncidentJson>("Incident", INCIDENT);

export const incidentPage = shape.page("IncidentPage", "incidents", incidentRow);

const TIMELINE_EVENTS = [
  "opened",
  "repeated",
  "notified",
  "silenced",
  "acknowledged",
  "resolved",
  "left_out",
] as const satisfies readonly TimelineEntry["what"][];

/** A text that may be null. */
const nullableText = shape.wire(z.string().nullable());

const timelineEntry = shape.object<TimelineEntry>("TimelineEntry", {
  at: shape.instant("at"),
  what: shape.oneOf<TimelineEntry["what"]>("TimelineEvent", TIMELINE_EVENTS)(
    "what",
    "`silenced`: messages were held back; `left_out`: entries that are not kept.",
  ),
  count: shape.count.optional(
    (entry) => entry.what === "opened" ? entry.count : undefined,
    "Outcomes that opened it.",
  ),
  run_id: nullableText.optional(
    (entry) => entry.what === "repeated" ? entry.run : undefined,
    "The run of one more bad outcome; null for one without a run.",
  ),
  channels: shape.list(shape.text).optional(
    (entry) => "channels" in entry ? entry.channels : undefined,
    "Slugs of the channels of the messages.",
  ),
  resolved_by: resolvedBy.optional(
    (entry) => entry.what === "resolved" ? entry.resolvedBy : undefined,
  ),
  by: nullableText.optional(
    (entry) => "by" in entry ? entry.by : undefined,
    "Id of the credential of a change by hand.",
  ),
  note: nullableText.optional((entry) => "note" in entry ? entry.note : undefined),
  entries: shape.count.optional(
    (entry) => entry.what === "left_out" ? entry.entries : undefined,
    "Number of entries that were left out.",
  ),
});

/** An incident with its timeline. */
interface IncidentDetail extends IncidentJson {
  readonly timeline: readonly TimelineEntry[];
}

export const incidentValue = shape.object<IncidentDetail>("IncidentDetail", {
  ...INCIDENT,
  timeline: shape.list(timelineEntry)(
    "timeline",
    "What happened, oldest first; of more than 200 entries the first and the latest.",
  ),
});

/** Returns an incident with its timeline, to write. */
export function incidentDetail(incident: Incident, publicUrl: string | null): IncidentDetail {
  return { ...incidentJson(incident, publicUrl), timeline: incident.timeline };
}
