/**
 * The body of `POST /v1/runs/{id}/scores`: schema and checked request.
 *
 * @module
 */
import { z } from "zod";
import { type Body, type CheckedRequest, checkedRequest } from "../core/body.ts";
import type { Parsed } from "../core/errors.ts";
import { name, optional } from "../core/fields.ts";
import type { ScoreId } from "../core/ids.ts";
import { SCORE_NAME_CHARS_MAX, SCORE_SOURCE_CHARS_MAX } from "../core/limits.ts";
import { Losses } from "../core/losses.ts";
import { isScore, isScoreName } from "../core/rules.ts";
import { check, fieldsOf } from "../core/validate.ts";
import type { ScoreRequest } from "../runs/scores.ts";
import { id } from "./form.ts";

/** Source of a score sent without one. */
const DEFAULT_SCORE_SOURCE = "api";

const NAME = `text of 1 to ${SCORE_NAME_CHARS_MAX} characters`;

/**
 * Body of `POST /v1/runs/{id}/scores`.
 *
 * @internal
 */
export const scoreBody = z.object({
  id: id<ScoreId>("scr"),
  name: z.custom<string>((value) => isScoreName(value), NAME)
    .meta({ type: "string", minLength: 1, maxLength: SCORE_NAME_CHARS_MAX }),
  value: z.custom<number | boolean>((value) => isScore(value), "a number or a boolean")
    .meta({ type: ["number", "boolean"] }),
  source: optional(name(SCORE_SOURCE_CHARS_MAX, "a source")),
});

const FIELDS = fieldsOf(scoreBody);

/** Parses a `POST /v1/runs/{id}/scores`. */
export function parseScore(body: Body): Parsed<CheckedRequest<ScoreRequest>> {
  const losses = new Losses();
  losses.ignoreUnknown(body.value, FIELDS);
  const parsed = check(scoreBody, body.value);
  if (!parsed.ok) return parsed;
  const { source = DEFAULT_SCORE_SOURCE } = parsed.value;
  return checkedRequest({ ...parsed.value, source }, losses);
}
