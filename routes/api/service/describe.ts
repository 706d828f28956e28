/** What the service says about itself, described. */
import { z } from "zod";
import type { AnswerDescription, OperationDescription } from "../../openapi/describe.ts";
import { anyObject, ifNoneMatch } from "../../openapi/fields.ts";

const same: AnswerDescription = {
  status: 304,
  description: "It is the one that `If-None-Match` names.",
  headers: ["ETag", "Cache-Control"],
};

/** What a supervisor and a reader of the API ask. */
export const SERVICE_OPERATIONS: readonly OperationDescription[] = [
  {
    method: "GET",
    path: "/healthz",
    id: "getHealth",
    tag: "Service",
    summary: "Whether the process lives",
    description: "200 while it does.",
    answers: [{
      status: 200,
      description: "It does.",
      schema: z.object({ status: z.literal("ok") }).meta({ id: "Health" }),
    }],
    errors: [],
    idempotency: "read",
    example: { status: 200, answer: { status: "ok" } },
  },
  {
    method: "GET",
    path: "/readyz",
    id: "getReadiness",
    tag: "Service",
    summary: "Whether it takes requests",
    description: "200 while the store answers and the process is not shutting down.",
    answers: [{
      status: 200,
      description: "It does.",
      schema: z.object({ status: z.literal("ready") }).meta({ id: "Readiness" }),
    }],
    errors: ["storage_unavailable", "shutting_down"],
    idempotency: "read",
    example: { status: 200, answer: { status: "ready" } },
  },
  {
    method: "GET",
    path: "/metrics",
    id: "getMetrics",
    tag: "Service",
    summary: "Figures for Prometheus",
    description:
      "Text format 0.0.4. A team's key sees the requests of its team by route and status, " +
      "how long they took, refusals by code, and the month's events. The operator's key sees the " +
      "requests of all, the store, the worker and the process, and no team apart.",
    answers: [{
      status: 200,
      description: "The figures.",
      schema: z.string(),
      type: "text/plain",
    }],
    errors: ["storage_unavailable"],
    idempotency: "read",
    example: { status: 200, answer: "# HELP runledger_http_requests_total …" },
  },
  {
    method: "GET",
    path: "/openapi.json",
    id: "getDescription",
    tag: "Service",
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
    errors: [],
    idempotency: "read",
    example: { status: 200, answer: { openapi: "3.1.1", info: { title: "Runledger" } } },
  },
  {
    method: "GET",
    path: "/docs",
    id: "getDocs",
    tag: "Service",
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
    errors: [],
    idempotency: "read",
    example: { status: 200, answer: "<!DOCTYPE html>…" },
  },
];
