/**
 * What each ingest call does to a run: pure decisions over the parts that are stored.
 *
 * A decision never writes. The storage layer commits its change under the check that the parts are
 * still as they were, and asks again with the new parts when they are not.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import {
  type Closing,
  type HeartbeatStatus,
  isOneCall,
  type Opening,
  type PartDetails,
  priceReported,
  type Reported,
  type RunParts,
  STATUS_OF_HEARTBEAT,
} from "./run.ts";
import type { TraceParent } from "../core/traceparent.ts";
import type { RateCard } from "../pricing/rates.ts";

/** A checked `POST /v1/runs`. */
export type OpenRequest =
  & { readonly id: RunId }
  & Omit<Opening, "kind" | "receivedAt" | "reported" | "note" | "output">;

/** A checked `POST /v1/runs/{id}/finish`. */
export type FinishRequest = Omit<
  Closing,
  "receivedAt" | "durationMs" | "reported" | "note" | "customerId" | "feature" | "payloadRemoved"
>;

/** A checked heartbeat or ping; the id is minted before when the client sent none. */
export interface HeartbeatRequest extends Omit<PartDetails, "payloadRemoved"> {
  /** The run. */
  readonly id: RunId;
  /** Slug of the agent. */
  readonly agent: string;
  /** Status in the words of heartbeats. */
  readonly status: HeartbeatStatus;
  /** Start, when the client claims one; only claims are compared (decision 24). */
  readonly startedAt?: number | undefined;
  /** End, when the client states one. */
  readonly finishedAt?: number | undefined;
  /** Measured duration. */
  readonly durationMs?: number | undefined;
  /** Reported usage and cost. */
  readonly reported: Reported;
  /** The trace it was sent in. */
  readonly trace?: TraceParent | undefined;
}

/** The stored run differs from the request in a field that may never differ, or is deleted. */
export interface Conflict {
  /** Tells the outcomes apart. */
  readonly kind: "conflict";
  /** The first field that differs, in the order of decision 14; `id` for a run that is deleted. */
  readonly field: "id" | "agent" | "started_at";
}

/** The run was deleted, and its id is refused for a while. */
export const DELETED: Conflict = { kind: "conflict", field: "id" };

/** What a call came to. `stored` answers 202 and counts one event, `replayed` answers 200. */
export type Outcome =
  | { readonly kind: "stored" | "replayed"; readonly parts: RunParts }
  | Conflict;

/** The parts a decision wants written; none for a replay or a conflict. */
export interface Decision {
  /** What the caller is told once the parts are on disk. */
  readonly outcome: Outcome;
  /** Part to insert where none is, or to replace the stored one. */
  readonly opening?: Opening;
  /** Set when `opening` replaces the opening of a heartbeat. */
  readonly replaces?: {
    /** Whether the stored opening counts as an event of its own already. */
    readonly isCounted: boolean;
  };
  /** Part to insert where none is. */
  readonly closing?: Closing;
}

/**
 * Decides `POST /v1/runs`: the first such call wins, the same one again is a replay. It replaces the
 * opening of a heartbeat, so that the record does not depend on which of the two arrived first (R18).
 */
export function decideOpen(
  stored: RunParts,
  request: OpenRequest,
  receivedAt: number,
): Decision {
  const replaced = stored.opening;
  if (replaced !== null) {
    // A heartbeat that did not say when the run started contradicts no start.
    const { agent, startedAt } = request;
    const claim = replaced.isStartAssumed === true ? { agent } : { agent, startedAt };
    const compared = compare(stored, replaced, claim);
    if (compared.kind === "conflict" || replaced.kind === "run") return { outcome: compared };
  }
  // A heartbeat that opened and closed the run in one call counts as its close alone. Any other counts
  // as the opening: then this call counts nothing, and answers as a replay does.
  const isCounted = replaced !== null && !isOneCall(stored);
  const opening = openingOfRun(request, isCounted ? replaced.receivedAt : receivedAt);
  // A close that came earlier shows on the next answer: this one says what this call did.
  const outcome: Outcome = isCounted
    ? { kind: "replayed", parts: { ...stored, opening } }
    : { kind: "stored", parts: { opening, closing: null } };
  return replaced === null ? { outcome, opening } : { outcome, opening, replaces: { isCounted } };
}

