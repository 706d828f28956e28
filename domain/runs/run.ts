/**
 * A run as what it is stored as: an opening and a close, each written once, in either order.
 *
 * @module
 */
import type { LlmCall } from "../pricing/llm_call.ts";
import type { RawJson } from "../core/raw_json.ts";
import type { PartFlag } from "../core/losses.ts";
import type { Metadata } from "./metadata.ts";
import type { TraceParent } from "../core/traceparent.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RunId } from "../core/ids.ts";
import { priceOf } from "../pricing/price.ts";
import type { RateCard, RateMatch } from "../pricing/rates.ts";

/** How a run can end (spec, States). */
export const FINISH_STATUSES = ["success", "failed", "timeout", "cancelled"] as const;

/** One of {@link FINISH_STATUSES}. */
export type FinishStatus = typeof FINISH_STATUSES[number];

/** A run's status in the words every read uses (decision 28). */
export type RunStatus = "running" | FinishStatus;

/** What a heartbeat can say (spec, Heartbeat). */
export const HEARTBEAT_STATUSES = ["ok", "fail", "start", "timeout"] as const;

/** One of {@link HEARTBEAT_STATUSES}. */
export type HeartbeatStatus = typeof HEARTBEAT_STATUSES[number];

/** The one table between the two vocabularies (decision 28). */
export const STATUS_OF_HEARTBEAT = {
  ok: "success",
  fail: "failed",
  timeout: "timeout",
  start: "running",
} as const satisfies Record<HeartbeatStatus, RunStatus>;

/** A run's status in heartbeat words; `cancelled` has none and stays itself. */
export function heartbeatStatusOf(status: RunStatus): HeartbeatStatus | "cancelled" {
  switch (status) {
    case "success":
      return "ok";
    case "failed":
      return "fail";
    case "running":
      return "start";
    case "timeout":
    case "cancelled":
      return status;
    default:
      return status satisfies never;
  }
}

/** Usage and cost that a heartbeat reports of itself. */
export interface Reported {
  /** `cost_usd` as sent; wins over pricing tokens (pricing rule 1). */
  readonly cost?: Picodollars | undefined;
  /** Model the tokens were spent on. */
  readonly model?: string | undefined;
  /** Provider of the model. */
  readonly provider?: string | undefined;
  /** All input tokens, the cached ones among them. */
  readonly inputTokens?: number | undefined;
  /** Output tokens. */
  readonly outputTokens?: number | undefined;
  /** Input tokens read from a cache. */
  readonly cachedInputTokens?: number | undefined;
  /** What the tokens cost by the card when the part was stored; absent where nothing priced them. */
  readonly price?: ReportedPrice | undefined;
}

/** What the tokens of a heartbeat cost. */
export interface ReportedPrice {
  /** The cost. */
  readonly cost: Picodollars;
  /** The row that priced them, with its rates at the time. */
  readonly by: RateMatch;
}

/** What an opening and a close may both carry; on reading, the close's wins field by field. */
export interface PartDetails {
  /** Whom the cost is attributed to. */
  readonly customerId?: string | undefined;
  /** Label to filter and attribute by. */
  readonly feature?: string | undefined;
  /** Labels as kept by the plan. */
  readonly metadata?: Metadata | undefined;
  /** Usage and cost that a heartbeat reports. */
  readonly reported?: Reported | undefined;
  /** Note of a ping. */
  readonly note?: string | undefined;
  /** Result of the run, as sent. */
  readonly output?: RawJson | undefined;
  /** How something of the call was lost; absent for nothing. */
  readonly flags?: readonly PartFlag[] | undefined;
  /** Names of the fields that were. */
  readonly lost?: readonly string[] | undefined;
  /** Whether its payload was removed because it got too old. */
  readonly payloadRemoved?: true | undefined;
}

/** The part a run begins with: from `POST /v1/runs`, or from a run's first heartbeat. */
export interface Opening extends PartDetails {
  /** Which call opened the run; decides how it is priced (pricing rule 4). */
  readonly kind: "run" | "heartbeat";
  /** Slug of the agent. */
  readonly agent: string;
  /** Start by the client's clock, unix milliseconds. */
  readonly startedAt: number;
  /** Whether the client sent no start, so that the arrival stands for it. */
  readonly isStartAssumed?: true | undefined;
  /** Arrival by the server's clock, unix milliseconds. */
  readonly receivedAt: number;
  /** What the run should achieve. */
  readonly goal?: string | undefined;
  /** The run that started this one. */
  readonly parentRunId?: RunId | undefined;
  /** The trace it was started in. */
  readonly trace?: TraceParent | undefined;
  /** Seconds without an event after which the run may be closed. */
  readonly idleTimeoutSeconds?: number | undefined;
  /** Status such a close would set. */
  readonly idleTimeoutStatus?: FinishStatus | undefined;
}

/** The part a run ends with: from `/finish` or a closing heartbeat; the first one wins. */
export interface Closing extends PartDetails {
  /** How the run ended. */
  readonly status: FinishStatus;
  /** End by the client's clock, unix milliseconds. */
  readonly finishedAt: number;
  /** Arrival by the server's clock, unix milliseconds. */
  readonly receivedAt: number;
  /** Self-reported scores in the order they were sent. */
  readonly scores?: readonly Score[] | undefined;
  /** Duration the client measured; wins over the two instants (decision 30). */
  readonly durationMs?: number | undefined;
}

