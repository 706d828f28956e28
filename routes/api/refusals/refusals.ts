/** `GET /v1/refusals`: the refused calls of a team, with reasons. */
import { teamKey } from "../../http/access.ts";
import {
  firstHour,
  parseRefusalsQuery,
  type Refusal,
  type RefusalKind,
  type RefusalOfHour,
  type RefusalReport,
} from "../../../domain/refusals/refusals.ts";
import { answer, fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { z } from "zod";
import { type ErrorCode, ERRORS } from "../../../domain/core/errors.ts";
import {
  AGENT_CHARS_MAX,
  REFUSAL_CHARS_MAX,
  REFUSAL_HOURS,
  REFUSAL_LIMITS,
} from "../../../domain/core/limits.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import {
  countValue,
  instantValue,
  listValue,
  objectValue,
  oneOfValue,
  textValue,
  wire,
  type WireFields,
} from "../../openapi/wire.ts";

const KIND: WireFields<RefusalKind> = {
  code: oneOfValue<string>("ErrorCode", Object.keys(ERRORS) as [ErrorCode])("code"),
  field: textTo(REFUSAL_CHARS_MAX.field).orNull("field", "The invalid field."),
  agent: textTo(AGENT_CHARS_MAX).orNull(
    "agent",
    "The agent, if the ping token, the ping or the body names one.",
  ),
  user_agent: textTo(REFUSAL_CHARS_MAX.userAgent).orNull("userAgent", "The client's `User-Agent`."),
};

const group = objectValue<RefusalOfHour>("RefusalGroup", {
  hour: instantValue("hour"),
  ...KIND,
  count: countValue("count"),
});

const refusal = objectValue<Refusal>("Refusal", {
  at: instantValue("at"),
  ...KIND,
  message: textTo(REFUSAL_CHARS_MAX.message)("message"),
  request_id: textValue("requestId"),
  route: textValue("route", "Method and path, without ids."),
});

const report = objectValue<RefusalReport & { readonly from: number; readonly to: number }>(
  "RefusalReport",
  {
    from: instantValue("from", "Start of the first hour."),
    to: instantValue("to", "Time of the report."),
    count: countValue(
      ({ groups }) => groups.reduce((sum, { count }) => sum + count, 0),
      "Number of refused calls in the range.",
    ),
    groups: listValue(group)(
      "groups",
      "Latest hour first, most frequent first within an hour. Beyond " +
        `${REFUSAL_LIMITS.kindsPerHour} combinations in an hour, only the code is kept; the other ` +
        "fields are `(other)`.",
    ),
    latest: listValue(refusal)(
      "latest",
      `Up to ${REFUSAL_LIMITS.latest} refused calls of the last ${REFUSAL_LIMITS.days} days, newest first.`,
    ),
  },
);

function textTo(charsMax: number) {
  return wire(z.string().max(charsMax));
}

/** Endpoint of refused calls. */
export const REFUSAL_ENDPOINTS = endpoints("Refusals", {
  listRefusals: {
    route: "GET /v1/refusals",
    access: teamKey("read"),
    handler: async (c, { refusals, environment }) => {
      const hours = parseRefusalsQuery(queryOf(c));
      if (!hours.ok) return fail(c, hours.problem);
      const nowMs = environment.now();
      const stored = await refusals.read(c.get("principal").team.id, nowMs, hours.value);
      const from = firstHour(nowMs, hours.value);
      return answer(c, 200, report.write({ ...stored, from, to: nowMs }));
    },
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
