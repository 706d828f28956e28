/**
 * Compiled expressions, and the names that they are about (decisions 67 and 68).
 *
 * @module
 */

/** Figures of a run that `usage` has. */
export interface UsageFacts {
  /** Events. */
  readonly events: number;
  /** Model calls. */
  readonly llm_calls: number;
  /** Tool calls. */
  readonly tool_calls: number;
  /** Errors of calls. */
  readonly errors: number;
  /** Tokens sent to models. */
  readonly input_tokens: number;
  /** Tokens that models wrote. */
  readonly output_tokens: number;
  /** Tokens sent to models that their caches had. */
  readonly cached_input_tokens: number;
}

/** A tool call; texts that are absent are empty. */
export interface ToolFact {
  /** Name of the tool. */
  readonly name: string;
  /** Its error. */
  readonly error: string;
  /** Milliseconds; null if unknown. */
  readonly latency_ms: number | null;
  /** Input as parsed JSON; null for none. */
  readonly input: unknown;
}

/** A model call; texts that are absent are empty. */
export interface CallFact {
  /** Name of the provider. */
  readonly provider: string;
  /** Name of the model. */
  readonly model: string;
  /** Its error. */
  readonly error: string;
  /** Milliseconds; null if unknown. */
  readonly latency_ms: number | null;
  /** Tokens sent to the model. */
  readonly input_tokens: number;
  /** Tokens that the model wrote. */
  readonly output_tokens: number;
}

/** The longest series of equal tool calls, also in cycles of up to four calls. */
export interface RepeatFact {
  /** Repetitions of the cycle; three equal pairs are 3, and 0 without tool calls. */
  readonly times: number;
  /** Names of the cycle's tools, joined by `, `; empty without tool calls. */
  readonly name: string;
}

/** All that an expression can name. */
export interface AllFacts {
  /** Status that the run finished with. */
  readonly status: string;
  /** Kind of the run. */
  readonly kind: string;
  /** Slug of the agent; empty for none. */
  readonly agent: string;
  /** Customer; empty for none. */
  readonly customer_id: string;
  /** Feature; empty for none. */
  readonly feature: string;
  /** Milliseconds; null if unknown. */
  readonly duration_ms: number | null;
  /** Goal; empty for none. */
  readonly goal: string;
  /** US dollars. */
  readonly cost_usd: number;
  /** US dollars, with the cost of child runs as known when it is judged. */
  readonly cost_with_children_usd: number;
  /** Sums of the run. */
  readonly usage: UsageFacts;
  /** Models without a price, sorted. */
  readonly unpriced: readonly string[];
  /** Metadata; empty for none. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The finish's scores first, then those added by time and id: the last of a name. */
  readonly scores: Readonly<Record<string, number | boolean>>;
  /** Output as parsed JSON. */
  readonly output: unknown;
  /** The first {@link CALLS_MAX} tool calls by time. */
  readonly tools: readonly ToolFact[];
  /** The first {@link CALLS_MAX} model calls by time. */
  readonly calls: readonly CallFact[];
  /** The longest series of equal tool calls. */
  readonly longest_repeat: RepeatFact;
}

/** A name that an expression can use. */
export type FactName = keyof AllFacts;

/** Facts of one run: those that the expressions of its checks name. */
export type Facts = Partial<AllFacts>;

/** Names whose values must be read from the events of a run. */
export const EVENT_FACTS = ["tools", "calls", "longest_repeat"] as const satisfies FactName[];

/** Names whose values go with the payload of a run. */
export const PAYLOAD_FACTS = [
  "goal",
  "metadata",
  "output",
  ...EVENT_FACTS,
] as const satisfies FactName[];

/** Maximum items of `tools` and of `calls`. */
export const CALLS_MAX = 200;

/** Maximum events that are read for a run; with more, names of events cannot be decided. */
export const EVENTS_READ_MAX = 5_000;

/** Maximum bytes of events that are read for a run. */
export const EVENT_BYTES_MAX = 8_388_608;

/** Maximum steps of one evaluation. */
export const STEPS_MAX = 100_000;

/** The result of an expression for a run. */
export interface Verdict {
  /** `error` if it could not be decided, which is never a `pass`. */
  readonly status: "pass" | "fail" | "error";
  /** Values of the names that it used, at most 200 characters; see `CheckResult`. */
  readonly got: string;
  /** The reason of a result other than `pass`; null for a `pass`. */
  readonly message: string | null;
  /** Code of an error, such as `no_such_key` or `too_much_work`. */
  readonly reason?: string;
}

/** A pattern of `finds`. It is compiled when it is first used. */
export interface Pattern {
  /** Instructions, at most; 0 for a plain text, which is searched as `contains` does. */
  readonly size: number;
  /** Its text. */
  readonly source: string;
}

/** A compiled pattern. */
export interface CompiledPattern {
  /** Returns whether a text has a match. */
  test(text: string): boolean;
  /** Returns its instructions. */
  programSize(): number;
}

/** Compiles patterns, and keeps the latest. */
export interface Patterns {
  /** Compiles a pattern; throws if it is none. */
  (pattern: Pattern): CompiledPattern;
  /** Returns whether a pattern is kept. */
  has(pattern: Pattern): boolean;
}

/** Largest size of a value. */
export interface Size {
  /** Items of its longest list, or fields of its largest object. */
  readonly items: number;
  /** Characters of its longest text. */
  readonly chars: number;
  /** Steps to read all of it. */
  readonly steps: number;
}

/** Returns the size of a fact. */
export type SizeOfFact = (name: FactName) => Size;

/** A compiled expression. It keeps no state, and its work is bounded. */
export interface Program {
  /** Names that it uses. */
  readonly names: ReadonlySet<FactName>;
  /** Bytes in memory, roughly. */
  readonly bytes: number;
  /**
   * Returns the steps that an evaluation may take at most; one is about 0.4 microseconds. It is
   * quick, and looks at the size of values only.
   *
   * @param sizes sizes of the values of all its names
   */
  stepsFor(sizes: SizeOfFact): number;
  /**
   * Judges a run. It never throws.
   *
   * @param facts the values of all its names
   */
  judge(facts: Facts): Verdict;
}
