/**
 * A run as stored: an opening and a close, each written once, in either order, and their metadata: flat
 * labels, trimmed to the plan's limit. No metadata causes a call to be refused (decision 38).
 *
 * @module
 */
import type { LlmCall } from "../pricing/llm_call.ts";
import { charCount, type RawJson, rawMembers, rawOf, writeObject } from "../core/raw_json.ts";
import type { StoredLosses } from "../core/losses.ts";
import type { TraceParent } from "../core/traceparent.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RunId } from "../core/ids.ts";
import { priceOf } from "../pricing/price.ts";
import type { CallTokens, RateCard, RateMatch } from "../pricing/rates.ts";
import { METADATA_KEY_CHARS_MAX, METADATA_VALUE_CHARS_MAX } from "../core/limits.ts";
import { ownText } from "../core/text.ts";

/** Final statuses of a run (contract 6). */
export const FINISH_STATUSES = ["success", "failed", "timeout", "cancelled"] as const;

/** One of {@link FINISH_STATUSES}. */
export type FinishStatus = typeof FINISH_STATUSES[number];

/** Status of a run as returned by all reads (decision 28). */
export type RunStatus = "running" | FinishStatus;

/** Calls that close a run, and the close of a run without calls. */
export const CLOSED_BY = ["finish", "heartbeat", "idle", "trace"] as const;

/** One of {@link CLOSED_BY}. */
export type ClosedBy = typeof CLOSED_BY[number];

/** Statuses a heartbeat can send (contract 5). */
export const HEARTBEAT_STATUSES = ["ok", "fail", "start", "timeout"] as const;

/** One of {@link HEARTBEAT_STATUSES}. */
export type HeartbeatStatus = typeof HEARTBEAT_STATUSES[number];

/** Maps heartbeat statuses to run statuses (decision 28). */
export const STATUS_OF_HEARTBEAT = {
  ok: "success",
  fail: "failed",
  timeout: "timeout",
  start: "running",
} as const satisfies Record<HeartbeatStatus, RunStatus>;

/** Returns a run's status in heartbeat vocabulary, where a cancelled run is `fail` (R37). */
export function heartbeatStatusOf(status: RunStatus): HeartbeatStatus {
  return HEARTBEAT_STATUSES.find((word) => STATUS_OF_HEARTBEAT[word] === status) ?? "fail";
}

/** Usage and cost reported by a heartbeat. */
export interface Reported {
  /** Stated `cost_usd` in picodollars; overrides token pricing (pricing rule 1). */
  readonly cost?: Picodollars | undefined;
  /** Model that used the tokens. */
  readonly model?: string | undefined;
  /** Provider of the model. */
  readonly provider?: string | undefined;
  /** Input tokens, including cached ones. */
  readonly inputTokens?: number | undefined;
  /** Output tokens. */
  readonly outputTokens?: number | undefined;
  /** Input tokens read from a cache. */
  readonly cachedInputTokens?: number | undefined;
  /** Price of the tokens when the part was stored; absent if nothing priced them. */
  readonly price?: ReportedPrice | undefined;
}

/** Price of a heartbeat's tokens. */
export interface ReportedPrice {
  /** Cost in picodollars. */
  readonly cost: Picodollars;
  /** Rate row that priced them, with its rates at the time. */
  readonly by: RateMatch;
}

/** Fields an opening and a close share; on reading, the close's value wins field by field. */
export interface PartDetails extends StoredLosses {
  /** Customer the cost is attributed to. */
  readonly customerId?: string | undefined;
  /** Feature to filter and attribute by. */
  readonly feature?: string | undefined;
  /** Labels, trimmed to the plan's limit. */
  readonly metadata?: Metadata | undefined;
  /** Usage and cost that a heartbeat reports. */
  readonly reported?: Reported | undefined;
  /** Note of a ping. */
  readonly note?: string | undefined;
  /** Result of the run, as sent. */
  readonly output?: RawJson | undefined;
  /** True if retention removed its payload. */
  readonly payloadRemoved?: true | undefined;
}

/** The opening part: from `POST /v1/runs`, or from a run's first heartbeat. */
export interface Opening extends PartDetails {
  /** Kind of call that opened the run; decides how it is priced (pricing rule 4). */
  readonly kind: "run" | "heartbeat";
  /** Agent's slug. */
  readonly agent: string;
  /** Start by the client's clock, unix milliseconds. */
  readonly startedAt: number;
  /** Arrival by the server's clock, unix milliseconds. */
  readonly receivedAt: number;
  /** Goal of the run. */
  readonly goal?: string | undefined;
  /** Id of the run that started this one. */
  readonly parentRunId?: RunId | undefined;
  /** Trace context it was started in. */
  readonly trace?: TraceParent | undefined;
  /** Seconds without a call after which the run is closed. */
  readonly idleTimeoutSeconds?: number | undefined;
  /** Status set by such a close. */
  readonly idleTimeoutStatus?: FinishStatus | undefined;
  /** True if no call sent it: it is derived from the spans of a trace. */
  readonly isOfTrace?: true | undefined;
}

