/**
 * The mark a write leaves on the run it changes.
 *
 * @module
 */
import { judgeId, type RunId, type TeamId } from "../../domain/core/ids.ts";
import type { DirtyLane, DirtyRun } from "../../domain/runs/processing.ts";

/** Characters of a team's id, with room to spare. */
const TEAM_CHARS_MAX = 64;

/** A run that a write changed. */
export interface DirtyMark {
  /** Which queue it joins. */
  readonly lane: DirtyLane;
  /** The run, as {@link dirtyName} writes it. */
  readonly name: string;
}

/** Writes a run as text. */
export function dirtyName(team: TeamId, run: RunId): string {
  return `${team} ${run}`;
}

/** Writes the marks that one commit leaves in one lane. */
export function encodeDirty(names: readonly string[]): string {
  return names.join("\n");
}

/**
 * Reads what {@link encodeDirty} wrote, as names. What is no name is left out: a damaged row must not
 * keep those behind it waiting.
 */
export function decodeDirty(value: unknown): string[] {
  return typeof value === "string" ? value.split("\n").filter(isName) : [];
}

/** Whether {@link dirtyName} may have written it. Anything else might not even fit into a key. */
function isName(text: string): boolean {
  const { team, run } = parseDirtyName(text);
  return team.length > 0 && team.length <= TEAM_CHARS_MAX && judgeId("run", run) === "valid";
}

/** Reads what {@link dirtyName} wrote. */
export function parseDirtyName(name: string): DirtyRun {
  const [team = "", run = ""] = name.split(" ");
  return { team: team as TeamId, run: run as RunId };
}
