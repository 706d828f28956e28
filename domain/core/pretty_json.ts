/**
 * Indents JSON for display and otherwise leaves it as sent.
 *
 * The JSON is not parsed, so large integers, `1.0`, escapes and the order of keys survive.
 *
 * @module
 */
import { afterSpace, endOfValue, type RawJson } from "./raw_json.ts";

/** Text for display, possibly cut. */
export interface PrettyJson {
  /** The text. */
  readonly text: string;
  /** True if the text is cut. */
  readonly isCut: boolean;
}

const INDENT = "  ";

/**
 * Formats a valid JSON value with one member or element per line.
 *
 * @param charsMax maximum characters of the result; formatting stops there
 */
export function prettyJson(json: RawJson, charsMax: number): PrettyJson {
  let text = "";
  let depth = 0;
  let at = afterSpace(json, 0);
  while (at < json.length && text.length <= charsMax) {
    const mark = json[at] ?? "";
    if (mark === "{" || mark === "[") {
      const inside = afterSpace(json, at + 1);
      // An empty object or list stays on its line.
      if (json[inside] === "}" || json[inside] === "]") {
        text += mark + json[inside];
        at = inside + 1;
      } else {
        text += mark + lineAt(++depth);
        at = inside;
      }
    } else if (mark === "}" || mark === "]") {
      text += lineAt(--depth) + mark;
      at++;
    } else if (mark === ",") {
      text += mark + lineAt(depth);
      at++;
    } else if (mark === ":") {
      text += ": ";
      at++;
    } else {
      const end = endOfValue(json, at);
      text += json.slice(at, end);
      at = end;
    }
    at = afterSpace(json, at);
  }
  return excerpt(text, charsMax);
}

/**
 * Returns the first characters of a decoded JSON string. Reads only as many characters as needed.
 *
 * @param json a valid JSON string including its quotes
 */
export function excerptOfString(json: RawJson, charsMax: number): PrettyJson {
  // An escape takes at most six characters.
  const unitsMax = 1 + 6 * charsMax;
  if (json.length <= unitsMax + 1) return excerpt(JSON.parse(json) as string, charsMax);
  const unclosed = json.slice(0, unitsMax).replace(HALF_ESCAPE, "");
  return { ...excerpt(JSON.parse(`${unclosed}"`) as string, charsMax), isCut: true };
}

/** Partial escape at a cut, with the escaped backslashes before it. */
const HALF_ESCAPE = /(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?$/;

/** Returns the first characters of a text, without half a surrogate pair at the end. */
export function excerpt(text: string, charsMax: number): PrettyJson {
  if (text.length <= charsMax) return { text, isCut: false };
  return { text: text.slice(0, charsMax).toWellFormed().replace(/\uFFFD$/, ""), isCut: true };
}

function lineAt(depth: number): string {
  return `\n${INDENT.repeat(depth)}`;
}
