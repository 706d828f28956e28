/**
 * Facts of a trace, from its spans: begin, end, status, agent and labels of their run.
 *
 * Each span offers candidates, and a total order picks one of each kind. The join is associative,
 * commutative and idempotent, so neither order nor batches nor repeats can change a run.
 *
 * @module
 */
import { isRunId, type RunId } from "../core/ids.ts";
import type { Closing, FinishStatus, Metadata, Opening, RunParts } from "./run.ts";

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

/** Candidate for the end of a run: the instant is the span's end. */
export interface EndCandidate extends Candidate {
  /** Start of the span, by which its event is found. */
  readonly startMs: number;
}

/** Candidate for the status of a run. */
export interface StatusCandidate extends EndCandidate {
  /** The status. */
  readonly status: FinishStatus;
}

/** Facts of a trace, from the spans that have arrived. */
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
  readonly metadata?: readonly MetadataLabel[];
  /** True once a span without a parent arrived, or an agent with all that encloses it. */
  readonly isClosed?: true;
  /** Names of the instrumentations that told model calls, sorted. */
  readonly scopes?: readonly string[];
}

/** Facts that one span offers; undefined where it says nothing. */
export type SpanFacts = { readonly [Name in keyof TraceFacts]: TraceFacts[Name] | undefined };

/** Maximum metadata keys of a trace; a plan may keep fewer. */
const METADATA_KEYS_MAX = 64;

/** Maximum instrumentations that are named: two decide that twins are looked for. */
const SCOPES_MAX = 8;

/** Classes of metadata in the order in which a plan's limit keeps them. */
const METADATA_ORDER = ["service", "env", "version", "session"];

/** Candidate for the value of a key of metadata. */
export interface MetadataLabel extends Candidate {
  /** The key. */
  readonly key: string;
  /** The value; null once retention has removed it. */
  readonly value: string | null;
}

/** Sorts labels and keeps the first: which keys are kept depends on all of them alone. */
export function sortedMetadata(labels: readonly MetadataLabel[]): readonly MetadataLabel[] {
  const orderOf = (key: string) => {
    const at = METADATA_ORDER.indexOf(key);
    return at >= 0 ? at : METADATA_ORDER.length + (key.startsWith("tag.") ? 1 : 0);
  };
  return labels
    .toSorted(({ key: a }, { key: b }) => orderOf(a) - orderOf(b) || (a < b ? -1 : 1))
    .slice(0, METADATA_KEYS_MAX);
}

/** Facts of which the earliest candidate counts, and those of which the latest does. */
const EARLIEST = ["begin", "agent", "customer", "feature", "parent"] as const;
const LATEST = ["end", "status"] as const;

/** A fact of which one candidate counts. */
export type Competing = Exclude<keyof TraceFacts, "metadata" | "isClosed" | "scopes">;

/** Joins what sets of spans say. */
export function joinFacts(all: readonly SpanFacts[]): TraceFacts {
  const joined = new JoinedFacts();
  for (const facts of all) joined.add(facts);
  return joined.result();
}

/** Facts of a trace while they are joined. */
export class JoinedFacts {
  readonly #joined: { -readonly [Name in keyof TraceFacts]: unknown } = {};
  readonly #metadata = new Map<string, MetadataLabel>();
  readonly #scopes = new Set<string>();

  /** Adds what a set of spans says. */
  add(facts: SpanFacts): void {
    for (const name of EARLIEST) this.#join(name, facts[name], 1);
    for (const name of LATEST) this.#join(name, facts[name], -1);
    if (facts.isClosed) this.#joined.isClosed = true;
    for (const label of facts.metadata ?? []) {
      this.#metadata.set(label.key, pick(this.#metadata.get(label.key), label, 1));
    }
    for (const scope of facts.scopes ?? []) this.#scopes.add(scope);
  }

  /** Returns whether a candidate is certain to lose, so that it need not be added. */
  beats(name: Competing, rank: number, at: number, id: string): boolean {
    const known = this.#joined[name] as Candidate | undefined;
    return known !== undefined && orderOf(known, { rank, at, id }, isLatest(name) ? -1 : 1) < 0;
  }

  /** Returns the facts. */
  result(): TraceFacts {
    const [joined, metadata, scopes] = [this.#joined, this.#metadata, this.#scopes];
    if (metadata.size > 0) joined.metadata = sortedMetadata([...metadata.values()]);
    if (scopes.size > 0) joined.scopes = [...scopes].sort().slice(0, SCOPES_MAX);
    return joined as TraceFacts;
  }

  #join(name: Competing, candidate: Candidate | undefined, sign: 1 | -1): void {
    if (candidate === undefined) return;
    this.#joined[name] = pick(this.#joined[name] as Candidate | undefined, candidate, sign);
  }
}

function isLatest(name: Competing): boolean {
  return name === "end" || name === "status";
}

/** Returns the candidate that comes first by {@link orderOf}. */
function pick<C extends Candidate>(a: C | undefined, b: C, sign: 1 | -1): C {
  if (a === undefined) return b;
  const order = orderOf(a, b, sign);
  // A span that is sent twice with other values: the greater text, whichever came first.
  const isFirst = order !== 0 ? order < 0 : JSON.stringify(a) <= JSON.stringify(b);
  return isFirst ? a : b;
}

/**
 * Orders candidates by rank, instant and id.
 *
 * @param sign 1 if the earlier instant comes first, -1 if the later one does
 */
