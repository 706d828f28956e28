/** The endpoints about the service itself: health, metrics, and the description of the API. */
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { answer, answerText, fail } from "../../http/answer.ts";
import {
  gauge,
  type MetricFamily,
  METRICS_TYPE,
  metricsText,
} from "../../../domain/metrics/text.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { staticResponse } from "../../http/static_response.ts";
import { z } from "zod";
import { type AnswerDescription, endpoints, ok } from "../../openapi/describe.ts";
import { anyObject, ifNoneMatch } from "../../openapi/fields.ts";

/** The process is alive. */
const getHealth: Handler = (c) => {
  return answer(c, 200, rawOf({ status: "ok" }));
};

/** The store answers and new requests are welcome. */
const getReadiness: Handler = async (c, { ready, draining }) => {
  if (draining()) return fail(c, SHUTTING_DOWN);
  if (await ready()) return answer(c, 200, rawOf({ status: "ready" }));
  return fail(c, { code: "storage_unavailable", message: "The store does not answer: retry" });
};

/** Refuses requests from the signal to stop on. */
export const SHUTTING_DOWN = {
  code: "shutting_down",
  message: "This instance is shutting down: send the request again",
} as const;

const getMetrics: Handler = async (c, { metrics, usage, environment }) => {
  const principal = c.get("principal");
  // Who runs the service sees all of it; a team would learn from it what others do.
  const families = principal.grant.kind === "operator"
    ? [...metrics.requests.families(null), ...await metrics.ofProcess()]
    : [
      ...metrics.requests.families(principal.team.id),
      ...await quotaFamilies(principal.team, usage, environment.now()),
    ];
  return answerText(c, 200, metricsText(families), METRICS_TYPE);
};

/** How much of the present month is used; nothing is included where everything is. */
async function quotaFamilies(
  team: Team,
  usage: AppDeps["usage"],
  nowMs: number,
): Promise<MetricFamily[]> {
  const used = await usage.used(team.id, monthOf(nowMs));
  const included = planOfTeam(team).eventsPerMonth;
  return [
    gauge("runledger_quota_used_events", "Events counted in this month, in UTC.", used),
    ...included === Infinity ? [] : [
      gauge("runledger_quota_included_events", "Events that the plan includes a month.", included),
    ],
  ];
}

/** Answers with the document. */
const getDescription: Handler = staticResponse(async ({ openapiText }) => {
  return { type: "application/json", text: await openapiText(), headers: {} };
});

/** Answers with the page. Its style is allowed by its hash, and nothing else is. */
const getDocs: Handler = staticResponse(async ({ openapiText }) => {
  const { renderDocsPage, POLICY } = await import("../../docs/page.tsx");
  return {
    type: "text/html; charset=UTF-8",
    text: renderDocsPage(JSON.parse(await openapiText())),
    headers: { "Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer" },
  };
});

const same: AnswerDescription = {
  status: 304,
  description: "It is the one that `If-None-Match` names.",
  headers: ["ETag", "Cache-Control"],
};

/** What a supervisor and a reader of the API ask. */
export const SERVICE_ENDPOINTS = endpoints("Service", [
  {
    method: "GET",
    path: "/healthz",
    access: null,
    mayLackHost: true,
    handler: getHealth,
    id: "getHealth",
    summary: "Whether the process lives",
    description: "200 while it does.",
    answers: ok("It does.", z.object({ status: z.literal("ok") }).meta({ id: "Health" })),
    example: { status: 200, answer: { status: "ok" } },
  },
  {
    method: "GET",
    path: "/readyz",
    access: null,
    mayLackHost: true,
    handler: getReadiness,
    id: "getReadiness",
    summary: "Whether it takes requests",
    description: "200 while the store answers and the process is not shutting down.",
    answers: ok("It does.", z.object({ status: z.literal("ready") }).meta({ id: "Readiness" })),
    errors: ["storage_unavailable", "shutting_down"],
    example: { status: 200, answer: { status: "ready" } },
  },
  {
    method: "GET",
    path: "/metrics",
    access: teamKeyOrOperator("read"),
    servesUnderOverload: true,
    handler: getMetrics,
    id: "getMetrics",
    summary: "Metrics for Prometheus",
    description:
      "Text format 0.0.4. A team's key sees the requests of its team by route and status, " +
      "how long they took, refusals by code, and the month's events. The operator's key sees the " +
      "requests of all, the store, the worker and the process, and no team apart.",
    answers: [{
      status: 200,
      description: "The metrics.",
      schema: z.string(),
      type: "text/plain",
    }],
    errors: ["storage_unavailable"],
    example: { status: 200, answer: "# HELP runledger_http_requests_total …" },
  },
  {
    method: "GET",
    path: "/openapi.json",
    access: null,
    handler: getDescription,
    id: "getDescription",
    summary: "This document",
    description: "The API in the form of OpenAPI 3.1, made from the schemas that check requests.",
    headers: ifNoneMatch,
    answers: [
      {
        status: 200,
        description: "The document.",
        schema: anyObject,
        headers: ["ETag", "Cache-Control"],
      },
      same,
    ],
    example: { status: 200, answer: { openapi: "3.1.1", info: { title: "Runledger" } } },
  },
  {
    method: "GET",
    path: "/docs",
    access: null,
    handler: getDocs,
    id: "getDocs",
    summary: "This document as a page",
    description: "For people; it loads nothing from elsewhere and needs no script.",
    headers: ifNoneMatch,
    answers: [
      {
        status: 200,
        description: "The page.",
        schema: z.string(),
        type: "text/html",
        headers: ["ETag", "Cache-Control"],
      },
      same,
    ],
    example: { status: 200, answer: "<!DOCTYPE html>…" },
  },
]);
