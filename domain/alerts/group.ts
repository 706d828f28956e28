/**
 * Groups of a rule: one incident for each.
 *
 * @module
 */
import { cutText } from "../core/text.ts";
import type { IncidentGroup } from "../channels/message.ts";
import { OTHER_GROUP, type RuleSettings } from "./rule.ts";
import type { SignalSubject } from "./signal.ts";

/**
 * Maximum characters of a group's name in a key: at 4 bytes each they fit a key. Only names of models
 * may be longer; those with the same beginning share a group.
 */
const NAME_CHARS_MAX = 384;

/** A group, with the text that keys and rows of the due index name it by. */
export interface Group {
  /** The text: `=` and the name; empty for all else, such as runs without a customer. */
  readonly text: string;
  /** The group as incidents show it. */
  readonly group: IncidentGroup;
}

/** The group of what does not fit. */
export const OTHER: Group = { text: OTHER_GROUP, group: {} };

/** Returns the group of a subject. */
export function groupOf(groupBy: RuleSettings["groupBy"], subject: SignalSubject): Group {
  const name = groupBy === null ? null : subject[groupBy];
  if (groupBy === null || name === null) return { text: "", group: {} };
  return { text: `=${cutText(name, NAME_CHARS_MAX)}`, group: { [groupBy]: name } };
}

/** Returns the name in the text of a group; null for what has none. */
export function nameIn(text: string): string | null {
  return text.startsWith("=") ? text.slice(1) : null;
}
