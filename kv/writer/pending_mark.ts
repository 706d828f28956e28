/**
 * Marks runs as pending: a write lists the runs it changes for the worker.
 *
 * @module
 */
import { judgeId, type RunId, type TeamId } from "../../domain/core/ids.ts";
import type { PendingLane, PendingRun } from "../../domain/runs/stages.ts";

/** Maximum characters of a team's id, with a margin. */
const TEAM_CHARS_MAX = 64;

/** A run that a write changed. */
export interface PendingMark {
  /** Queue that the run joins. */
  readonly lane: PendingLane;
  /** The run, in the format of {@link pendingName}. */
  readonly name: string;
}

/** Encodes a run as text. */
export function pendingName(team: TeamId, run: RunId): string {
  return `${team} ${run}`;
}

/** Encodes the marks of one commit in one lane. */
export function encodePending(names: readonly string[]): string {
  return names.join("\n");
}

/**
 * Decodes the names of {@link encodePending}. Invalid names are skipped: a damaged row must not
 * block the rows after it.
 */
export function decodePending(value: unknown): string[] {
  return typeof value === "string" ? value.split("\n").filter(isName) : [];
}

/** Returns whether {@link pendingName} could have produced it; other text may not fit a key. */
function isName(text: string): boolean {
  const { team, run } = parsePendingName(text);
  return team.length > 0 && team.length <= TEAM_CHARS_MAX && judgeId("run", run) === "valid";
}

/** Decodes the text of {@link pendingName}. */
export function parsePendingName(name: string): PendingRun {
  const [team = "", run = ""] = name.split(" ");
  return { team: team as TeamId, run: run as RunId };
}
