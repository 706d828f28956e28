/**
 * Parses bodies and path ids (decisions 2, 5 and 7).
 *
 * @module
 */
import { refuse, Refused } from "../core/errors.ts";
import { idProblem } from "../core/validate.ts";
import { judgeId, type RunId } from "../core/ids.ts";
import { isObject, nestsDeeperThan } from "../core/raw_json.ts";
import { JSON_DEPTH_MAX } from "../core/limits.ts";
import type { Body } from "../core/body.ts";
import { ownText, printable } from "../core/text.ts";

/** Parses a body of the control API: an object of at most 64 levels (decision 7). */
export function parseBody(text: string): Body {
  if (nestsDeeperThan(text, JSON_DEPTH_MAX)) {
    return refuse(
      "payload_too_large",
      `The body nests deeper than ${JSON_DEPTH_MAX} levels: send a flatter one`,
    );
  }
  return parseJson(text);
}

/** Parses a body whose nesting is bounded. */
export function parseJson(text: string): Body {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const detail = error instanceof SyntaxError ? printable(error.message) : "";
    return refuse("invalid_json", `The body is not valid JSON: ${detail}`);
  }
  if (isObject(value)) return { text, value };
  return refuse("invalid_json", "The body must be a JSON object, such as {}");
}

/** Parses the id of a path (decision 5). */
export function parseRunId(text: string): RunId {
  const verdict = judgeId("run", text);
  // A copy, because caches keep ids, and a slice would retain a URL that may be long.
  if (verdict === "valid") return ownText(text as RunId);
  throw new Refused(idProblem(verdict, "run", "id", text));
}
