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

const incidentState = shape.oneOfValue("IncidentState", INCIDENT_STATES);

export const severity = shape.oneOfValue("Severity", SEVERITIES);

const resolvedBy = shape.oneOfValue("IncidentResolvedBy", RESOLVED_BY);

/** An instant that is a text already. */
const instant = shape.wire<string>(z.string().meta(shape.instantValue.schema.meta() ?? {}), rawOf);

const number = shape.wire<number>(z.number());

const group = shape.objectValue<IncidentGroup>("IncidentGroup", {
  agent: shape.textValue.optional("agent"),
  customer: shape.textValue.optional("customer"),
  feature: shape.textValue.optional("feature"),
  model: shape.textValue.optional("model", "As `provider/model`."),
  budget: shape.textValue.optional("budget", "Slug of a budget, beside the one that spent it."),
}, "The group of the rule that it is about: one of these, or none.");

const acknowledgement = shape.objectValue<NonNullable<IncidentJson["acknowledged"]>>(
  "Acknowledgement",
  {
    by: shape.textValue("by", "Id of the credential."),
    at: instant("at"),
    note: shape.textValue.orNull("note"),
  },
);

const INCIDENT: shape.WireFields<IncidentJson> = {
  id: shape.idValue("inc")("id"),
  rule: shape.textValue("rule", "Slug of the rule that opened it."),
  kind: shape.textValue("kind", "Kind of the rule."),
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
  duration_seconds: shape.countValue.orNull("duration_seconds", "Null while it is not resolved."),
  count: shape.countValue("count", "Bad outcomes so far."),
  value: number.orNull("value", "Measured value of the latest one; null for none."),
  threshold: number.orNull("threshold", "Value of the rule that it is compared with."),
  message: shape.textValue("message", "One sentence for people."),
  run_ids: shape.listValue(shape.idValue("run"))(
    "run_ids",
    "Newest runs, newest first, 20 at most.",
  ),
  silenced: shape.booleanValue("silenced", "True if a silence holds its messages back."),
  acknowledged: acknowledgement.orNull("acknowledged", "Null without an acknowledgement."),
  url: shape.textValue.orNull("url", "Its page; null without `RUNLEDGER_PUBLIC_URL`."),
};

/** An incident in lists. */
const incidentRow = shape.objectValue<IncidentJson>("Incident", INCIDENT);

export const incidentPage = shape.pageValue("IncidentPage", "incidents", incidentRow);

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

const timelineEntry = shape.objectValue<TimelineEntry>("TimelineEntry", {
  at: shape.instantValue("at"),
  what: shape.oneOfValue<TimelineEntry["what"]>("TimelineEvent", TIMELINE_EVENTS)(
    "what",
    "`silenced`: messages were held back; `left_out`: entries that are not kept.",
  ),
  count: shape.countValue.optional(
    (entry) => entry.what === "opened" ? entry.count : undefined,
    "Outcomes that opened it.",
  ),
  run_id: nullableText.optional(
    (entry) => entry.what === "repeated" ? entry.run : undefined,
    "The run of one more bad outcome; null for one without a run.",
  ),
  channels: shape.listValue(shape.textValue).optional(
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
  entries: shape.countValue.optional(
    (entry) => entry.what === "left_out" ? entry.entries : undefined,
    "Number of entries that were left out.",
  ),
});

/** An incident with its timeline. */
interface IncidentDetail extends IncidentJson {
  readonly timeline: readonly TimelineEntry[];
}

export const incidentValue = shape.objectValue<IncidentDetail>("IncidentDetail", {
  ...INCIDENT,
  timeline: shape.listValue(timelineEntry)(
    "timeline",
    "What happened, oldest first; of more than 200 entries the first and the latest.",
  ),
});

/** Returns an incident with its timeline, to write. */
export function incidentDetail(incident: Incident, publicUrl: string | null): IncidentDetail {
  return { ...incidentJson(incident, publicUrl), timeline: incident.timeline };
}
