/**
 * Maps a SWE-agent trajectory file to a run. The mapping is pure and deterministic.
 *
 * - A step becomes an `llm_call` (the model's text), a `tool_call` (its action) and an
 *   `observation` (the result), joined by `turn`. The observation is a separate event, so that
 *   events stay in order and a long one never hides its action.
 * - The file counts tokens only for the entire run. The totals are on the last `llm_call`, marked
 *   `tokens_of: "run"`; the other calls have no counts. So the run's usage equals the file's, and
 *   no usage by step is invented.
 * - `instance_cost` stays in the output and the metadata: the server prices runs itself.
 * - The file has no timestamps: see {@link stepTimes}.
 */
import { createHash } from "node:crypto";
import type { Region } from "../../domain/core/ids.ts";
import {
  GOAL_CHARS_MAX,
  METADATA_VALUE_CHARS_MAX,
  OUTPUT_BYTES_MAX,
} from "../../domain/core/limits.ts";
import type { FinishStatus } from "../../domain/runs/run.ts";
import { formatInstant } from "../../domain/core/time.ts";
import type { ClientJson } from "../client.ts";
import type { Step, Trajectory } from "./trajectory_file.ts";
import { cutUnits, fitText, inBatches, jsonBytes, shortened, type WireEvent } from "../wire.ts";

/** Identity of an import: equal identities give equal ids. */
export interface Identity {
  readonly agent: string;
  readonly region: Region;
  /** SHA-256 of the imported content, as hex. */
  readonly digest: string;
}

/** The requests of one run. */
export interface RunPlan {
  readonly id: string;
  readonly open: ClientJson;
  readonly batches: readonly (readonly WireEvent[])[];
  readonly finish: ClientJson;
}

/** Maps SWE-agent's `exit_status` to the status of a run. */
export function trajectoryStatus(exitStatus: string | null): FinishStatus {
  // A killed agent had no time to write a status.
  if (exitStatus === null || exitStatus === "skipped") return "cancelled";
  if (exitStatus === "submitted") return "success";
  // "submitted (exit_cost)": a limit ended the run, and its current state was submitted.
  const reason = /^submitted \((.+)\)$/.exec(exitStatus)?.[1] ?? exitStatus;
  const timeouts = ["exit_command_timeout", "exit_total_execution_time"];
  return timeouts.includes(reason) ? "timeout" : "failed";
}

/**
 * Derives the run's id from the content, not from the file's name or date: a copy is the same run.
 */
export function runIdOf({ agent, region, digest }: Identity): string {
  return `run_${region}_${nameHex("run", agent, digest)}`;
}

/** Returns the run's duration by {@link stepTimes}, milliseconds. */
export function trajectoryDuration(trajectory: Trajectory): number {
  return trajectory.steps.reduce((sum, step) => sum + stepTimes(step).endMs, 0);
}

/**
 * Plans an import.
 *
 * @param fileName for the metadata only
 * @param startMs when the run began, unix milliseconds
 */
export function planImport(
  trajectory: Trajectory,
  identity: Identity,
  { fileName, startMs }: { readonly fileName: string; readonly startMs: number },
): RunPlan {
  const id = runIdOf(identity);
  const events = eventsOf(trajectory, startMs).map((event, index) => {
    const eventId = `evt_${identity.region}_${nameHex("event", id, `${index}`)}`;
    return shortened({ id: eventId, ...event });
  });
  return {
    id,
    open: {
      id,
      agent: identity.agent,
      started_at: formatInstant(startMs),
      feature: "import",
      metadata: metadataOf(trajectory, fileName),
      ...(trajectory.problem === null
        ? {}
        : { goal: cutUnits(trajectory.problem.toWellFormed(), GOAL_CHARS_MAX) }),
    },
    batches: inBatches(events),
    finish: {
      status: trajectoryStatus(trajectory.exitStatus),
      finished_at: formatInstant(startMs + trajectoryDuration(trajectory)),
      output: outputOf(trajectory),
    },
  };
}

/** Maximum characters of a tool name; the first word of an action can be any text. */
const TOOL_NAME_CHARS_MAX = 64;

/**
 * Returns when the events of a step happen, in milliseconds from its start.
 *
 * The file knows only the duration of each action. Events are a millisecond apart to keep their
 * order. The model's time is unknown and omitted, so a run's duration is a lower bound.
 */
function stepTimes({ executionMs }: Step) {
  const observedMs = 1 + Math.max(1, executionMs ?? 0);
  return { observedMs, endMs: observedMs + 1 };
}

function eventsOf({ steps, tokens, model }: Trajectory, startMs: number): Omit<WireEvent, "id">[] {
  const totals = tokens === null ? {} : {
    input_tokens: tokens.sent,
    output_tokens: tokens.received,
    tokens_of: "run",
  };
  if (steps.length === 0 && tokens !== null) {
    // A run that ended before its first step may still have paid for a call.
    const data = { ...model, text: "", ...totals };
    return [{ type: "llm_call", ts: formatInstant(startMs), data }];
  }
  let atMs = startMs;
  return steps.flatMap((step, index) => {
    const { response: text, action, observation: output, executionMs } = step;
    const { observedMs, endMs } = stepTimes(step);
    const stepMs = atMs;
    atMs += endMs;
    const event = (type: string, afterMs: number, data: ClientJson) => [
      { type, ts: formatInstant(stepMs + afterMs), turn: index + 1, data },
    ];
    const isLast = index === steps.length - 1;
    const hasAction = action.trim() !== "";
    const latency = executionMs === null ? {} : { latency_ms: executionMs };
    return [
      ...event("llm_call", 0, { ...model, text, ...(isLast ? totals : {}) }),
      ...hasAction ? event("tool_call", 1, { name: toolName(action), action, ...latency }) : [],
      // An action without output has an empty observation; without an action there is no result.
      ...hasAction || output !== "" ? event("observation", observedMs, { output }) : [],
    ];
  });
}

/** Returns a command's first word. */
function toolName(action: string): string {
  return cutUnits(/\S+/.exec(action)?.[0] ?? "", TOOL_NAME_CHARS_MAX);
}

function outputOf({ submission, exitStatus, modelStats }: Trajectory): ClientJson {
  const output = { submission, exit_status: exitStatus, model_stats: modelStats };
  if (jsonBytes(output) <= OUTPUT_BYTES_MAX) return output;
  const text = submission ?? "";
  return fitText(text, OUTPUT_BYTES_MAX, (cut) => {
    const lengths = { field: "submission", from_chars: text.length, to_chars: cut.length };
    return { ...output, submission: cut, shortened: lengths };
  });
}

/** Labels that identify the import; omits labels that the file lacks. */
function metadataOf(trajectory: Trajectory, fileName: string): ClientJson {
  const labels = {
    source: "swe-agent",
    file: cutUnits(fileName, METADATA_VALUE_CHARS_MAX),
    environment: trajectory.environment,
    exit_status: trajectory.exitStatus,
    instance_cost: trajectory.instanceCost,
    times: "end is the file's date",
  };
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== null));
}

/** Hashes names to 32 hex digits in the form of a UUIDv8, whose bits are application-defined. */
function nameHex(...parts: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  return `${hash.slice(0, 12)}8${hash.slice(13, 16)}8${hash.slice(17, 32)}`;
}
