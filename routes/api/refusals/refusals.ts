/** `GET /v1/refusals`: the refused calls of a team, with reasons. */
import { teamKey } from "../../http/access.ts";
import {
  IGNORED_PARAMETER,
  type Refusal,
  type RefusalCode,
  type RefusalCount,
  type Refusals,
} from "../../../domain/refusals/refusals.ts";
import { answer } from "../../http/answer.ts";
import { z } from "zod";
import { type ErrorCode, ERRORS } from "../../../domain/core/errors.ts";
import { AGENT_CHARS_MAX, REFUSAL_CHARS_MAX, REFUSAL_LIMITS } from "../../../domain/core/limits.ts";
import { endpoints, ok } from "../../openapi/describe.ts";
import * as shape from "../../openapi/wire.ts";

const refusalCode = shape.oneOfValue<RefusalCode>("RefusalCode", [
  IGNORED_PARAMETER,
  ...Object.keys(ERRORS) as ErrorCode[],
]);

const refusal = shape.objectValue<Refusal>("Refusal", {
  at: shape.instantValue("at"),
  code: refusalCode(
    "code",
    `Error code; \`${IGNORED_PARAMETER}\` for an accepted call with a parameter that was ignored.`,
  ),
  field: textTo(REFUSAL_CHARS_MAX.field).orNull("field", "The field or parameter at fault."),
  agent: textTo(AGENT_CHARS_MAX).orNull(
    "agent",
    "The agent, if the ping token, the ping or the body names one.",
  ),
  user_agent: textTo(REFUSAL_CHARS_MAX.userAgent).orNull("userAgent", "The client's `User-Agent`."),
  message: textTo(REFUSAL_CHARS_MAX.message)("message"),
  request_id: shape.textValue("requestId"),
  route: shape.textValue("route", "Method and path, without ids."),
});

const count = shape.objectValue<RefusalCount>("RefusalCount", {
  day: shape.dayValue("day", "UTC day."),
  code: refusalCode("code"),
  count: shape.countValue("count"),
});

const report = shape.objectValue<Refusals>("RefusalReport", {
  counts: shape.listValue(count)(
    "counts",
    `Counts of the last ${REFUSAL_LIMITS.days} UTC days, including today: latest day first, most ` +
      "frequent code first within a day.",
  ),
  latest: shape.listValue(refusal)(
    "latest",
    `Up to ${REFUSAL_LIMITS.latest} calls of these days, newest first.`,
  ),
});

function textTo(charsMax: number) {
  return shape.wire(z.string().max(charsMax));
}

/** Endpoint of refused calls. */
export const REFUSAL_ENDPOINTS = endpoints("Refusals", {
  listRefusals: {
    route: "GET /v1/refusals",
    access: teamKey("read"),
    handler: async (c, { refusals, environment }, { team }) => {
      return answer(c, 200, report.write(await refusals.read(team.id, environment.now())));
    },
    summary: "List rejected requests",
    description:
      "Requests with a valid credential of the team that were answered with 4xx, except reads that " +
      "were answered with 404, and accepted requests with a parameter that was ignored. Only these " +
      "counts and the latest messages are stored, nothing else of a rejected request.",
    answers: ok("Counts by day and code, and the latest calls.", report),
  },
});
