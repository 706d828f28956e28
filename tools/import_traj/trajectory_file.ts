/** Reads SWE-agent trajectory files of all versions. */
import { isObject } from "../../domain/core/raw_json.ts";
import { LABEL_CHARS_MAX } from "../../domain/core/limits.ts";
import type { ClientJson } from "../client.ts";

/** Model name for files that have none. */
export const UNKNOWN_MODEL = "unknown";

/** One exchange between model and environment. */
export interface Step {
  /** The model's text. */
  readonly response: string;
  /** The command that the model chose; empty for none. */
  readonly action: string;
  /** Output of the command. */
  readonly observation: string;
  /** Duration of the command; null when the file lacks it. */
  readonly executionMs: number | null;
}

/** Fields of a file that an import needs; null where the file lacks one. */
export interface Trajectory {
  readonly steps: readonly Step[];
  readonly environment: string | null;
  /** The issue that the agent worked on. */
  readonly problem: string | null;
  readonly model: { readonly model: string; readonly provider?: string };
  readonly exitStatus: string | null;
  readonly submission: string | null;
  /** `info.model_stats`, unchanged. */
  readonly modelStats: ClientJson | null;
  /** Tokens of the entire run. */
  readonly tokens: { readonly sent: number; readonly received: number } | null;
  readonly apiCalls: number | null;
  /** Dollars by the agent's own prices. */
  readonly instanceCost: number | null;
}

/** Parses a file's text; returns null if it is no trajectory. */
export function parseTrajectory(text: string): Trajectory | null {
  const file = jsonOf(text);
  if (!isObject(file) || !Array.isArray(file.trajectory)) return null;
  if (!file.trajectory.every(isObject)) return null;
  const info = objectAt(file, "info");
  // Some versions write it as text and others as an object.
  const config = typeof file.replay_config === "string"
    ? jsonOf(file.replay_config)
    : file.replay_config;
  const stats = isObject(info.model_stats) ? info.model_stats : null;
  const sent = countOf(stats?.tokens_sent);
  const received = countOf(stats?.tokens_received);
  return {
    steps: file.trajectory.map(stepOf),
    environment: textOf(file.environment),
    problem: textOf(objectAt(config, "problem_statement").text),
    model: modelOf(file, config),
    exitStatus: textOf(info.exit_status),
    submission: textOf(info.submission),
    modelStats: stats,
    tokens: sent === null && received === null
      ? null
      : { sent: sent ?? 0, received: received ?? 0 },
    apiCalls: countOf(stats?.api_calls),
    instanceCost: amountOf(stats?.instance_cost),
  };
}

function stepOf(step: ClientJson): Step {
  const seconds = amountOf(step.execution_time);
  return {
    response: textOf(step.response) ?? textOf(step.thought) ?? "",
    action: textOf(step.action) ?? "",
    observation: textOf(step.observation) ?? "",
    executionMs: seconds === null ? null : Math.round(1_000 * seconds),
  };
}

/** Finds the model's name where any version of the format has it, and splits off its provider. */
function modelOf(file: ClientJson, config: unknown): Trajectory["model"] {
  const info = objectAt(file, "info");
  const history = Array.isArray(file.history) ? file.history : [];
  const named = [
    objectAt(objectAt(config, "agent"), "model").name,
    objectAt(info, "model").name,
    info.model,
    ...history.map((entry: unknown) => isObject(entry) ? entry.model : null),
  ].map(textOf).find((name) => name !== null && name !== "" && name.length <= LABEL_CHARS_MAX);
  return splitModel(named ?? UNKNOWN_MODEL);
}

/** Splits `provider/model`; a name without a slash is a model name. */
export function splitModel(name: string): Trajectory["model"] {
  const slash = name.indexOf("/");
  return slash < 1 ? { model: name } : {
    provider: name.slice(0, slash),
    model: name.slice(slash + 1),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function objectAt(parent: unknown, key: string): ClientJson {
  const value = isObject(parent) ? parent[key] : null;
  return isObject(value) ? value : {};
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function amountOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? amountOf(value) : null;
}