/** Decides `/finish`: the first close wins whatever a later one says, and needs no opening. */
export function decideFinish(
  stored: RunParts,
  request: FinishRequest,
  receivedAt: number,
): Decision {
  if (stored.closing !== null) return { outcome: { kind: "replayed", parts: stored } };
  const closing: Closing = { ...request, receivedAt };
  return { outcome: { kind: "stored", parts: { ...stored, closing } }, closing };
}

/**
 * Decides a heartbeat: opens the run where it is not open, closes it where it is not closed.
 *
 * A `start` never closes and never reopens; the first close wins (decisions 24 to 27). The part that
 * is written last carries the price of what all parts report (pricing rule 2).
 *
 * @param card prices the tokens
 */
export function decideHeartbeat(
  stored: RunParts,
  request: HeartbeatRequest,
  receivedAt: number,
  card: RateCard,
): Decision {
  if (stored.opening !== null) {
    const compared = compare(stored, stored.opening, request);
    const closes = request.status !== "start" && stored.closing === null;
    if (compared.kind === "conflict" || !closes) return { outcome: compared };
    const closed = closingOf(request, receivedAt);
    const closing = priced(closed, { opening: stored.opening, closing: closed }, card);
    return { outcome: { kind: "stored", parts: { ...stored, closing } }, closing };
  }
  if (request.status === "start" || stored.closing !== null) {
    const closing = request.status === "start" ? null : stored.closing;
    const opened = openingOf(request, receivedAt, true);
    const opening = priced(opened, { opening: opened, closing: stored.closing }, card);
    return { outcome: { kind: "stored", parts: { opening, closing } }, opening };
  }
  const opening = openingOf(request, receivedAt, false);
  const closed = closingOf(request, receivedAt);
  const closing = priced(closed, { opening, closing: closed }, card);
  return { outcome: { kind: "stored", parts: { opening, closing } }, opening, closing };
}

/** Takes over the fields of the request as they are: an opening stores every one but the id. */
function openingOfRun(request: OpenRequest, receivedAt: number): Opening {
  const { id: _, agent, startedAt, ...details } = request;
  return { kind: "run", agent, startedAt, receivedAt, ...details };
}

function compare(
  parts: RunParts,
  opening: Opening,
  claim: { readonly agent: string; readonly startedAt?: number | undefined },
): Outcome {
  if (claim.agent !== opening.agent) return { kind: "conflict", field: "agent" };
  const differs = claim.startedAt !== undefined && claim.startedAt !== opening.startedAt;
  return differs ? { kind: "conflict", field: "started_at" } : { kind: "replayed", parts };
}

/** @param alone whether no close goes with it, so that it carries all that was reported */
function openingOf(request: HeartbeatRequest, receivedAt: number, alone: boolean): Opening {
  const startedAt = request.startedAt ?? receivedAt;
  const { agent, trace } = request;
  const isStartAssumed = request.startedAt === undefined ? true : undefined;
  const opening: Opening = {
    kind: "heartbeat",
    agent,
    startedAt,
    isStartAssumed,
    receivedAt,
    trace,
  };
  return alone ? { ...opening, ...detailsOf(request) } : opening;
}

function closingOf(request: HeartbeatRequest, receivedAt: number): Closing {
  const status = STATUS_OF_HEARTBEAT[request.status];
  // Callers close only with a status that ends a run.
  if (status === "running") throw new TypeError("Cannot close a run with status start");
  const { durationMs, finishedAt = receivedAt } = request;
  return { status, finishedAt, receivedAt, durationMs, ...detailsOf(request) };
}

/** Adds to the part being written what the tokens cost that the parts report together. */
function priced<Part extends Opening | Closing>(part: Part, parts: RunParts, card: RateCard): Part {
  const price = priceReported(parts, card);
  return price === null ? part : { ...part, reported: { ...part.reported, price } };
}

/** What an opening and a close may both carry; on reading, the close's wins field by field. */
function detailsOf(request: HeartbeatRequest) {
  const { customerId, feature, metadata, reported, note, output, flags, lost } = request;
  return { customerId, feature, metadata, reported, note, output, flags, lost };
}
