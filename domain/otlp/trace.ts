/**
 * Reads what a span says about its run: candidates for begin, end, status, agent and labels.
 *
 * @module
 */
import { AGENT_CHARS_MAX } from "../core/limits.ts";
import { isRunId, type RunId } from "../core/ids.ts";
import { cutText, printable } from "../core/text.ts";
import type { FinishStatus } from "../runs/run.ts";
import type { TextCandidate, TraceFacts } from "../runs/trace_facts.ts";
import { KIND_KEYS } from "./keys.ts";
import {
  customerOf,
  featureOf,
  metadataOf,
  ownLabel,
  serviceOf,
  type TieredLabel,
} from "./labels.ts";
import type { Observation, SpanFailure } from "./observation.ts";

/** Ranks of spans: without a parent, agents, chains, others. */
const ROOT = 3, AGENT = 2, CHAIN = 1, OTHER = 0;

/** Instrumentations whose root says OK although an agent below it failed. */
const SILENT_ROOTS = /openai_agents/;

/** Rank of an agent's name by its source, above the rank of its span. */
const NAME_TIERS = { label: 3, name: 2, service: 1, default: 0 } as const;

/** Ranks of spans fit below one tier of names. */
const RANKS = 4;

/**
 * Returns the candidates that a span offers.
 *
 * @param defaultAgent agent that the request names for all its spans; null for none
 */
export function factsOf(said: Observation, defaultAgent: string | null): TraceFacts {
  const { span } = said;
  const { startMs, endMs, spanId: id } = span;
  const rank = rankOf(said);
  const isSilent = rank === ROOT && SILENT_ROOTS.test(span.scope);
  const parent = ownLabel(span, "runledger.parent_run_id");
  return {
    begin: { rank: rank >= AGENT ? 1 : 0, at: startMs, id },
    end: { rank, at: endMs, id, startMs },
    status: {
      rank: isSilent ? CHAIN : rank,
      at: endMs,
      id,
      startMs,
      // A handled failure of a call is no failure of the run.
      status: rank === OTHER ? "success" : statusOf(said.failure),
    },
    agent: { at: startMs, id, ...agentOf(said, rank, defaultAgent) },
    ...textFact("customer", customerOf(said), startMs, id),
    ...textFact("feature", featureOf(said), startMs, id),
    ...isRunId(parent) ? textFact("parent", { tier: rank, value: parent }, startMs, id) : {},
    ...metadataFact(said),
    ...span.parentId === null ? { isClosed: true } : {},
    ...scopesFact(said),
  };
}

/** Returns what a span says about a run that `POST /v1/runs` opens: the instrumentations alone. */
export function attachedFactsOf(said: Observation): TraceFacts {
  return scopesFact(said);
}

/** A record of a stream's end is told beside its call, as if by another instrumentation. */
function scopesFact({ kind, span: { scope, attributes } }: Observation): TraceFacts {
  if (kind !== "llm") return {};
  const isRecord = attributes.get(KIND_KEYS.logfire) === "log";
  return { scopes: isRecord ? [scope, `${scope} records`].sort() : [scope] };
}

function rankOf({ span: { parentId }, kind }: Observation): number {
  if (parentId === null) return ROOT;
  if (kind === "agent") return AGENT;
  return kind === "chain" ? CHAIN : OTHER;
}

function statusOf(failure: SpanFailure | null): FinishStatus {
  if (failure === null) return "success";
  const type = (failure.type ?? "").toLowerCase();
  if (/timeout|deadline/.test(type)) return "timeout";
  return /cancel|abort/.test(type) ? "cancelled" : "failed";
}

function agentOf(
  { span, agent }: Observation,
  rank: number,
  defaultAgent: string | null,
): { readonly rank: number; readonly value: string } {
  const label = ownLabel(span, "runledger.agent") ?? defaultAgent;
  const service = serviceOf(span);
  const [tier, value] = label !== null
    ? [NAME_TIERS.label, label]
    : agent !== null
    ? [NAME_TIERS.name, agent]
    : [service.isKnown ? NAME_TIERS.service : NAME_TIERS.default, service.name];
  return { rank: tier * RANKS + rank, value: slugOf(value) };
}

/** Returns a name as an agent's slug: without control characters, cut to its limit. */
function slugOf(name: string): string {
  return cutText(printable(name).trim(), AGENT_CHARS_MAX);
}

function textFact<Name extends string>(
  name: Name,
  label: TieredLabel | null,
  at: number,
  id: string,
): { readonly [Key in Name]?: TextCandidate } {
  if (label === null) return {};
  const fact: TextCandidate = { rank: label.tier, at, id, value: label.value };
  return { [name]: fact } as { readonly [Key in Name]?: TextCandidate };
}

function metadataFact(said: Observation): Pick<TraceFacts, "metadata"> {
  const { startMs: at, spanId: id } = said.span;
  const labels = Array.from(
    metadataOf(said),
    ([key, value]) => [key, { rank: 0, at, id, value }] as const,
  );
  return labels.length === 0 ? {} : { metadata: labels };
}

/** Returns the run that a span is attached to; null if its trace is its run. */
export function attachedRunOf({ span }: Observation): RunId | null {
  const id = ownLabel(span, "runledger.run_id");
  return isRunId(id) ? id : null;
}
