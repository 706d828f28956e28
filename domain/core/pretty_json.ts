/**
 * JSON for people to read: laid out in lines, and otherwise as it was sent.
 *
 * Nothing is parsed on the way, so large integers, `1.0`, escapes and the order of keys survive.
 *
 * @module
 */
import { afterSpace, endOfValue, type RawJson } from "./raw_json.ts";

/** A text for people, perhaps only its beginning. */
export interface PrettyJson {
  /** The text. */
  readonly text: string;
  /** Whether there is more of it. */
  readonly isCut: boolean;
}

const INDENT = "  ";

/**
 * Lays out a valid JSON value, a member or an element a line.
 *
 * @param charsMax how much of it is written; work stops there
 */
export function prettyJson(json: RawJson, charsMax: number): PrettyJson {
  let text = "";
  let depth = 0;
  let at = afterSpace(json, 0);
  while (at < json.length && text.length <= charsMax) {
    const mark = json[at] ?? "";
    if (mark === "{" || mark === "[") {
      const inside = afterSpace(json, at + 1);
      // What holds nothing stays on its line.
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
 * The first characters of the text that a JSON string stands for; no more of it is read than they take.
 *
 * @param json a valid string, its quotes included
 */
export function excerptOfString(json: RawJson, charsMax: number): PrettyJson {
  // No character takes more than six.
  const unitsMax = 1 + 6 * charsMax;
  if (json.length <= unitsMax + 1) return excerpt(JSON.parse(json) as string, charsMax);
  const whole = json.slice(0, unitsMax).replace(HALF_ESCAPE, "");
  return { ...excerpt(JSON.parse(`${whole}"`) as string, charsMax), isCut: true };
}

/** What a cut may leave of an escape, and escaped backslashes in front of it. */
const HALF_ESCAPE = /(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?$/;

/** The first characters of a text; none of them is half a pair. */
export function excerpt(text: string, charsMax: number): PrettyJson {
  if (text.length <= charsMax) return { text, isCut: false };
  return { text: text.slice(0, charsMax).toWellFormed().replace(/\uFFFD$/, ""), isCut: true };
}

function lineAt(depth: number): string {
  return `\n${INDENT.repeat(depth)}`;
}
