/**
 * Shows the values of the names that an expression uses.
 *
 * @module
 */
import { cutText, printable } from "../../core/text.ts";
import { GOT_CHARS_MAX } from "../../runs/check_result.ts";
import type { FactName, Facts } from "../program.ts";
import { isObject } from "./names.ts";
import type { Term } from "./term.ts";

/** Maximum characters of one value. */
const VALUE_CHARS_MAX = 60;

/** Maximum items of a list that are looked at. */
const ITEMS_SHOWN_MAX = 20;

/** A name and the fields or items that follow it. */
export interface Path {
  /** Its text, such as `usage.errors`. */
  readonly text: string;
  /** The name. */
  readonly fact: FactName;
  /** The fields and items, from the outermost. */
  readonly keys: readonly (string | number)[];
}

/** Returns the paths of an expression, in the order of use. */
export function pathsOf(root: Term): readonly Path[] {
  const paths = new Map<string, Path>();
  const visit = (term: Term) => {
    const path = pathOf(term);
    if (path !== null) paths.set(path.text, paths.get(path.text) ?? path);
    else for (const part of term.parts) visit(part);
  };
  visit(root);
  return [...paths.values()];
}

function pathOf(term: Term): Path | null {
  if (term.kind === "fact") return { text: term.name, fact: term.name, keys: [] };
  const [of, at] = term.parts;
  const isField = term.kind === "field" || term.kind === "has";
  if (of === undefined || !isField && !(term.kind === "operation" && term.name === "[]")) {
    return null;
  }
  const owner = pathOf(of);
  if (owner === null || isField) return owner && isField ? longer(owner, term.key) : null;
  return at?.kind === "value" && typeof at.value === "number" ? longer(owner, at.value) : null;
}

function longer({ text, fact, keys }: Path, key: string | number): Path {
  const isName = typeof key === "string" && /^[A-Za-z_]\w*$/.test(key);
  return {
    text: isName ? `${text}.${key}` : `${text}[${valueText(key)}]`,
    fact,
    keys: [...keys, key],
  };
}

/** Returns the values of paths, such as `cost_usd = 0.61, usage.errors = 2`. */
export function showGot(paths: readonly Path[], facts: Facts): string {
  let got = "";
  for (const path of paths) {
    got += `${got === "" ? "" : ", "}${path.text} = ${showPath(path, facts)}`;
    if (got.length > 2 * GOT_CHARS_MAX) break;
  }
  return cutVisibly(got, GOT_CHARS_MAX);
}

/** Cuts a text, so that the cut can be seen. */
export function cutVisibly(text: string, charsMax: number): string {
  if (text.length <= charsMax || cutText(text, charsMax) === text) return text;
  return `${cutText(text, charsMax - 1)}…`;
}

function showPath({ fact, keys }: Path, facts: Facts): string {
  let value: unknown = facts[fact];
  for (const key of keys) {
    const isList = Array.isArray(value);
    const isThere = isList ? typeof key === "number" : isObject(value) && typeof key === "string";
    if (!isThere || !Object.hasOwn(value as object, key)) return "missing";
    value = (value as Readonly<Record<string | number, unknown>>)[key];
  }
  if (value === undefined || value === null && fact === "duration_ms") return "unknown";
  if (!Array.isArray(value)) return valueText(value);
  return listText(fact === "tools" || fact === "calls" ? value.slice(0, 200).map(nameOf) : value);
}

/** Returns what a list shows of a tool call or a model call. */
function nameOf(call: { readonly name?: string; readonly model?: string } | null): unknown {
  return call?.name ?? call?.model ?? call;
}

function listText(items: readonly unknown[]): string {
  let text = "";
  for (const [i, item] of items.entries()) {
    const next = `${text}${i === 0 ? "" : ", "}${valueText(item)}`;
    if (i === ITEMS_SHOWN_MAX || next.length > 2 * VALUE_CHARS_MAX) {
      return text === "" ? `[${items.length} items]` : `[${text}, … ${items.length} items]`;
    }
    text = next;
  }
  return `[${text}]`;
}

function valueText(value: unknown): string {
  switch (typeof value) {
    case "number":
      return numberText(value);
    case "string": {
      const short = cutVisibly(value, VALUE_CHARS_MAX);
      return printable(JSON.stringify(short));
    }
    case "object": {
      if (value === null) return "null";
      if (Array.isArray(value)) return `[${value.length} items]`;
      return `{${Object.keys(value).length} fields}`;
    }
    default:
      return String(value);
  }
}

/** Returns a number as a plain decimal, without the noise of sums of fractions. */
function numberText(value: number): string {
  const text = String(value);
  if (text.length <= 15) return text.includes("e-") ? plain(value) : text;
  return Number.isInteger(value) ? text : String(Number(value.toPrecision(15)));
}

function plain(value: number): string {
  return value.toFixed(20).replace(/0+$/, "");
}
