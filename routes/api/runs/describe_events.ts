/**
 * One event of a batch, described by its type. Calls of models and lines of a log have fields that the
 * service reads; what else is in `data` is stored as it was sent.
 */
import { z } from "zod";
import { eventBody, llmCallData } from "../../../domain/ingest/event.ts";
import { anyValue } from "../../openapi/fields.ts";
import { NOTES } from "../../openapi/json_schema.ts";

const NOTES_OF_EVENT = {
  id: "Made by the client; `external_id` is accepted in its place.",
  ts: "By the client's clock.",
  data:
    "Stored exactly as sent; `[]` is `{}`. Of an event above 256 KiB, or deeper than 64 levels, " +
    "`truncated`, `bytes`, `preview` and the figures are stored.",
  turn: "Which exchange of a conversation; dropped when malformed.",
};

const event = eventBody as unknown as z.ZodObject;

/** Data with fields that are read, among others. */
function dataOf(schema: unknown, id: string, notes: Record<string, string>) {
  return (schema as z.ZodObject).loose().meta({ id, [NOTES]: notes });
}

const llmCall = event.extend({
  type: z.literal("llm_call"),
  data: dataOf(llmCallData, "LlmCallData", {
    provider: "Goes with `model`.",
    model: "Prices the tokens. A `cost_usd` is ignored: the rate card prices a call.",
    input_tokens: "Cached ones included.",
    cached_input_tokens: "Read from a cache.",
    cache_creation_input_tokens: "Written to a cache.",
  }),
}).meta({ id: "LlmCallEvent", [NOTES]: NOTES_OF_EVENT });

const log = event.extend({
  type: z.literal("log"),
  data: z.looseObject({ message: anyValue.optional() })
    .meta({ id: "LogData", [NOTES]: { message: "The line; any value is stored." } }),
}).meta({ id: "LogEvent", [NOTES]: NOTES_OF_EVENT });

const other = event.meta({
  id: "OtherEvent",
  [NOTES]: {
    ...NOTES_OF_EVENT,
    type: "Such as `tool_call`; any name may be used. Of type `score`, `data` with `name` and " +
      "`value` is also a score of the run.",
  },
});

/** One item of `events`. */
export const eventItem = z.union([llmCall, log, other])
  .meta({ id: "EventItem", description: "An event; its `type` says what `data` has." });
