/** Endpoints of `/v1/rate-card`. */
import { card, deleteRate, listRates, match, matchRate, ownRow, putRate } from "./rate_card.ts";
import { teamKey } from "../../http/access.ts";
import { z } from "zod";
import { instantText } from "../../../domain/core/fields.ts";
import { LABEL_CHARS_MAX, RATE_TIERS_MAX, RATES_PER_PAGE } from "../../../domain/core/limits.ts";
import { rateBody, tierBody } from "../../../domain/pricing/rate_body.ts";
import { endpoints, ok, tagged, written } from "../../openapi/describe.ts";
import { cursorOf, ifNoneMatch, limitOf, rateSource } from "../../openapi/fields.ts";

const tier = tierBody.meta({ id: "RateTierRequest" });

const putBody = rateBody.extend({
  tiers: z.array(tier).max(RATE_TIERS_MAX).nullish()
    .describe("Rates of calls with more input tokens."),
}).meta({ id: "RateRequest" });

const ROW = {
  id: "default/anthropic/claude-haiku-4-5",
  source: "default",
  provider: "anthropic",
  model: "claude-haiku-4-5",
  effective_from: null,
  input_usd_per_million: 1,
  output_usd_per_million: 5,
  cached_input_usd_per_million: 0.1,
  cache_write_usd_per_million: 1.25,
  tiers: [],
  batch_percent: 50,
};

const OWN_ROW = {
  ...ROW,
  id: "rate_01KAK7ZJ5P3V9Q8W2X4Y6R1T0S",
  source: "own",
  input_usd_per_million: 0.8,
  output_usd_per_million: 4,
  cached_input_usd_per_million: null,
  cache_write_usd_per_million: null,
  batch_percent: null,
  created_at: "2026-11-21T12:00:00.000Z",
  created_by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
  note: "contract of November",
};

/** Rate card endpoints. */
export const RATE_CARD_ENDPOINTS = endpoints("Rate card", {
  listRates: {
    route: "GET /v1/rate-card",
    access: teamKey("admin"),
    handler: listRates,
    summary: "List prices",
    description: "Returns all of the team's own rows, and one page of the default rows.",
    query: {
      provider: z.string().optional().describe("Rows of this provider, by any of its names."),
      model: z.string().optional().describe("Rows whose model contains this text."),
      source: rateSource.optional().describe("Rows of this source only."),
      limit: limitOf(RATES_PER_PAGE, "default rows"),
      cursor: cursorOf("cursor"),
    },
    headers: ifNoneMatch,
    answers: tagged("The rate card.", card),
    example: {
      query: { provider: "anthropic", model: "haiku-4-5", limit: "10" },
      answer: {
        own: [],
        default: [ROW],
        cursor: null,
        default_source: { name: "@pydantic/genai-prices", version: "0.1.8" },
      },
    },
  },
  putRate: {
    route: "PUT /v1/rate-card",
    access: teamKey("admin"),
    handler: putRate,
    summary: "Set a price",
    description:
      "`provider`, `model` and `effective_from` identify the row. Returns 202 when the " +
      "row is new or replaces one with other values, 200 when the stored row is the same. It " +
      "prices calls that are stored from then on. Unknown fields that name money or units are " +
      "refused.",
    body: putBody,
    answers: written(ownRow),
    errors: ["missing_field"],
    idempotency: "content",
    example: {
      body: {
        provider: "anthropic",
        model: "claude-haiku-4-5",
        input_usd_per_million: 0.8,
        output_usd_per_million: 4,
        note: "contract of November",
      },
      answer: OWN_ROW,
    },
  },
  matchRate: {
    route: "GET /v1/rate-card/match",
    access: teamKey("admin"),
    handler: matchRate,
    summary: "Find the price of a call",
    description: "Returns the row that would price a call, and how its model's name was matched.",
    query: {
      model: z.string().max(LABEL_CHARS_MAX).describe("The model, as the call names it."),
      provider: z.string().max(LABEL_CHARS_MAX).optional()
        .describe("The provider, as the call names it."),
      at: instantText.optional().describe("Time of the call; now when absent."),
    },
    answers: ok("The matching row, or null.", match),
    errors: ["missing_field"],
    example: {
      query: { provider: "anthropic", model: "claude-haiku-4-5" },
      answer: {
        provider: "anthropic",
        model: "claude-haiku-4-5",
        at: "2026-11-21T12:00:00.000Z",
        matched_by: "exact",
        row: ROW,
      },
    },
  },
  deleteRate: {
    route: "DELETE /v1/rate-card/:id",
    access: teamKey("admin"),
    handler: deleteRate,
    summary: "Delete a price",
    description:
      "Deletes an own row; calls that it priced keep their price. Any other id returns " +
      "404, including ids of default rows and of rows that are already deleted.",
    pathFields: { id: z.string().describe("The row's id.") },
    answers: ok("The deleted row.", ownRow),
    errors: ["not_found"],
    idempotency: "target",
    example: { path: { id: OWN_ROW.id }, answer: OWN_ROW, needs: ["putRate"] },
  },
});
