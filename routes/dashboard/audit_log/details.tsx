/** Words for the change that an entry of the audit log records. */
import type { AuditValue, ReadAuditEntry } from "../../../domain/teams/audit_log.ts";
import { durationText } from "../components/format.ts";

/** The details of an entry, one line each; long ones are folded. */
export function Details({ of }: { readonly of: ReadAuditEntry["details"] }) {
  const lines = linesOf(of);
  if (lines.length === 0) return null;
  const list = <ul class="plain">{lines.map(([name, text]) => <li>{name}: {text}</li>)}</ul>;
  const chars = lines.reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  return lines.length <= LINES_SHOWN && chars <= CHARS_SHOWN ? list : (
    <details>
      <summary>{lines.length} details</summary>
      {list}
    </details>
  );
}

/** Maximum lines and characters of details shown unfolded. */
const LINES_SHOWN = 8, CHARS_SHOWN = 300;

function linesOf(details: ReadAuditEntry["details"]): (readonly [string, string])[] {
  const { before = null, after = null, ...rest } = details;
  const linesFor = (values: ReadAuditEntry["details"]) =>
    Object.entries(values).filter(([name, value]) => fieldText(name, value) !== "none")
      .map(([name, value]) => [nameText(name), fieldText(name, value)] as const);
  if (!isFields(before) || !isFields(after)) {
    // An object that was created or deleted has one state: only what is set says something.
    const state = isFields(after) ? after : before;
    return [...linesFor(rest), ...isFields(state) ? linesFor(state) : []];
  }
  const changes = Object.keys(after).map((name) =>
    [nameText(name), `${fieldText(name, before[name])} → ${fieldText(name, after[name])}`] as const
  );
  return [...linesFor(rest), ...changes];
}

function nameText(name: string): string {
  return name.replace(/_seconds$/, "").replaceAll("_", " ");
}

/** Returns the value of a field of a state; undefined for no state. */
export function fieldOf(state: AuditValue | undefined, name: string): AuditValue | undefined {
  return isFields(state) ? state[name] : undefined;
}

function isFields(value: AuditValue | undefined): value is { readonly [name: string]: AuditValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a value in words; seconds as a duration, of which zero is none. */
function fieldText(name: string, value: AuditValue | undefined): string {
  if (!name.endsWith("_seconds") || typeof value !== "number") return textOf(value);
  return value === 0 ? "none" : durationText(value * 1_000);
}

function textOf(value: AuditValue | undefined): string {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value)) return value.map(textOf).join(", ") || "none";
  if (!isFields(value)) return String(value);
  return Object.entries(value).filter(([name, member]) => fieldText(name, member) !== "none")
    .map(([name, member]) => `${nameText(name)} ${fieldText(name, member)}`).join(", ") || "none";
}
