/**
 * Joins what the spans of a trace say about their run: begin, end, status, agent and labels.
 *
 * Each span offers candidates, and a total order picks one of each kind. The join is associative,
 * commutative and idempotent, so neither order nor batches nor repeats can change a run.
 *
 * @module
 */
import { AGENT_CHARS_MAX } from "../core/limits.ts";
import { isRunId, type RunId } from "../core/ids.ts";
import { cutText, printable } from "../core/text.ts";
import type { FinishStatus } from "../runs/run.ts";
import {
  customerOf,
  featureOf,
  METADATA_ORDER,
  metadataOf,
  ownLabel,
  serviceOf,
  type TieredLabel,
} from "./labels.ts";
import type { Observation, SpanFailure } from "./observation.ts";

/** A candidate: the greatest rank wins, then the instant, then the smaller id of the span. */
export interface Candidate {
  /** Precedence. */
  readonly rank: number;
  /** Instant that decides between equal ranks, unix milliseconds. */
  readonly at: number;
  /** Id of the span. */
  readonly id: string;
}

/** Candidate for a text. */
export interface TextCandidate extends Candidate {
  /** The text. */
  readonly value: string;
}

/** Candidate for the end of a run. */
export interface EndCandidate extends Candidate {
  /** Start of the span, by which its event is found. */
  readonly startMs: number;
}

/** Candidate for the status of a run. */
export interface StatusCandidate extends Candidate {
  /** The status. */
  readonly status: FinishStatus;
}

/** What the spans of a trace say about their run, as far as they arrived. */
export interface TraceFacts {
  /** Span that begins the run; absent if all its spans are attached to a run of its own opening. */
  readonly begin?: Candidate;
  /** Span that ends it. */
  readonly end?: EndCandidate;
  /** Span that tells its status. */
  readonly status?: StatusCandidate;
  /** Name of its agent. */
  readonly agent?: TextCandidate;
  /** Customer. */
  readonly customer?: TextCandidate;
  /** Feature. */
  readonly feature?: TextCandidate;
  /** Run that started it. */
  readonly parent?: TextCandidate;
  /** Metadata by key, in the order in which a plan's limit keeps it. */
  readonly metadata?: readonly (readonly [key: string, label: TextCandidate])[];
  /** True once a span without a parent arrived, or an agent with all that encloses it. */
  readonly isClosed?: true;
  /** Names of the instrumentations that told model calls, sorted. */
  readonly scopes?: readonly string[];
}

/** Maximum metadata keys of a trace; a plan may keep fewer. */
const METADATA_KEYS_MAX = 64;

/** Maximum instrumentations that are named: two decide that twins are looked for. */
const SCOPES_MAX = 8;

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
  const { span, kind } = said;
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
      // A handled failure of a call is no failure of the run.
      status: rank === OTHER ? "success" : statusOf(said.failure),
    },
    agent: { at: startMs, id, ...agentOf(said, rank, defaultAgent) },
    ...textFact("customer", customerOf(said), startMs, id),
    ...textFact("feature", featureOf(said), startMs, id),
    ...isRunId(parent) ? textFact("parent", { tier: rank, value: parent }, startMs, id) : {},
    ...metadataFact(said),
    ...span.parentId === null ? { isClosed: true } : {},
    ...kind === "llm" ? { scopes: [span.scope] } : {},
  };
}

/** Returns what a span says about a run that `POST /v1/runs` opens: the instrumentations alone. */
export function attachedFactsOf({ kind, span }: Observation): TraceFacts {
  return kind === "llm" ? { scopes: [span.scope] } : {};
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
  return labels.length === 0 ? {} : { metadata: sortedMetadata(labels) };
}

type MetadataLabel = readonly [key: string, label: TextCandidate];

/** Sorts labels and keeps the first: which keys are kept depends on all of them alone. */
function sortedMetadata(labels: readonly MetadataLabel[]): readonly MetadataLabel[] {
  const orderOf = (key: string) => {
    const at = (METADATA_ORDER as readonly string[]).indexOf(key);
    return at >= 0 ? at : METADATA_ORDER.length + (key.startsWith("tag.") ? 1 : 0);
  };
  return labels
    .toSorted(([a], [b]) => orderOf(a) - orderOf(b) || (a < b ? -1 : 1))
    .slice(0, METADATA_KEYS_MAX);
}

/** Joins what two sets of spans say. */
export function joinFacts(a: TraceFacts, b: TraceFacts): TraceFacts {
  const joined = {
    begin: earliest(a.begin, b.begin),
    end: latest(a.end, b.end),
    status: latest(a.status, b.status),
    agent: earliest(a.agent, b.agent),
    customer: earliest(a.customer, b.customer),
    feature: earliest(a.feature, b.feature),
    parent: earliest(a.parent, b.parent),
    metadata: joinMetadata(a.metadata, b.metadata),
    isClosed: a.isClosed ?? b.isClosed,
    scopes: joinScopes(a.scopes, b.scopes),
  };
  return Object.fromEntries(
    Object.entries(joined).filter(([, fact]) => fact !== undefined),
  ) as TraceFacts;
}

function earliest<C extends Candidate>(a: C | undefined, b: C | undefined): C | undefined {
  return pick(a, b, (one, other) => one.at - other.at);
}

function latest<C extends Candidate>(a: C | undefined, b: C | undefined): C | undefined {
  return pick(a, b, (one, other) => other.at - one.at);
}

/** Returns the candidate that comes first by rank, instant and id. */
function pick<C extends Candidate>(
  a: C | undefined,
  b: C | undefined,
  byInstant: (a: C, b: C) => number,
): C | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const order = b.rank - a.rank || byInstant(a, b) || (a.id < b.id ? -1 : Number(a.id > b.id));
  // A span that is sent twice with other values: the greater text, whichever came first.
  const isFirst = order !== 0 ? order < 0 : JSON.stringify(a) <= JSON.stringify(b);
  return isFirst ? a : b;
}

function joinMetadata(
  a: TraceFacts["metadata"] = [],
  b: TraceFacts["metadata"] = [],
): TraceFacts["metadata"] {
  if (a.length === 0 && b.length === 0) return undefined;
  const joined = new Map(a);
  for (const [key, label] of b) joined.set(key, earliest(joined.get(key), label) ?? label);
  return sortedMetadata([...joined]);
}

function joinScopes(
  a: TraceFacts["scopes"] = [],
  b: TraceFacts["scopes"] = [],
): TraceFacts["scopes"] {
  const scopes = [...new Set([...a, ...b])].sort().slice(0, SCOPES_MAX);
  return scopes.length === 0 ? undefined : scopes;
}

/** Returns the run that a span is attached to; null if its trace is its run. */
export function attachedRunOf({ span }: Observation): RunId | null {
  const id = ownLabel(span, "runledger.run_id");
  return isRunId(id) ? id : null;
}