/**
 * The closing part: from `/finish` or a closing heartbeat; the first close wins. While there is none,
 * an idle close takes its place.
 */
export interface Closing extends PartDetails {
  /** Final status. */
  readonly status: FinishStatus;
  /** End by the client's clock, unix milliseconds. */
  readonly finishedAt: number;
  /** Arrival by the server's clock, unix milliseconds. */
  readonly receivedAt: number;
  /** Self-reported scores, in the order sent. */
  readonly scores?: readonly Score[] | undefined;
  /** Duration measured by the client, milliseconds; overrides the two instants (decision 30). */
  readonly durationMs?: number | undefined;
  /** The cause that closed the run; absent for a finish. */
  readonly closedBy?: Exclude<ClosedBy, "finish"> | undefined;
}

/** A self-reported score. */
export type Score = readonly [name: string, value: number | boolean];

/** The write-once parts of a run stored so far; either may arrive first. */
export interface RunParts {
  /** Opening; null until it arrives. */
  readonly opening: Opening | null;
  /** Close; null until it arrives. */
  readonly closing: Closing | null;
}

/** Returns the status of a run. */
export function statusOf(parts: RunParts): RunStatus {
  return parts.closing?.status ?? "running";
}

/**
 * Returns the arrival times of the calls that stored a run's parts, unix milliseconds: one for each
 * part, or one for both (decision 35 counts calls). An idle close is no call, nor is a part that is
 * derived from a trace.
 */
export function arrivalsOf(parts: RunParts): readonly number[] {
  const { opening, closing } = parts;
  return [
    ...opening !== null && opening.isOfTrace !== true && !isOneCall(parts)
      ? [opening.receivedAt]
      : [],
    ...closing === null || isDerivedClose(closing) ? [] : [closing.receivedAt],
  ];
}

/** Returns whether no call sent a close: a run was idle, or its trace ended. */
export function isDerivedClose({ closedBy }: Pick<Closing, "closedBy">): boolean {
  return closedBy === "idle" || closedBy === "trace";
}

/**
 * Returns whether one heartbeat stored both the opening and the close. Such a heartbeat stores its
 * reported usage with the close; a heartbeat that only opens a run stores it with the opening.
 */
export function isOneCall({ opening, closing }: RunParts): boolean {
  return opening?.kind === "heartbeat" && opening.reported === undefined && closing !== null;
}

/** Returns the labels of a run; the close's values win. */
export function labelsOf({ opening, closing }: RunParts): RunLabels {
  return {
    agent: opening?.agent ?? null,
    customer: closing?.customerId ?? opening?.customerId ?? null,
    feature: closing?.feature ?? opening?.feature ?? null,
    status: closing?.status ?? "running",
  };
}

/**
 * Returns why a run failed, in its own words: the note of its close, or the error in its output; null
 * if it gives none.
 */
export function errorOf({ closing }: RunParts): string | null {
  return closing === null ? null : closing.note ?? errorIn(closing.output ?? null);
}

/** Returns the error that an output states; null for none. */
export function errorIn(output: RawJson | null): string | null {
  if (output === null || !output.startsWith("{")) return null;
  const { error } = JSON.parse(output);
  const text: unknown = error?.message ?? error;
  return typeof text === "string" ? text : null;
}

/**
 * Returns the duration of a closed run in milliseconds: as sent, else the span between the
 * instants; never negative (decision 30).
 */
export function durationOf(opening: Opening | null, closing: Closing | null): number | null {
  if (closing === null) return null;
  if (closing.durationMs !== undefined) return closing.durationMs;
  return opening === null ? null : Math.max(0, closing.finishedAt - opening.startedAt);
}

/**
 * Returns the usage a run reports; the close's fields win, and absent ones fall back to the
 * opening's.
 */
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
    // The price of a close covers the usage that both parts report.
    price: closed === undefined ? opened?.price : closed.price,
  };
}

/** Returns the usage a heartbeat reports; none for a run opened by `POST /v1/runs` (pricing rule 4). */
export function heartbeatUsage(parts: RunParts): Reported {
  return parts.opening?.kind === "heartbeat" ? reportedBy(parts) : {};
}

/**
 * Returns the model call that a heartbeat reports, if its tokens determine its price (pricing rules
 * 1 and 2); else null.
 */
