/** Description of `POST /v1/traces` for `/openapi.json`. */
import { z } from "zod";
import { PROTOBUF_BYTES_MAX } from "./limits.ts";
import { teamKey } from "../http/access.ts";
import type { Description } from "../openapi/describe.ts";

const binary = z.string().meta({ format: "binary", maxLength: PROTOBUF_BYTES_MAX });

const request = z.object({ resourceSpans: z.array(z.unknown()).optional() }).meta({
  id: "ExportTraceServiceRequest",
  description: "Spans as OTLP has them in JSON: lowerCamelCase keys, ids in hex.",
});

const partialSuccess = z.object({ rejectedSpans: z.string(), errorMessage: z.string() }).meta({
  id: "PartialSuccess",
  description: "Spans that were not stored, and why.",
});

const response = z.object({ partialSuccess: partialSuccess.optional() }).meta({
  id: "ExportTraceServiceResponse",
});

const PROTOBUF = "application/x-protobuf";

/** The operation of traces. */
export const TRACES: Description = {
  id: "exportTraces",
  tag: "Traces",
  method: "POST",
  path: "/v1/traces",
  access: teamKey("ingest"),
  summary: "Store spans of OpenTelemetry",
  description:
    "OTLP over HTTP: a trace is the run `run_<region>_<trace id>`, and each model call " +
    "is priced once. `/api/public/otel/v1/traces` and `/otel/v1/traces` take the same.",
  headers: {
    "x-runledger-content": z.literal("drop").optional().describe(
      "`drop` keeps prompts, answers, arguments and messages of errors out.",
    ),
    "x-runledger-agent": z.string().optional().describe("Agent of all traces in the request."),
  },
  body: request,
  bodyAlso: { [PROTOBUF]: binary },
  answers: [{
    status: 200,
    description: "Stored, but for the spans that `partialSuccess` counts.",
    schema: response,
    type: "application/json",
    also: { [PROTOBUF]: binary },
    headers: ["Runledger-Dropped"],
  }],
  errors: ["unsupported_media_type"],
  errorsAs: "status",
  idempotency: "item",
};
