/**
 * Schemas of the events of a batch, by type. The service reads fields of model calls and log lines;
 * everything else in `data` is stored as sent.
 */
import { z } from "zod";
import { eventBody, llmCallData } from "../../../domain/ingest/event.ts";
import { anyJson } from "../../../domain/core/fields.ts";

const { description = "" } = eventBody.shape.data;

const llmCall = eventBody.extend({
  type: z.literal("llm_call"),
  data: llmCallData.loose().meta({ id: "LlmCallData" }).describe(description),
}).meta({ id: "LlmCallEvent" });

const log = eventBody.extend({
  type: z.literal("log"),
  data: z.looseObject({
    message: anyJson.optional().describe("The log line; any JSON value is stored."),
  }).meta({ id: "LogData" }).describe(description),
}).meta({ id: "LogEvent" });

const other = eventBody.meta({ id: "OtherEvent" });

/** One item of `events`. */
export const eventItem = z.union([llmCall, log, other])
  .meta({ id: "EventItem", description: "An event; its `type` determines the fields of `data`." });
