/**
 * The mark a write leaves on the run it changes.
 *
 * @module
 */
import { judgeId, type RunId, type TeamId } from "../../domain/core/ids.ts";
import type { PendingLane, PendingRun } from "../../domain/runs/processing.ts";

/** Characters of a team's id, with room to spare. */
const TEAM_CHARS_MAX = 64;

/** A run that a write changed. */
export interface PendingMark {
  /** Which queue it joins. */
  readonly lane: PendingLane;
  /** The run, as {@link pendingName} writes it. */
  readonly name: string;
}

/** Writes a run as text. */
export function pendingName(team: TeamId, run: RunId): string {
  return `${team} ${run}`;
}

/** Writes the marks that one commit leaves in one lane. */
export function encodePending(names: readonly string[]): string {
  return names.join("\n");
}

/**
 * Reads what {@link encodePending} wrote, as names. What is no name is left out: a damaged row must not
 * keep those behind it waiting.
 */
export function decodePending(value: unknown): string[] {
  return typeof value === "string" ? value.split("\n").filter(isName) : [];
}

/** Whether {@link pendingName} may have written it. Anything else might not even fit into a key. */
function isName(text: string): boolean {
  const { team, run } = parsePendingName(text);
  return team.length > 0 && team.length <= TEAM_CHARS_MAX && judgeId("run", run) === "valid";
}

/** Reads what {@link pendingName} wrote. */
export function parsePendingName(name: string): PendingRun {
  const [team = "", run = ""] = name.split(" ");
  return { team: team as TeamId, run: run as RunId };
}
