/**
 * Parses bodies and path ids (decisions 2, 5 and 7).
 *
 * @module
 */
import { type Parsed, refuse } from "../core/errors.ts";
import { idProblem } from "../core/validate.ts";
import { cutBody, type CutShape } from "./cut_body.ts";
import { judgeId, type RunId } from "../core/ids.ts";
import { isObject, nestsDeeperThan } from "../core/raw_json.ts";
import { JSON_DEPTH_MAX } from "../core/limits.ts";
import type { Body } from "../core/body.ts";
import { ownText, printable } from "../core/text.ts";
import { runAllSlices } from "../core/time_slices.ts";

/**
 * Shape of a call's body. A `whole` body is never cut, but refused if it is too large or too deep.
 */
export type BodyShape = CutShape | "whole";

/** Parses a body, which must be an object (decision 7). A body that nests too deeply is cut. */
export function parseBody(text: string, shape: BodyShape = "whole"): Parsed<Body> {
  if (nestsDeeperThan(text, JSON_DEPTH_MAX)) {
    if (shape !== "whole") return runAllSlices(cutBody(new TextEncoder().encode(text), shape));
    return refuse(
      "payload_too_large",
      `The body nests deeper than ${JSON_DEPTH_MAX} levels: send a flatter one`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const detail = error instanceof SyntaxError ? printable(error.message) : "";
    return refuse("invalid_json", `The body is not valid JSON: ${detail}`);
  }
  if (isObject(value)) return { ok: true, value: { text, value } };
  return refuse("invalid_json", "The body must be a JSON object, such as {}");
}

/** Parses the id of a path (decision 5). */
export function parseRunId(text: string): Parsed<RunId> {
  const verdict = judgeId("run", text);
  // A copy, because caches keep ids, and a slice would retain a URL that may be long.
  if (verdict === "valid") return { ok: true, value: ownText(text as RunId) };
  return { ok: false, problem: idProblem(verdict, "run", "id", text) };
}
