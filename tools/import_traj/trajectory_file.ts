/** Reads SWE-agent trajectory files of all versions. */
import { z } from "zod";
import { isObject } from "../../domain/core/raw_json.ts";
import { LABEL_CHARS_MAX } from "../../domain/core/limits.ts";

/** Model name for files that have none. */
export const UNKNOWN_MODEL = "unknown";

/** An odd value counts as an absent one, which is null. */
const TEXT = z.string().nullable().catch(null);
const LABEL = z.string().min(1).max(LABEL_CHARS_MAX).nullable().catch(null);
const AMOUNT = z.number().nonnegative().nullable().catch(null);
const COUNT = z.int().nonnegative().nullable().catch(null);

/** An object whose fields may all be absent. */
function part<T extends z.ZodRawShape>(shape: T) {
  return z.preprocess((value) => isObject(value) ? value : {}, z.object(shape));
}

const STEP = z.object({
  response: TEXT,
  thought: TEXT,
  action: TEXT,
  observation: TEXT,
  execution_time: AMOUNT,
}).transform(({ response, thought, action, observation, execution_time: seconds }) => ({
  /** The model's text. */
  response: response ?? thought ?? "",
  /** The command that the model chose; empty for none. */
  action: action ?? "",
  /** Output of the command. */
  observation: observation ?? "",
  /** Duration of the command; null when the file lacks it. */
  executionMs: seconds === null ? null : Math.round(1_000 * seconds),
}));

/** One exchange between model and environment. */
export type Step = z.infer<typeof STEP>;

/** A model is a name, or an object with one. */
const MODEL = z.preprocess((value) => isObject(value) ? value.name : value, LABEL);

const FILE = z.object({
  trajectory: z.array(STEP),
  environment: TEXT,
  history: z.array(part({ model: LABEL })).catch([]),
  // Some versions write it as text and others as an object.
  replay_config: z.preprocess(
    (value) => typeof value === "string" ? jsonOf(value) : value,
    part({ agent: part({ model: MODEL }), problem_statement: part({ text: TEXT }) }),
  ),
  info: part({
    exit_status: TEXT,
    submission: TEXT,
    model: MODEL,
    model_stats: z.record(z.string(), z.unknown()).nullable().catch(null),
  }),
});

const STATS = part({
  tokens_sent: COUNT,
  tokens_received: COUNT,
  api_calls: COUNT,
  instance_cost: AMOUNT,
});

/** Fields of a file that an import needs; null where the file lacks one. */
export type Trajectory = NonNullable<ReturnType<typeof parseTrajectory>>;

/** Parses a file's text; returns null if it is no trajectory. */
export function parseTrajectory(text: string) {
  const { data: file } = FILE.safeParse(jsonOf(text));
  if (file === undefined) return null;
  const { info, replay_config: config } = file;
  const stats = STATS.parse(info.model_stats);
  const { tokens_sent: sent, tokens_received: received } = stats;
  const models = [config.agent, info, ...file.history].map(({ model }) => model);
  return {
    steps: file.trajectory,
    environment: file.environment,
    /** The issue that the agent worked on. */
    problem: config.problem_statement.text,
    model: splitModel(models.find((model) => model !== null) ?? UNKNOWN_MODEL),
    exitStatus: info.exit_status,
    submission: info.submission,
    /** `info.model_stats`, unchanged. */
    modelStats: info.model_stats,
    /** Tokens of the entire run. */
    tokens: sent === null && received === null
      ? null
      : { sent: sent ?? 0, received: received ?? 0 },
    apiCalls: stats.api_calls,
    /** Dollars by the agent's own prices. */
    instanceCost: stats.instance_cost,
  };
}

/** Splits `provider/model`; a name without a slash is a model name. */
export function splitModel(name: string): { readonly model: string; readonly provider?: string } {
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
