/** What the service says about itself, described. */
import { z } from "zod";
import { anyObject } from "./fields.ts";
import type { Operation } from "./describe.ts";

export const SERVICE_OPERATIONS: readonly Operation[] = [
  {
    method: "GET",
    path: "/openapi.json",
    id: "getDescription",
    tag: "Service",
    summary: "This document",
    description: "The API in the form of OpenAPI 3.1.",
    headers: {
      "If-None-Match": z.string().optional().describe("An `ETag`: 304 while it is the same."),
    },
    answers: [
      {
        status: 200,
        description: "The document.",
        schema: anyObject,
        headers: ["ETag", "Cache-Control"],
      },
      {
        status: 304,
        description: "It is the one that `If-None-Match` names.",
        headers: ["ETag", "Cache-Control"],
      },
    ],
    errors: [],
    idempotency: "read",
    example: { status: 200, answer: { openapi: "3.1.1", info: { title: "Runledger" } } },
  },
];
