/**
 * The texts, labels and scores of a run that lists show and search. They are read from its parts,
 * because its summary has none of them.
 *
 * @module
 */
import { excerptOfString } from "../core/pretty_json.ts";
import { type RawJson, rawMembers } from "../core/raw_json.ts";
import { cutText, printable } from "../core/text.ts";
import { mergeMetadata, type Metadata } from "./metadata.ts";
import { errorOf, type RunParts, type Score } from "./run.ts";

/** Details of a run, which may be large. */
export interface RunDetails {
  /** Goal; null for none. */
  readonly goal: string | null;
  /** Output as sent; null for none. */
  readonly output: RawJson | null;
  /** Reason of a failure in the run's own words; null for none. */
  readonly error: string | null;
  /** Merged labels of the opening and the close. */
  readonly metadata: Metadata;
  /** Scores of the close and those added later. */
  readonly scores: readonly Score[];
}

/** Returns the details of a run. */
export function detailsOf(parts: RunParts, addedScores: readonly Score[]): RunDetails {
  const { opening, closing } = parts;
  return {
    goal: opening?.goal ?? null,
    output: closing?.output ?? opening?.output ?? null,
    error: errorOf(parts),
    metadata: mergeMetadata(opening?.metadata ?? null, closing?.metadata ?? null) ?? [],
    scores: [...closing?.scores ?? [], ...addedScores],
  };
}

/** The details of a run in a list: short texts. */
export interface RunLines extends Pick<RunDetails, "metadata" | "scores"> {
  /** First line of its goal; without one of its error, else of its output; null for none. */
  readonly name: string | null;
  /** First line of the reason of its failure; null for none. */
  readonly error: string | null;
  /** Seconds without a call after which it is closed; null for no limit. */
  readonly idleTimeoutSeconds: number | null;
}

/** Returns the details of a run as a list shows them. */
export function linesOf(parts: RunParts, addedScores: readonly Score[]): RunLines {
  const details = detailsOf(parts, addedScores);
  const { error, metadata, scores } = details;
  return {
    name: nameIn(details),
    error: firstLine(error),
    metadata,
    scores,
    idleTimeoutSeconds: parts.opening?.idleTimeoutSeconds ?? null,
  };
}

/** Returns the name of a run: the first line of its goal, else of its error, else of its output. */
export function nameIn(
  { goal, error, output }: Pick<RunDetails, "goal" | "error" | "output">,
): string | null {
  return firstLine(goal) ?? firstLine(error) ?? firstLine(textIn(output));
}

/** Returns the text of an output: a string, the first text of an object, or other JSON as it is. */
function textIn(output: RawJson | null): string | null {
  const texts = output?.startsWith("{") ? [...rawMembers(output).values()] : [];
  const text = texts.find((value) => value?.startsWith('"')) ?? output;
  return text?.startsWith('"') ? excerptOfString(text, LINE_CHARS_MAX).text : text;
}

/** Maximum characters of a line; further ones are cut. */
const LINE_CHARS_MAX = 300;

/** Returns the first line of a text that can be seen; null for none. */
function firstLine(text: string | null): string | null {
  const line = /[^\s\p{C}\p{Z}\p{M}].*/u.exec(text ?? "")?.[0].trimEnd() ?? null;
  return line === null ? null : cutText(printable(line), LINE_CHARS_MAX);
}
