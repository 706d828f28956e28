/**
 * Compiled expressions, and the names that they are about (decisions 67 and 68).
 *
 * @module
 */

/**
 * Types of facts, as CEL writes them. Every number is a double, as in JSON. Texts that are absent are
 * empty.
 */
export const FACT_TYPES = {
  status: "string",
  kind: "string",
  agent: "string",
  customer_id: "string",
  feature: "string",
  duration_ms: "double",
  goal: "string",
  cost_usd: "double",
  // With the cost of child runs as known when it is judged.
  cost_with_children_usd: "double",
  usage: "Usage",
  // Models without a price, sorted.
  unpriced: "list<string>",
  metadata: "map<string, dyn>",
  // The finish's scores first, then those added by time and id: the last of a name.
  scores: "map<string, dyn>",
  output: "dyn",
  // The first {@link CALLS_MAX} by time.
  tools: "list<Tool>",
  calls: "list<Call>",
  longest_repeat: "Repeat",
} as const;

/** Types of the fields of facts that are objects. */
export const FIELD_TYPES = {
  Usage: {
    events: "double",
    llm_calls: "double",
    tool_calls: "double",
    errors: "double",
    input_tokens: "double",
    output_tokens: "double",
    cached_input_tokens: "double",
  },
  Tool: { name: "string", error: "string", latency_ms: "double", input: "dyn" },
  Call: {
    provider: "string",
    model: "string",
    error: "string",
    latency_ms: "double",
    input_tokens: "double",
    output_tokens: "double",
  },
  // The longest series of equal tool calls, also in cycles of up to four calls: three equal pairs are
  // 3 times, and the name has the cycle's tools, joined by `, `.
  Repeat: { times: "double", name: "string" },
} as const;

/** Values of a type of {@link FACT_TYPES}. */
export type ValueOf<Type> = Type extends "string" ? string
  : Type extends "double" ? number
  : Type extends `list<${infer Item}>` ? readonly ValueOf<Item>[]
  : Type extends `map<${string}>` ? Readonly<Record<string, unknown>>
  : Type extends keyof typeof FIELD_TYPES ? ValuesOf<typeof FIELD_TYPES[Type]>
  : unknown;

/** Values by name; a duration is null if it is unknown. */
export type ValuesOf<Types> = {
  readonly [Name in keyof Types]: Name extends "duration_ms" | "latency_ms" ? number | null
    : ValueOf<Types[Name]>;
};

/** A tool call. */
export type ToolFact = ValueOf<"Tool">;

/** A model call. */
export type CallFact = ValueOf<"Call">;

/** All that an expression can name. */
export type AllFacts = ValuesOf<typeof FACT_TYPES>;

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
