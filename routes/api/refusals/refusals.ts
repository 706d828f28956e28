/** `GET /v1/refusals`: the refused calls of a team, with reasons. */
import type { Handler } from "../../http/admission.ts";
import { teamKey } from "../../http/access.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import {
  firstHour,
  parseRefusalsQuery,
  type Refusal,
  type RefusalKind,
  type RefusalReport,
} from "../../../domain/refusals/refusals.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answer, fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { z } from "zod";
import { ERRORS } from "../../../domain/core/errors.ts";
import {
  AGENT_CHARS_MAX,
  REFUSAL_CHARS_MAX,
  REFUSAL_HOURS,
  REFUSAL_LIMITS,
} from "../../../domain/core/limits.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import { count, instantField } from "../../openapi/fields.ts";

const listRefusals: Handler = async (c, { refusals, environment }) => {
  const hours = parseRefusalsQuery(queryOf(c));
  if (!hours.ok) return fail(c, hours.problem);
  const nowMs = environment.now();
  const report = await refusals.read(c.get("principal").team.id, nowMs, hours.value);
  return answer(c, 200, rawOf(reportFields(report, firstHour(nowMs, hours.value), nowMs)));
};

function reportFields({ groups, latest }: RefusalReport, from: number, to: number) {
  return {
    from: formatInstant(from),
    to: formatInstant(to),
    count: groups.reduce((sum, { count }) => sum + count, 0),
    groups: groups.map((group) => ({
      hour: formatInstant(group.hour),
      ...kindFields(group),
      count: group.count,
    })),
    latest: latest.map(latestFields),
  };
}

function latestFields(refusal: Refusal) {
  const { at, message, requestId, route } = refusal;
  const kind = kindFields(refusal);
  return { at: formatInstant(at), ...kind, message, request_id: requestId, route };
}

function kindFields({ code, field, agent, userAgent }: RefusalKind) {
  return { code, field, agent, user_agent: userAgent };
}

const kind = {
  code: z.enum(Object.keys(ERRORS) as (keyof typeof ERRORS)[]),
  field: z.string().max(REFUSAL_CHARS_MAX.field).nullable().describe("The invalid field."),
  agent: z.string().max(AGENT_CHARS_MAX).nullable()
    .describe("The agent, if the ping token, the ping or the body names one."),
  user_agent: z.string().max(REFUSAL_CHARS_MAX.userAgent).nullable()
    .describe("The client's `User-Agent`."),
};

const group = z.object({ hour: instantField, ...kind, count }).meta({ id: "RefusalGroup" });

const refusal = z.object({
  at: instantField,
  ...kind,
  message: z.string().max(REFUSAL_CHARS_MAX.message),
  request_id: z.string(),
  route: z.string().describe("Method and path, without ids."),
}).meta({ id: "Refusal" });

const report = z.object({
  from: instantField.describe("Start of the first hour."),
  to: instantField.describe("Time of the report."),
  count: count.describe("Number of refused calls in the range."),
  groups: z.array(group).describe(
    "Latest hour first, most frequent first within an hour. Beyond " +
      `${REFUSAL_LIMITS.kindsPerHour} combinations in an hour, only the code is kept; the other ` +
      "fields are `(other)`.",
  ),
  latest: z.array(refusal).describe(
    `Up to ${REFUSAL_LIMITS.latest} refused calls of the last ${REFUSAL_LIMITS.days} days, newest first.`,
  ),
}).meta({ id: "RefusalReport" });

/** Endpoint of refused calls. */
export const REFUSAL_ENDPOINTS = endpoints("Refusals", {
  listRefusals: {
    route: "GET /v1/refusals",
    access: teamKey("read"),
    handler: listRefusals,
    summary: "List rejected requests",
    description:
      "Requests with a valid credential of the team that were answered with 4xx, except reads that " +
      "were answered with 404. Only these counts and the latest error messages are stored, nothing " +
      "else of a refused request.",
    query: {
      hours: z.int().min(1).max(REFUSAL_HOURS.max).default(REFUSAL_HOURS.default)
        .describe("Hours to report, including the current one."),
    },
    answers: ok("Counts by hour, and the latest refused calls.", report),
    example: {
      query: { hours: "24" },
      answer: {
        from: "2026-11-20T13:00:00.000Z",
        to: "2026-11-21T12:00:00.000Z",
        count: 0,
        groups: [],
        latest: [],
      },
    },
  },
});