function orderOf(a: Candidate, b: Candidate, sign: 1 | -1): number {
  return b.rank - a.rank || sign * (a.at - b.at) || (a.id < b.id ? -1 : Number(a.id > b.id));
}

/** Part of a trace that a run's ledger keeps. */
export interface StoredTrace extends TraceFacts {
  /** Agent of the run; absent until the trace is closed or its spans name the agent themselves. */
  readonly slug?: string;
  /** True if the team's limit of agents left the run without one. */
  readonly isAgentRefused?: true;
  /** Arrival of the batch that closed the run, unix milliseconds; absent while it is open. */
  readonly closedAt?: number;
  /** True if the run has more calls than are decided. */
  readonly isUndecided?: true;
  /** Number of calls that another event counts; absent for none. */
  readonly repeatedCalls?: number;
}

/** A trace as a record shows it. */
export interface RunTrace {
  /** Name of its agent so far, also while the run has none; null for spans that name none. */
  readonly agent: string | null;
  /** Instrumentations that told its model calls, sorted. */
  readonly scopes: readonly string[];
  /** Number of model calls that several of them told, and that are counted once. */
  readonly repeatedCalls: number;
}

/** Returns the trace of a run as its record shows it; null for none. */
export function runTraceOf({ trace }: Pick<TracedLedger, "trace">): RunTrace | null {
  if (trace === undefined) return null;
  const { agent, scopes = [], repeatedCalls = 0 } = trace;
  return { agent: agent?.value ?? null, scopes, repeatedCalls };
}

/** Seconds without a span after which a trace without a closed root is closed. */
export const TRACE_IDLE_SECONDS = 60;

/** Rank from which an agent's name was chosen for the ledger, by an attribute or a header. */
export const CHOSEN_AGENT_RANK = 12;

/**
 * Adds what a batch says to a stored trace.
 *
 * @param metadataKeysMax metadata keys that the team's plan stores
 */
export function addFacts(
  before: StoredTrace | undefined,
  facts: TraceFacts,
  receivedAt: number,
  metadataKeysMax: number,
): StoredTrace {
  const joined = joinFacts([before ?? {}, facts]);
  const { metadata = [] } = joined;
  const closedAt = before?.closedAt ?? (joined.isClosed ? receivedAt : undefined);
  return {
    ...before,
    ...joined,
    ...metadata.length > metadataKeysMax ? { metadata: metadata.slice(0, metadataKeysMax) } : {},
    ...closedAt === undefined ? {} : { closedAt },
  };
}

/**
 * Returns whether silence closes a run: it has a trace of its own that is not closed, and no opening
 * sets another timeout.
 */
export function isOpenTrace({ trace }: Pick<TracedLedger, "trace">): boolean {
  return trace?.begin !== undefined && trace.closedAt === undefined;
}

/** Returns the agent that a trace's run has now; undefined until it is closed or names it. */
export function agentOfTrace({ agent, closedAt }: StoredTrace): string | undefined {
  if (agent === undefined) return undefined;
  return closedAt !== undefined || agent.rank >= CHOSEN_AGENT_RANK ? agent.value : undefined;
}

/** A ledger's trace, and the arrival of its first batch. */
export interface TracedLedger {
  /** The trace; absent for none. */
  readonly trace?: StoredTrace | undefined;
  /** Earliest arrival of a batch, unix milliseconds; null for none. */
  readonly firstAt: number | null;
}

/** Returns the parts of a run; what no call sent is derived from its trace. */
export function withTrace(parts: RunParts, ledger: TracedLedger): RunParts {
  const { trace } = ledger;
  if (trace?.begin === undefined) return parts;
  return {
    opening: parts.opening ?? openingOf(trace, ledger),
    closing: parts.closing ?? closingOf(trace),
  };
}

function openingOf(trace: StoredTrace, { firstAt }: TracedLedger): Opening | null {
  const { begin, slug, status, customer, feature, parent, metadata } = trace;
  if (slug === undefined || begin === undefined) return null;
  return {
    kind: "run",
    agent: slug,
    startedAt: Math.floor(begin.at),
    receivedAt: firstAt ?? 0,
    ...customer === undefined ? {} : { customerId: customer.value },
    ...feature === undefined ? {} : { feature: feature.value },
    ...isRunId(parent?.value) ? { parentRunId: parent.value as RunId } : {},
    ...metadata === undefined ? {} : { metadata: metadataOf(metadata) },
    idleTimeoutSeconds: TRACE_IDLE_SECONDS,
    idleTimeoutStatus: status?.status ?? "success",
    isOfTrace: true,
  };
}

function metadataOf(labels: readonly MetadataLabel[]): Metadata {
  return labels.map(({ key, value }) => [key, value]);
}

function closingOf(trace: StoredTrace): Closing | null {
  const { closedAt, end, begin, status } = trace;
  if (closedAt === undefined) return null;
  return {
    status: status?.status ?? "success",
    finishedAt: Math.floor(end?.at ?? begin?.at ?? closedAt),
    receivedAt: closedAt,
    closedBy: "trace",
  };
}

/** Removes the values of a trace's metadata, which retention removes with the payload. */
export function withoutMetadata(trace: StoredTrace): StoredTrace {
  const { metadata } = trace;
  if (metadata === undefined) return trace;
  return { ...trace, metadata: metadata.map((label) => ({ ...label, value: null })) };
}
