/**
 * Groups of a rule: one incident for each.
 *
 * @module
 */
import type { IncidentGroup } from "../channels/message.ts";
import { OTHER_GROUP, type RuleSettings } from "./rule.ts";
import type { SignalSubject } from "./signal.ts";

/**
 * Maximum bytes of a group's name in a key, so that many groups fit a commit. Longer names with the
 * same beginning share a group.
 */
const NAME_BYTES_MAX = 256;

const encoder = new TextEncoder();

/** A group, with the text that keys and rows of the work queue name it by. */
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
  return { text: `=${beginningOf(name)}`, group: { [groupBy]: name } };
}

/** Returns the name in the text of a group; null for what has none, or if it may be a beginning. */
export function nameIn(text: string): string | null {
  const name = text.slice(1);
  // No character takes more than four bytes.
  const isWhole = encoder.encode(name).length <= NAME_BYTES_MAX - 4;
  return text.startsWith("=") && isWhole ? name : null;
}

function beginningOf(name: string): string {
  // No UTF-16 unit takes more than three bytes.
  if (name.length * 3 <= NAME_BYTES_MAX) return name;
  return name.slice(0, encoder.encodeInto(name, new Uint8Array(NAME_BYTES_MAX)).read);
}