/** A self-reported score. */
export type Score = readonly [name: string, value: number | boolean];

/** The write-once parts of a run that are stored so far; each may arrive first. */
export interface RunParts {
  /** The opening, unless it has not arrived. */
  readonly opening: Opening | null;
  /** The close, unless it has not arrived. */
  readonly closing: Closing | null;
}

/** Status of a run by its parts. */
export function statusOf(parts: RunParts): RunStatus {
  return parts.closing?.status ?? "running";
}

/**
 * When the calls that stored a run's parts arrived, unix milliseconds: one for each part, or one for both
 * (decision 35 counts calls).
 */
export function arrivalsOf(parts: RunParts): readonly number[] {
  const { opening, closing } = parts;
  return [
    ...opening !== null && !isOneCall(parts) ? [opening.receivedAt] : [],
    ...closing === null ? [] : [closing.receivedAt],
  ];
}

/**
 * Whether one heartbeat stored both the opening and the close. It keeps what it reports with the close;
 * one that opens a run without ending it keeps that with the opening.
 */
export function isOneCall({ opening, closing }: RunParts): boolean {
  return opening?.kind === "heartbeat" && opening.reported === undefined && closing !== null;
}

/** Whom and what a run is for: what its close says wins. */
export function labelsOf(
  { opening, closing }: RunParts,
): { readonly customer: string | null; readonly feature: string | null } {
  return {
    customer: closing?.customerId ?? opening?.customerId ?? null,
    feature: closing?.feature ?? opening?.feature ?? null,
  };
}

/**
 * Duration of a closed run in milliseconds: as sent, else the span of the instants, never negative
 * (decision 30).
 */
export function durationOf(opening: Opening | null, closing: Closing | null): number | null {
  if (closing === null) return null;
  if (closing.durationMs !== undefined) return closing.durationMs;
  return opening === null ? null : Math.max(0, closing.finishedAt - opening.startedAt);
}

/** Usage a run reports of itself: the close's fields win, absent ones keep the opening's. */
export function reportedBy(parts: RunParts): Reported {
  const opened = parts.opening?.reported;
  const closed = parts.closing?.reported;
  return {
    cost: closed?.cost ?? opened?.cost,
    model: closed?.model ?? opened?.model,
    provider: closed?.provider ?? opened?.provider,
    inputTokens: closed?.inputTokens ?? opened?.inputTokens,
    outputTokens: closed?.outputTokens ?? opened?.outputTokens,
    cachedInputTokens: closed?.cachedInputTokens ?? opened?.cachedInputTokens,
    // A close is priced by what both report together.
    price: closed === undefined ? opened?.price : closed.price,
  };
}

/** The one call that a heartbeat is, when its tokens are what prices it (pricing rules 1 and 2). */
export function reportedCall(reported: Reported): LlmCall & { readonly model: string } | null {
  const { model, provider = null, inputTokens, outputTokens, cachedInputTokens } = reported;
  const counted = (inputTokens ?? outputTokens ?? cachedInputTokens) !== undefined;
  if (reported.cost !== undefined || model === undefined || !counted) return null;
  return {
    model,
    provider,
    counted,
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cachedInputTokens: cachedInputTokens ?? 0,
    cacheWriteTokens: 0,
  };
}

/** What the tokens of a heartbeat cost by a card; null where they do not price it. */
export function priceReported(parts: RunParts, card: RateCard): ReportedPrice | null {
  if (parts.opening?.kind !== "heartbeat") return null;
  const call = reportedCall(reportedBy(parts));
  const by = call === null ? null : card.find(call.provider, call.model, parts.opening.startedAt);
  if (call === null || by === null) return null;
  return { cost: BigInt(priceOf(by.row, call).cost), by };
}

/**
 * Cost in picodollars that a heartbeat states or whose tokens price it.
 *
 * A stated cost wins, also 0. A model without a price costs zero (pricing rule 3). A run opened by
 * `POST /v1/runs` is priced by its events alone (pricing rule 4).
 *
 * @param repriced what its tokens cost since they were priced anew, if they were
 */
export function reportedCost(parts: RunParts, repriced?: ReportedPrice | null): Picodollars {
  if (parts.opening?.kind !== "heartbeat") return 0n;
  return reportedBy(parts).cost ?? heartbeatPrice(parts, repriced)?.cost ?? 0n;
}

/** The price of a heartbeat's tokens: the latest one, null where the card had none. */
export function heartbeatPrice(
  parts: RunParts,
  repriced: ReportedPrice | null | undefined,
): ReportedPrice | null {
  return repriced === undefined ? reportedBy(parts).price ?? null : repriced;
}

/** Whether a heartbeat states what its run cost, which nothing prices anew (pricing rule 1). */
export function isStated(parts: RunParts): boolean {
  return parts.opening?.kind === "heartbeat" && reportedBy(parts).cost !== undefined;
}
