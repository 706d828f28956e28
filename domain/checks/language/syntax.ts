/**
 * Words for expressions that do not parse. Those of the library name its tokens.
 *
 * @module
 */
import { Misuse } from "./misuse.ts";

const QUOTES = 'Write straight quotes, such as "success"';

/** Syntax of other languages, with the form to write here. */
const ADVICE: Readonly<Record<string, string>> = {
  "=": "Write ==",
  "<>": "Write !=",
  "&": "Write &&",
  "and": "Write &&",
  "|": "Write ||",
  "or": "Write ||",
  "not": "Write ! for not",
  "if": "Write condition ? a : b",
  "matches": "Write finds(text, pattern)",
  "“": QUOTES,
  "”": QUOTES,
  "‘": QUOTES,
  "’": QUOTES,
};

/** Signs by the library's name of a token that must follow. */
const NEEDED: Readonly<Record<string, string>> = {
  IDENTIFIER: "a name",
  RPAREN: '")"',
  RBRACKET: '"]"',
  RBRACE: '"}"',
  COLON: '":"',
};

/** Returns the refusal of a place where the expression does not go on as it must. */
export function wrongSyntax(words: string, at: number, text: string): Misuse {
  const needed = /^Expected ([A-Z]+), got/.exec(words)?.[1] ?? "";
  const close = NEEDED[needed] === undefined ? "" : `Write ${NEEDED[needed]} here`;
  if (text.slice(at).trim() === "") return new Misuse("It ends too early", at, close);
  const unexpected = partAt(text, at);
  const message = `"${unexpected}" is not expected here`;
  const before = /(\w+)\s+$/.exec(text.slice(0, at))?.[1]?.toLowerCase() ?? "";
  const pair = `${text[at - 1] ?? ""}${unexpected}`;
  const advice = ADVICE[pair] ?? ADVICE[unexpected.toLowerCase()] ??
    (before === "not" ? ADVICE["not"] : text[at - 1] === "=" ? ADVICE["="] : close);
  return new Misuse(message, at, advice);
}

/** Returns the refusal of a word that expressions reserve. */
export function reservedWord(at: number, text: string): Misuse {
  const word = partAt(text, at);
  return new Misuse(`"${word}" is a reserved word`, at, ADVICE[word.toLowerCase()]);
}

/** Returns the word or the sign at a place. */
function partAt(text: string, at: number): string {
  return /^(?:\w{1,40}|.)/su.exec(text.slice(at))?.[0] ?? "";
}
