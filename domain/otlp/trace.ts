/**
 * Reads what a span says about its run: candidates for begin, end, status, agent and labels.
 *
 * @module
 */
import { AGENT_CHARS_MAX } from "../core/limits.ts";
import { isRunId, type RunId } from "../core/ids.ts";
import { cutText, printable } from "../core/text.ts";
import type { FinishStatus } from "../runs/run.ts";
import type { JoinedFacts, SpanFacts, TextCandidate } from "../runs/trace_facts.ts";
import { KIND_KEYS } from "./keys.ts";
import {
  customerOf,
  featureOf,
  metadataOf,
  ownLabel,
  type Service,
  serviceOf,
  type TieredLabel,
} from "./labels.ts";
import type { Observation, SpanFailure } from "./observation.ts";
import type { Span } from "./span.ts";

/** Ranks of spans: without a parent, agents, chains, others. */
const ROOT = 3, AGENT = 2, CHAIN = 1, OTHER = 0;

/** Instrumentations whose root says OK although an agent below it failed. */
const SILENT_ROOTS = /openai_agents/;

/** Rank of an agent's name by its source, above the rank of its span. */
const NAME_TIERS = { label: 3, name: 2, service: 1, default: 0 } as const;

/** Ranks of spans fit below one tier of names. */
const RANKS = 4;

/**
 * Returns the candidates that a span offers; undefined for those that are certain to lose.
 *
 * @param defaultAgent agent that the request names for all its spans; null for none
 * @param known facts of other spans
 */
export function factsOf(
  said: Observation,
  defaultAgent: string | null,
  known: JoinedFacts,
): SpanFacts {
  const { span } = said;
  const { startMs, endMs, spanId: id } = span;
  const rank = rankOf(said);
  const isSilent = rank === ROOT && SILENT_ROOTS.test(span.scope);
  const service = serviceOf(span);
  const parent = ownLabel(span, "runledger.parent_run_id");
  const metadata = metadataOf(said, service);
  const [beginRank, statusRank] = [rank >= AGENT ? 1 : 0, isSilent ? CHAIN : rank];
  return {
    begin: known.beats("begin", beginRank, startMs, id)
      ? undefined
      : { rank: beginRank, at: startMs, id },
    end: known.beats("end", rank, endMs, id) ? undefined : { rank, at: endMs, id, startMs },
    status: known.beats("status", statusRank, endMs, id) ? undefined : {
      rank: statusRank,
      at: endMs,
      id,
      startMs,
      // A handled failure of a call is no failure of the run.
      status: rank === OTHER ? "success" : statusOf(said.failure),
    },
    agent: agentOf(said, rank, defaultAgent, service, known),
    customer: labelOf(customerOf(said), span),
    feature: labelOf(featureOf(said), span),
    parent: isRunId(parent) ? { rank, at: startMs, id, value: parent } : undefined,
    metadata: metadata.length === 0 ? undefined : metadata,
    isClosed: span.parentId === null ? true : undefined,
    scopes: scopesOf(said),
  };
}

/** Returns what a span says about a run that `POST /v1/runs` opens: the instrumentations alone. */
export function attachedFactsOf(said: Observation): SpanFacts {
  return { scopes: scopesOf(said) };
}

/** A record of a stream's end is told beside its call, as if by another instrumentation. */
function scopesOf({ kind, span: { scope, attributes } }: Observation): SpanFacts["scopes"] {
  if (kind !== "llm") return undefined;
  const isRecord = attributes.get(KIND_KEYS.logfire) === "log";
  return isRecord ? [scope, `${scope} records`].sort() : [scope];
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
  service: Service,
  known: JoinedFacts,
): TextCandidate | undefined {
  const label = ownLabel(span, "runledger.agent") ?? defaultAgent;
  const ofService = service.isKnown ? NAME_TIERS.service : NAME_TIERS.default;
  const tier = label !== null ? NAME_TIERS.label : agent !== null ? NAME_TIERS.name : ofService;
  const [ofAll, at, id] = [tier * RANKS + rank, span.startMs, span.spanId];
  if (known.beats("agent", ofAll, at, id)) return undefined;
  return { rank: ofAll, at, id, value: slugOf(label ?? agent ?? service.name) };
}

/** Returns a name as an agent's slug: without control characters, cut to its limit. */
function slugOf(name: string): string {
  return cutText(printable(name).trim(), AGENT_CHARS_MAX);
}

function labelOf(label: TieredLabel | null, span: Span): TextCandidate | undefined {
  if (label === null) return undefined;
  return { rank: label.tier, at: span.startMs, id: span.spanId, value: label.value };
}

/** Returns the run that a span is attached to; null if its trace is its run. */
export function attachedRunOf({ span }: Observation): RunId | null {
  const id = ownLabel(span, "runledger.run_id");
  return isRunId(id) ? id : null;
}
