/**
 * Validates the body of `PUT /v1/judges/{slug}`.
 *
 * @module
 */
import { z } from "zod";
import { DESCRIPTION_CHARS_MAX, runFields, sample } from "../checks/check.ts";
import { flag, refuseLongNames, versionField, whole, withDefault } from "../config/body.ts";
import type { ConfigRequest, ObjectFields, ObjectKind } from "../config/objects.ts";
import type { JsonFields } from "../core/body.ts";
import { refuse } from "../core/errors.ts";
import { name, text } from "../core/fields.ts";
import type { TeamId } from "../core/ids.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import { check } from "../core/validate.ts";
import type { RateCard } from "../pricing/rates.ts";
import { type Connection, CONNECTION_NAME } from "./connection.ts";
import { JUDGES_MAX, type JudgeSettings } from "./judge.ts";
import { readRubric, RUBRIC_CHARS_MAX } from "./prompt.ts";

/** Bounds of the numbers of a judge. */
export const JUDGE_BOUNDS = {
  scale: { min: -1_000, max: 1_000 },
  dailyUsd: { min: 0, max: 10_000, default: 1 },
  outputTokens: { min: 16, max: 16_384, default: 1_024 },
  passAt: { min: 0, max: 1, default: 0.5 },
} as const;

/** Schema of a number in a range. */
function within({ min, max }: { readonly min: number; readonly max: number }) {
  const expected = `a number from ${min} to ${max}`;
  return z.number(expected).min(min, expected).max(max, expected);
}

const RESULT = '{"type": "boolean"} or {"type": "score", "min", "max"}';
const CONNECTION = "the name of a connection of RUNLEDGER_LLM";

/**
 * Value that a judge gives.
 *
 * @internal
 */
export const judgeScale = z.discriminatedUnion("type", [
  z.object({ type: z.literal("boolean") }).meta({ id: "BooleanResult" }),
  z.object({
    type: z.literal("score"),
    min: within(JUDGE_BOUNDS.scale),
    max: within(JUDGE_BOUNDS.scale),
  }).meta({ id: "ScoreResult" }),
], RESULT).meta({ id: "JudgeScale" });

/**
 * Body of `PUT /v1/judges/{slug}`.
 *
 * @internal
 */
export const judgeBody = z.object({
  connection: z.string(CONNECTION).regex(CONNECTION_NAME, CONNECTION)
    .describe("Name of a connection that the operator has set."),
  model: name(LABEL_CHARS_MAX, "a model")
    .describe("Model of the connection. The team's rate card must have a price for it."),
  rubric: text(RUBRIC_CHARS_MAX).refine((sent) => sent !== "", "a text").meta({ minLength: 1 })
    .describe(
      "Instructions, which name the fields of a run to send, such as `{{output}}` or " +
        "`{{metadata/env}}`.",
    ),
  result: judgeScale.describe("Value that the model gives."),
  pass_at: withDefault(within(JUDGE_BOUNDS.passAt), JUDGE_BOUNDS.passAt.default)
    .describe("Least score of a run that passes, on a scale from 0 to 1; 0.5 when absent."),
  ...runFields("empty, but those of judges."),
  sample,
  daily_usd: withDefault(within(JUDGE_BOUNDS.dailyUsd), JUDGE_BOUNDS.dailyUsd.default)
    .describe("Maximum US dollars of a UTC day, never passed; 1 when absent."),
  max_output_tokens: withDefault(
    whole(JUDGE_BOUNDS.outputTokens),
    JUDGE_BOUNDS.outputTokens.default,
  ).describe("Maximum output tokens of a call; 1,024 when absent."),
  enabled: flag(true).describe("`false` judges nothing; `true` when absent."),
  description: withDefault(text(DESCRIPTION_CHARS_MAX), null).describe("Words for people."),
  version: versionField,
});

/**
 * Validates the fields of a judge; its connection and price are checked apart.
 *
 * @param where prefix of the fields' names in messages
 */
export function parseJudge(fields: JsonFields, where = ""): ConfigRequest<JudgeSettings> {
  const { version, pass_at, daily_usd, max_output_tokens, ...same } = check(
    judgeBody,
    fields,
    where,
  );
  const { rubric, result, agents, features } = same;
  const read = readRubric(rubric);
  if (!read.ok) return invalid(`Field "${where}rubric" cannot be used: ${read.reason}`, "rubric");
  if (result.type === "score" && result.min >= result.max) {
    return invalid(`Field "${where}result.min" must be below "max"`, "result");
  }
  refuseLongNames({ agents, features }, where);
  const settings: JudgeSettings = {
    ...same,
    passAt: pass_at,
    dailyUsd: daily_usd,
    maxOutputTokens: max_output_tokens,
  };
  return { settings, version };
}

/**
 * Checks what a judge needs of its surroundings: a connection, and a price of the model.
 *
 * @param card the team's rate card
 */
export function completeJudge(
  settings: JudgeSettings,
  connections: readonly Connection[],
  card: RateCard,
  nowMs: number,
): JudgeSettings {
  const { connection, model } = settings;
  if (!connections.some(({ name }) => name === connection)) {
    const names = connections.map(({ name }) => `"${name}"`).join(", ");
    const message =
      `Field "connection" must name a connection of this server: "${connection}" is ` +
      `none; ${names === "" ? "the operator has set none in RUNLEDGER_LLM" : `use ${names}`}`;
    return invalid(message, "connection");
  }
  if (card.find(connection, model, nowMs) === null) {
    const message = `Field "model" must have a price: the rate card has none for "${model}" of ` +
      `"${connection}"; put one first, 0 for a model that costs nothing`;
    return invalid(message, "model");
  }
  return settings;
}

/** Returns a judge's settings under the field names of requests, responses and the audit log. */
export function judgeFields(settings: JudgeSettings): ObjectFields {
  const { passAt, dailyUsd, maxOutputTokens, result, ...same } = settings;
  return {
    ...same,
    result: { ...result },
    pass_at: passAt,
    daily_usd: dailyUsd,
    max_output_tokens: maxOutputTokens,
  };
}

function invalid(message: string, field: string): never {
  return refuse("invalid_field", message, field);
}

/** Returns the kind of objects whose store refuses an unknown connection and an unpriced model. */
export function pricedJudges(
  connections: readonly Connection[],
  cardOf: (team: TeamId) => Promise<RateCard>,
): ObjectKind<JudgeSettings> {
  return {
    ...JUDGES,
    async complete({ team, sent, atMs }) {
      return { settings: completeJudge(sent, connections, await cardOf(team), atMs) };
    },
  };
}

/** Judges; the store also refuses an unknown connection and a model without a price. */
export const JUDGES: ObjectKind<JudgeSettings> = {
  kind: "judge",
  prefix: "jdg",
  cap: JUDGES_MAX,
  schema: judgeBody,
  parse: (body) => parseJudge(body),
  fieldsOf: judgeFields,
};