export function reportedCall(reported: Reported): LlmCall & { readonly model: string } | null {
  const { cost, model, provider = null } = reported;
  if (cost !== undefined || model === undefined || !countsTokens(reported)) return null;
  return { model, provider, counted: true, ...reportedTokens(reported) };
}

/** Returns whether any token count is reported. */
export function countsTokens({ inputTokens, outputTokens, cachedInputTokens }: Reported): boolean {
  return (inputTokens ?? outputTokens ?? cachedInputTokens) !== undefined;
}

/** Returns the reported tokens; an absent count is 0. */
export function reportedTokens(
  { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 }: Reported,
): CallTokens {
  return { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens: 0 };
}

/** Prices the tokens of a heartbeat with a rate card; null if the card does not price them. */
export function priceReported(parts: RunParts, card: RateCard): ReportedPrice | null {
  if (parts.opening?.kind !== "heartbeat") return null;
  const call = reportedCall(reportedBy(parts));
  const by = call === null ? null : card.find(call.provider, call.model, parts.opening.startedAt);
  if (call === null || by === null) return null;
  return { cost: BigInt(priceOf(by.row, call)), by };
}

/**
 * Returns a heartbeat's cost in picodollars: stated, or priced from its tokens.
 *
 * A stated cost wins, including 0. A model without a price costs zero (pricing rule 3). A run
 * opened by `POST /v1/runs` is priced by its events alone (pricing rule 4).
 *
 * @param repriced price of its tokens after repricing, if they were repriced
 */
export function reportedCost(parts: RunParts, repriced?: ReportedPrice | null): Picodollars {
  if (parts.opening?.kind !== "heartbeat") return 0n;
  return reportedBy(parts).cost ?? heartbeatPrice(parts, repriced)?.cost ?? 0n;
}

/** Returns the latest price of a heartbeat's tokens; null if the card had none. */
export function heartbeatPrice(
  parts: RunParts,
  repriced: ReportedPrice | null | undefined,
): ReportedPrice | null {
  return repriced === undefined ? reportedBy(parts).price ?? null : repriced;
}

/**
 * Returns whether a heartbeat states its run's cost, which repricing never changes (pricing rule
 * 1).
 */
export function isStated(parts: RunParts): boolean {
  return heartbeatUsage(parts).cost !== undefined;
}

/** Labels that runs are grouped by. A null agent, customer or feature is `(unattributed)`. */
export interface RunLabels {
  /** Agent's slug; null until the opening arrives. */
  readonly agent: string | null;
  /** Customer the cost is attributed to. */
  readonly customer: string | null;
  /** Feature the cost is attributed to. */
  readonly feature: string | null;
  /** Status of the run. */
  readonly status: RunStatus;
}

/**
 * One stored label. Numbers and booleans keep their type; null once retention has removed the
 * value.
 */
export type MetadataEntry = readonly [key: string, value: string | number | boolean | null];

/** Labels in the order sent. */
export type Metadata = readonly MetadataEntry[];

/**
 * Trims labels to the number the plan stores.
 *
 * Labels that can never be stored (long keys; long, nested or null values) are dropped first, so
 * they use no slot. Of the others, the first `keysMax` are kept, in the order sent.
 *
 * @param raw the object as sent: parsing would move keys that look like integers to the front
 * @returns labels to store, and the number dropped
 */
export function keepMetadata(
  raw: RawJson,
  keysMax: number,
): { readonly kept: Metadata; readonly dropped: number } {
  const members = rawMembers(raw);
  const kept: MetadataEntry[] = [];
  for (const [key, text] of members) {
    if (kept.length >= keysMax) break;
    if (charCount(key) > METADATA_KEY_CHARS_MAX) continue;
    const value: unknown = JSON.parse(text);
    if (isStorable(value)) kept.push([ownText(key), value]);
  }
  return { kept, dropped: members.size - kept.length };
}

/**
 * Merges the labels of a run's opening and close: each key keeps its position, and the close's
 * value wins (decision 25).
 */
export function mergeMetadata(opening: Metadata | null, closing: Metadata | null): Metadata | null {
  if (opening === null || closing === null) return closing ?? opening;
  return [...new Map([...opening, ...closing])];
}

/** Serializes labels as a JSON object, in order. */
export function writeMetadata(metadata: Metadata | null): RawJson {
  if (metadata === null) return "null" as RawJson;
  return writeObject(metadata.map(([key, value]) => [key, rawOf(value)]));
}

function isStorable(value: unknown): value is MetadataEntry[1] {
  if (typeof value === "string") return charCount(value) <= METADATA_VALUE_CHARS_MAX;
  if (typeof value === "boolean") return true;
  // 1e999 parses to Infinity, which JSON cannot write back.
  return Number.isFinite(value) && rawOf(value).length <= METADATA_VALUE_CHARS_MAX;
}
