/**
 * The mark a write leaves on the run it changes.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import type { RunId } from "../../domain/run/ids.ts";
import type { DirtyLane, DirtyRun } from "../../domain/pipeline/pipeline.ts";

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

/** Reads what {@link encodeDirty} wrote, as names. */
export function decodeDirty(text: string): string[] {
  return text.split("\n");
}

/** Reads what {@link dirtyName} wrote. */
export function parseDirtyName(name: string): DirtyRun {
  const [team = "", run = ""] = name.split(" ");
  return { team: team as TeamId, run: run as RunId };
}
