/**
 * Names of the rows of the work queue at which the work loop looks at alert rules.
 *
 * A commit that makes a look necessary files a row with one of these names. The look reads what is
 * true then, so a row that comes too early or twice is harmless.
 *
 * @module
 */
import { RULE_KINDS, type RuleKind } from "./rule.ts";

/** The subject of a look. */
export type Look =
  /** All rules of a kind: something that they report has changed. */
  | { readonly of: "kind"; readonly kind: RuleKind }
  /** A rule, which may have been changed or deleted. */
  | { readonly of: "rule"; readonly rule: string }
  /** A rule for one of its groups, by the group's key. */
  | { readonly of: "group"; readonly rule: string; readonly group: string };

/** Begins the names of kinds; no slug begins so. */
const KIND = "*";

/** Ends the rule in the names of groups; no slug has one. */
const SEPARATOR = " ";

/** Returns the name of a look at all rules of a kind. */
export function kindLook(kind: RuleKind): string {
  return `${KIND}${kind}`;
}

/** Returns the name of a group of a rule, and of a look at it. */
export function groupName(rule: string, group: string): string {
  return `${rule}${SEPARATOR}${group}`;
}

/** Returns what a row of that name asks for; null for a kind that does not exist. */
export function lookOf(name: string): Look | null {
  if (name.startsWith(KIND)) {
    const kind = RULE_KINDS.find((kind) => kindLook(kind) === name);
    return kind === undefined ? null : { of: "kind", kind };
  }
  const at = name.indexOf(SEPARATOR);
  return at < 0
    ? { of: "rule", rule: name }
    : { of: "group", rule: name.slice(0, at), group: name.slice(at + SEPARATOR.length) };
}
