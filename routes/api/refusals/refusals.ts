/** `GET /v1/refusals`: which calls of a team were refused, and why. */
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
  field: z.string().max(REFUSAL_CHARS_MAX.field).nullable().describe("The field at fault."),
  agent: z.string().max(AGENT_CHARS_MAX).nullable()
    .describe("The agent, where a ping token, a heartbeat or an opening says so."),
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
  to: instantField.describe("Now."),
  count: count.describe("Refused calls in these hours."),
  groups: z.array(group).describe(
    "The latest hour first, in an hour the most frequent first. Beyond " +
      `${REFUSAL_LIMITS.kindsPerHour} combinations in an hour, only the code is kept and the rest is ` +
      "`(other)`.",
  ),
  latest: z.array(refusal).describe(
    `Up to ${REFUSAL_LIMITS.latest} of the last ${REFUSAL_LIMITS.days} days, newest first.`,
  ),
}).meta({ id: "RefusalReport" });

/** Reading what was refused. */
export const REFUSAL_ENDPOINTS = endpoints("Refusals", [
  {
    method: "GET",
    path: "/v1/refusals",
    access: teamKey("read"),
    handler: listRefusals,
    id: "listRefusals",
    summary: "List rejected requests",
    description:
      "Calls with a working credential of the team that were answered with 4xx, except " +
      "reads of what does not exist. Nothing of a refused call is stored but these counts, and the " +
      "message that it was answered.",
    query: {
      hours: z.int().min(1).max(REFUSAL_HOURS.max).default(REFUSAL_HOURS.default)
        .describe("Hours to look back, the present one among them."),
    },
    answers: ok("Counts, and the latest.", report),
    example: {
      query: { hours: "24" },
      status: 200,
      answer: {
        from: "2026-11-20T13:00:00.000Z",
        to: "2026-11-21T12:00:00.000Z",
        count: 0,
        groups: [],
        latest: [],
      },
    },
  },
]);
