/**
 * Decides the effect of each ingest call on a run. Decisions are pure functions of the stored
 * parts.
 *
 * A decision never writes. The storage layer commits the change on the condition that the parts are
 * unchanged, and on a conflict decides again from the new parts.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import { DERIVED_START_MS_MAX } from "../core/limits.ts";
import {
  type Closing,
  type HeartbeatStatus,
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
  & Omit<Opening, "kind" | "receivedAt" | "reported" | "note" | "output" | "isOfTrace">;

/** A checked `POST /v1/runs/{id}/finish`. */
export type FinishRequest = Omit<
  Closing,
  | ("receivedAt" | "durationMs" | "closedBy" | "reported" | "note")
  | ("customerId" | "feature" | "payloadRemoved")
>;

/** A checked heartbeat or ping. If the client sent no id, one is generated before this point. */
export interface HeartbeatRequest extends Omit<PartDetails, "payloadRemoved"> {
  /** The run. */
  readonly id: RunId;
  /** Agent's slug. */
  readonly agent: string;
  /** Status in heartbeat vocabulary. */
  readonly status: HeartbeatStatus;
  /** Start, if the client sent one; only sent values are compared (decision 24). */
  readonly startedAt?: number | undefined;
  /** End, if the client sent one. */
  readonly finishedAt?: number | undefined;
  /** Duration measured by the client, milliseconds. */
  readonly durationMs?: number | undefined;
  /** Reported usage and cost. */
  readonly reported: Reported;
  /** Trace context of the request. */
  readonly trace?: TraceParent | undefined;
  /** Run that it belongs to; only the service sets it, for the calls of judges. */
  readonly parentRunId?: RunId | undefined;
}

/**
 * A conflict: the request contradicts an immutable field of the stored run, or the run is deleted.
 */
export interface Conflict {
  /** Discriminates the outcomes. */
  readonly kind: "conflict";
  /** First field that differs, in the order of decision 14; `id` for a deleted run. */
  readonly field: "id" | "agent" | "started_at";
}

/** Conflict of a deleted run, whose id stays reserved for a while. */
export const DELETED: Conflict = { kind: "conflict", field: "id" };

/** Outcome of a call. `stored` answers 202 and counts one event, `replayed` answers 200. */
export type Outcome =
  | { readonly kind: "stored" | "replayed"; readonly parts: RunParts }
  | Conflict;

/** A decision with the parts to write; it has none for a replay or a conflict. */
export interface Decision {
  /** Response to the caller, valid once the parts are on disk. */
  readonly outcome: Outcome;
  /** Opening to insert. */
  readonly opening?: Opening;
  /** Close to insert. */
  readonly closing?: Closing;
}

/**
 * Decides `POST /v1/runs`: the opening stored first counts, also of a heartbeat, and a call that
 * agrees with it is a replay (R34).
 */
export function decideOpen(stored: RunParts, request: OpenRequest, receivedAt: number): Decision {
  if (stored.opening !== null) return { outcome: compare(stored, stored.opening, request) };
  const opening = openingOfRun(request, receivedAt);
  // An earlier close appears in the next response; this response reports only this call's effect.
  return { outcome: { kind: "stored", parts: { opening, closing: null } }, opening };
}

/**
 * Decides `/finish`: the first close wins, regardless of later ones, and the run need not be open.
 */
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
 * Decides a heartbeat: opens the run if it is not open, and closes it if it is not closed.
 *
 * A `start` never closes and never reopens; the first close wins (decisions 24 to 27). The part
 * written last carries the price of the usage that all parts report (pricing rule 2). On a run that
 * `POST /v1/runs` opened, reported usage is not stored (pricing rule 4).
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
    const closing = closingOf(request, receivedAt, stored.opening, card);
    return { outcome: { kind: "stored", parts: { ...stored, closing } }, closing };
  }
  if (request.status === "start" || stored.closing !== null) {
    const closing = request.status === "start" ? null : stored.closing;
    const opened = openingOf(request, receivedAt, true);
    const opening = priced(opened, { opening: opened, closing: stored.closing }, card);
    return { outcome: { kind: "stored", parts: { opening, closing } }, opening };
  }
  const opening = openingOf(request, receivedAt, false);
  const closing = closingOf(request, receivedAt, opening, card);
  return { outcome: { kind: "stored", parts: { opening, closing } }, opening, closing };
}

/** Copies the fields of the request unchanged: an opening stores all of them but the id. */
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

/** @param alone true if no close is written with it, so that it carries all reported usage */
function openingOf(request: HeartbeatRequest, receivedAt: number, alone: boolean): Opening {
  const startedAt = request.startedAt ?? assumedStart(request, receivedAt);
  const { agent, trace, parentRunId } = request;
  const parent = parentRunId === undefined ? {} : { parentRunId };
  const own = { kind: "heartbeat", agent, startedAt, receivedAt, trace, ...parent } as const;
  return alone ? { ...own, ...detailsOf(request) } : own;
}

/**
 * Returns the start of a run whose client sent none: its end minus the duration that it measured, so
 * that a run counts for the day on which it began (R26).
 */
function assumedStart({ status, finishedAt, durationMs }: HeartbeatRequest, receivedAt: number) {
  const isKnown = status !== "start" && durationMs !== undefined;
  if (!isKnown || durationMs > DERIVED_START_MS_MAX) return receivedAt;
  return Math.max(0, (finishedAt ?? receivedAt) - durationMs);
}

function closingOf(
  request: HeartbeatRequest,
  receivedAt: number,
  opening: Opening,
  card: RateCard,
): Closing {
  const status = STATUS_OF_HEARTBEAT[request.status];
  // Callers only close a run with a final status.
  if (status === "running") throw new TypeError("Cannot close a run with status start");
  const { durationMs, finishedAt = receivedAt } = request;
  const details = detailsOf(request);
  const closing: Closing = {
    ...{ status, finishedAt, receivedAt, durationMs, closedBy: "heartbeat" },
    ...opening.kind === "heartbeat" ? details : { ...details, reported: undefined },
  };
  return priced(closing, { opening, closing }, card);
}

/** Adds to the part being written the price of the tokens that all parts report. */
function priced<Part extends Opening | Closing>(part: Part, parts: RunParts, card: RateCard): Part {
  const price = priceReported(parts, card);
  return price === null ? part : { ...part, reported: { ...part.reported, price } };
}

/**
 * Returns the fields an opening and a close share; on reading, the close's value wins field by
 * field.
 */
function detailsOf(request: HeartbeatRequest) {
  const { customerId, feature, metadata, reported, note, output, flags, lost, ignored } = request;
  return { customerId, feature, metadata, reported, note, output, flags, lost, ignored };
}
