/**
 * The body of `POST /v1/runs/{id}/finish`: schema, repair and checked request.
 *
 * @module
 */
import { z } from "zod";
import { type Body, type CheckedRequest, checkedRequest } from "../core/body.ts";
import { optional } from "../core/fields.ts";
import { SCORE_NAME_CHARS_MAX, SCORES_MAX } from "../core/limits.ts";
import { Losses } from "../core/losses.ts";
import { isScores } from "../core/rules.ts";
import type { FinishRequest } from "../runs/decide.ts";
import type { Score } from "../runs/run.ts";
import {
  clientInstant,
  finishStatus,
  metadataOf,
  object,
  output,
  type ParseContext,
  readerOf,
  withStatus,
} from "./form.ts";
import { mendScores, type MutableFields, namesInOrder, orEmptyObject } from "./mend.ts";
import { outputOf } from "./truncate.ts";

/**
 * Body of `POST /v1/runs/{id}/finish`.
 *
 * @internal
 */
export const finishBody = z.object({
  status: finishStatus.describe("Outcome of the run."),
  finished_at: clientInstant,
  output,
  scores: optional(scores()).describe("Numbers or booleans by name; other values are dropped."),
  metadata: optional(object)
    .describe("Merged with the run's metadata; keys sent here take precedence."),
});

const read = readerOf(mendFinish, finishBody);

/** Parses a `POST /v1/runs/{id}/finish`. Its fields are stored in this order. */
export function parseFinish(body: Body, context: ParseContext): CheckedRequest<FinishRequest> {
  const losses = new Losses();
  const fields = read(withStatus(body, context, "error", "failed"), losses);
  const request: FinishRequest = {
    status: fields.status,
    finishedAt: fields.finished_at,
    output: outputOf(body, losses),
    scores: fields.scores && scoresOf(body, fields.scores),
    metadata: metadataOf(body, fields.metadata, context, losses),
    ...losses.stored,
  };
  return checkedRequest(request, losses);
}

/**
 * Repairs a `POST /v1/runs/{id}/finish`.
 *
 * @internal
 */
export function mendFinish(fields: MutableFields, text: string, losses: Losses): void {
  fields.scores = mendScores(fields.scores, text, losses);
  fields.metadata = orEmptyObject(fields.metadata);
}

/** Schema of scores. */
function scores() {
  const expected = `an object of at most ${SCORES_MAX} numbers or booleans ` +
    `whose names have 1 to ${SCORE_NAME_CHARS_MAX} characters`;
  return z.custom<Record<string, number | boolean>>(isScores, expected)
    .meta({
      id: "ScoreValues",
      type: "object",
      maxProperties: SCORES_MAX,
      propertyNames: { minLength: 1, maxLength: SCORE_NAME_CHARS_MAX },
      additionalProperties: { $ref: "#/components/schemas/ScoreValue" },
    });
}

/**
 * Returns scores in the order of the text. Parsing keeps that order except for names that look like
 * integers.
 */
function scoresOf(body: Body, scores: Readonly<Record<string, number | boolean>>): Score[] {
  const inOrder = Object.entries(scores);
  if (!inOrder.some(([name]) => /^\d/.test(name))) return inOrder;
  const values = new Map(inOrder);
  return namesInOrder(body.text, (name) => values.has(name))
    .map((name) => [name, values.get(name) ?? 0]);
}
