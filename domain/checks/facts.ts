/**
 * Facts of a run that its head and its summary hold.
 *
 * @module
 */
import { dollarsText } from "../pricing/money.ts";
import { type RunHead, unpricedUsageOf } from "../runs/cost.ts";
import { mergeMetadata, type Metadata, type RunParts } from "../runs/run.ts";
import type { AddedScore } from "../runs/scores.ts";
import { type RunSummary, sumsOfSummary } from "../runs/summary.ts";
import type { RawJson } from "../core/raw_json.ts";
import { factsWithoutCalls, hasTooMany } from "./calls.ts";
import { type AllFacts, EVENT_FACTS, type FactName, type Facts } from "./program.ts";

/** A run in memory: its state, and the summary of that state. */
export interface RunInMemory {
  /** Current state. */
  readonly head: Pick<RunHead, "parts" | "ages">;
  /** Summary of this state. */
  readonly summary: RunSummary;
}

/** Names whose values are read apart from the head of a run. */
type ReadFactName = typeof EVENT_FACTS[number] | "cost_with_children_usd";

/** Names whose values a head and its summary hold, except for added scores. */
type HeadFactName = Exclude<FactName, ReadFactName>;

/** Returns the value of each name that needs no read. */
const HEAD_FACTS: { readonly [Name in HeadFactName]: (run: RunInMemory) => AllFacts[Name] } = {
  status: ({ summary }) => sumsOfSummary(summary).labels.status,
  kind: ({ summary }) => summary.listed.kind,
  agent: ({ summary }) => sumsOfSummary(summary).labels.agent ?? "",
  customer_id: ({ summary }) => sumsOfSummary(summary).labels.customer ?? "",
  feature: ({ summary }) => sumsOfSummary(summary).labels.feature ?? "",
  duration_ms: ({ summary }) => summary.shown.durationMs,
  goal: ({ head }) => head.parts.opening?.goal ?? "",
  cost_usd: ({ summary }) => usd(sumsOfSummary(summary).cost),
  usage: ({ summary }) => {
    const { events, calls, inputTokens, outputTokens, cachedInputTokens } = sumsOfSummary(summary);
    const { toolCalls, errors } = summary.shown;
    return {
      events,
      llm_calls: calls,
      tool_calls: toolCalls,
      errors,
      input_tokens: Number(inputTokens),
      output_tokens: Number(outputTokens),
      cached_input_tokens: Number(cachedInputTokens),
    };
  },
  unpriced: ({ summary }) => unpricedUsageOf(sumsOfSummary(summary).models),
  metadata: ({ head }) => Object.fromEntries(metadataOf(head.parts) ?? []),
  scores: ({ head }) => scoresFact(head.parts, []),
  output: ({ head }) => {
    const output = outputOf(head.parts);
    return output === null ? null : JSON.parse(output);
  },
};

/** Returns whether the value of a name is read apart from the head of a run. */
function isRead(name: FactName): name is ReadFactName {
  return !(name in HEAD_FACTS);
}

/**
 * Returns the facts that follow from a run in memory: all of `needed` but those that are read apart.
 * `scores` has those of the finish alone.
 */
export function factsInMemory(run: RunInMemory, needed: ReadonlySet<FactName>): Facts {
  const facts: Partial<Record<FactName, unknown>> = {};
  for (const name of needed) if (!isRead(name)) facts[name] = HEAD_FACTS[name](run);
  return facts as Facts;
}

/** Maximum characters of texts from which facts are built in a commit that other runs share. */
const AT_ONCE_CHARS_MAX = 8_192;

/**
 * Returns the needed facts of a run if it can be judged at once; null if any of them must be read, or
 * is too long for that.
 */
export function factsAtOnce(run: RunInMemory, needed: ReadonlySet<FactName>): Facts | null {
  const { head: { parts, ages }, summary } = run;
  const calls = callFactsAtOnce(summary, needed);
  if (calls === null || needed.has("cost_with_children_usd")) return null;
  if (needed.has("scores") && ages.scores !== undefined) return null;
  let chars = 0;
  if (needed.has("goal")) chars += parts.opening?.goal?.length ?? 0;
  if (needed.has("output")) chars += outputOf(parts)?.length ?? 0;
  if (needed.has("metadata")) chars += charsOf(parts.opening?.metadata, parts.closing?.metadata);
  return chars > AT_ONCE_CHARS_MAX ? null : { ...factsInMemory(run, needed), ...calls };
}

const NO_FACTS: Facts = {};

/** Returns the needed facts of events if none of them must be read; else null. */
function callFactsAtOnce(summary: RunSummary, needed: ReadonlySet<FactName>): Facts | null {
  if (!EVENT_FACTS.some((name) => needed.has(name))) return NO_FACTS;
  const { events, calls, reported } = sumsOfSummary(summary);
  const counts = { ...summary.shown, events, llmCalls: calls - (reported === undefined ? 0 : 1) };
  return hasTooMany(counts) ? null : factsWithoutCalls(needed, counts);
}

/** Returns the output of a run; null for none. */
export function outputOf({ opening, closing }: RunParts): RawJson | null {
  return closing?.output ?? opening?.output ?? null;
}

/** Returns whether the output of a run is not stored as sent. */
export function isOutputCut({ opening, closing }: RunParts): boolean {
  const part = closing?.output === undefined ? opening : closing;
  return part?.lost?.includes("output") === true;
}

/** Returns scores by name: those of the finish, then added ones by time and id; the last one wins. */
export function scoresFact(
  { closing }: RunParts,
  added: readonly AddedScore[],
): AllFacts["scores"] {
  const ordered = added.toSorted((a, b) => timeOf(a) - timeOf(b) || (a.id < b.id ? -1 : 1));
  return Object.fromEntries([
    ...closing?.scores ?? [],
    ...ordered.map(({ name, value }) => [name, value] as const),
  ]);
}

/** Converts picodollars to the nearest number of dollars. */
export function usd(amount: bigint): number {
  return Number(dollarsText(amount));
}

/** The instant of an event does not depend on its arrival, so neither do the results. */
function timeOf({ ts, receivedAt }: AddedScore): number {
  return ts ?? receivedAt;
}

function metadataOf({ opening, closing }: RunParts): Metadata | null {
  return mergeMetadata(opening?.metadata ?? null, closing?.metadata ?? null);
}

function charsOf(...parts: readonly (Metadata | undefined)[]): number {
  let chars = 0;
  for (const metadata of parts) {
    for (const [key, value] of metadata ?? []) chars += key.length + String(value).length;
  }
  return chars;
}
