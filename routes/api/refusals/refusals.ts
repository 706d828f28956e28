/** `GET /v1/refusals`: the refused calls of a team, with reasons. */
import { teamKey } from "../../http/access.ts";
import {
  IGNORED_PARAMETER,
  type Refusal,
  type RefusalCode,
  type RefusalCount,
  type Refusals,
} from "../../../domain/refusals/refusals.ts";
import { z } from "zod";
import { type ErrorCode, ERRORS } from "../../../domain/core/errors.ts";
import { AGENT_CHARS_MAX, REFUSAL_CHARS_MAX, REFUSAL_LIMITS } from "../../../domain/core/limits.ts";
import { endpoints } from "../../openapi/describe.ts";
import * as shape from "../../openapi/wire.ts";
import { returns } from "../answers.ts";

const refusalCode = shape.oneOf<RefusalCode>("RefusalCode", [
  IGNORED_PARAMETER,
  ...Object.keys(ERRORS) as ErrorCode[],
]);

const refusal = shape.object<Refusal>("Refusal", {
  at: shape.instant("at"),
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
  request_id: shape.text("requestId"),
  route: shape.text("route", "Method and path, without ids."),
});

const count = shape.object<RefusalCount>("RefusalCount", {
  day: shape.day("day", "UTC day."),
  code: refusalCode("code"),
  count: shape.count("count"),
});

const report = shape.object<Refusals>("RefusalReport", {
  counts: shape.list(count)(
    "counts",
    `Counts of the last ${REFUSAL_LIMITS.days} UTC days, including today: latest day first, most ` +
      "frequent code first within a day.",
  ),
  latest: shape.list(refusal)(
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
    ...returns(
      "Counts by day and code, and the latest calls.",
      report,
      (_, { refusals, environment }, { team }) => refusals.read(team.id, environment.now()),
    ),
    summary: "List rejected requests",
    description:
      "Requests with a valid credential of the team that were answered with 4xx, except reads that " +
      "were answered with 404, and accepted requests with a parameter that was ignored. Only these " +
      "counts and the latest messages are stored, nothing else of a rejected request.",
  },
});
