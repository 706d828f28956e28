/**
 * Why a run cost what it did: each call, the row that priced it, and tokens times rate.
 *
 * @module
 */
import type { ModelUsage } from "./model_usage.ts";
import type { LlmCall } from "../pricing/llm_call.ts";
import type { EventId } from "../core/ids.ts";
import type { Picodollars } from "../pricing/money.ts";
import { storedCall } from "./event.ts";
import type { PagedEvent, RunPage } from "./event_page.ts";
import { heartbeatPrice, isStated, reportedBy, reportedCall, reportedCost } from "./run.ts";
import { isPriceable } from "../pricing/price_events.ts";
import { type CostLine, costLines } from "../pricing/price.ts";
import type { RateMatch } from "../pricing/rates.ts";
import { type CostFlag, costOfRun, type RunHead, usageOfRun } from "./cost.ts";

/**
 * An oddity of a call's cost: that of a run, or that the call counts nothing because the run's heartbeat
 * states what everything cost (pricing rule 1).
 */
export type CallFlag = CostFlag | "covered_by_stated_cost";

/** What a call cost, and why. */
export interface ExplainedCall {
  /** The event; null for what a heartbeat reports of itself. */
  readonly eventId: EventId | null;
  /** By which instant it was priced, unix milliseconds. */
  readonly ts: number;
  /** Provider as named, if it was. */
  readonly provider: string | null;
  /** Model as named, if it was. */
  readonly model: string | null;
  /** What it adds to the run's cost: the sum of its lines, or what was stated. */
  readonly cost: Picodollars;
  /** Whether the client stated the cost, so that nothing was priced. */
  readonly stated: boolean;
  /** The row that priced it, with its rates at the time; null where none did. */
  readonly pricedBy: RateMatch | null;
  /** Threshold of the row's tier that the call reached; null for the rates below all tiers. */
  readonly tierAboveInputTokens: number | null;
  /** Tokens times rate, kind by kind. */
  readonly lines: readonly CostLine[];
  /** Whether the card had no price for it. */
  readonly unpriced: boolean;
  /** Whether it has any token count. */
  readonly counted: boolean;
  /** What is odd about it. */
  readonly flags: readonly CallFlag[];
}

/** Cost and usage of one model; the model is null for what belongs to none. */
export interface ModelCost extends Omit<ModelUsage, "model"> {
  /** Model as named. */
  readonly model: string | null;
}

/**
 * The cost of a run by model. The lines add up to the run's cost, calls and tokens: the last one is what
 * belongs to no model, when there is any.
 */
export function costByModel(head: RunHead): readonly ModelCost[] {
  const { amount, calls, models } = costOfRun(head);
  const { inputTokens, outputTokens, cachedInputTokens } = usageOfRun(head);
  const whole = { calls, inputTokens, outputTokens, cachedInputTokens, cost: amount };
  const rest = models.reduce((left, line) => ({
    calls: left.calls - line.calls,
    inputTokens: left.inputTokens - line.inputTokens,
    outputTokens: left.outputTokens - line.outputTokens,
    cachedInputTokens: left.cachedInputTokens - line.cachedInputTokens,
    cost: left.cost - line.cost,
  }), whole);
  const nothing = Object.values(rest).every((measure) => measure === 0 || measure === 0n);
  return nothing
    ? models
    : [...models, { provider: null, model: null, priced: isStated(head.parts), ...rest }];
}

/**
 * Explains the calls on a page of a run, in the order of its events.
 *
 * What a heartbeat reports of itself is the first call of the first page, so that the calls of all pages
 * together add up to the run's cost.
 *
 * @param isFirst whether the page is the first
 */
export function explainCalls(page: RunPage, isFirst: boolean): ExplainedCall[] {
  const own = isFirst ? explainReported(page) : null;
  const { opening } = page.parts;
  const covered = opening?.kind === "heartbeat" && reportedBy(page.parts).cost !== undefined;
  const calls = page.events.flatMap((event) => explainEvent(event, covered) ?? []);
  return own === null ? calls : [own, ...calls];
}

function explainEvent(event: PagedEvent, covered: boolean): ExplainedCall | null {
  if (event.type !== "llm_call") return null;
  const call = storedCall(event.type, event.data);
  const counted = call?.counted === true;
  const named = { eventId: event.id, ts: event.ts, ...namesOf(call), counted };
  if (covered) {
    const flags: CallFlag[] = [...flagsOf(call), "covered_by_stated_cost"];
    return { ...named, ...NOT_PRICED, flags };
  }
  if (event.pricedBy === null || call === undefined) {
    return { ...named, ...NOT_PRICED, unpriced: isPriceable(call), flags: flagsOf(call) };
  }
  return { ...named, ...explainPrice(event.pricedBy, call, event.cost) };
}

/** Explains the one call that a heartbeat is, if it is one. */
function explainReported({ parts, repriced }: RunHead): ExplainedCall | null {
  if (parts.opening?.kind !== "heartbeat") return null;
  const reported = reportedBy(parts);
  const { model = null, provider = null, inputTokens, cachedInputTokens } = reported;
  const named = { eventId: null, ts: parts.opening.startedAt, model, provider, counted: true };
  const cost = reportedCost(parts, repriced);
  if (reported.cost !== undefined) {
    const flags: CallFlag[] = (cachedInputTokens ?? 0) > (inputTokens ?? 0)
      ? ["cached_exceeds_input"]
      : [];
    return { ...named, ...NOT_PRICED, cost, stated: true, flags };
  }
  const call = reportedCall(reported);
  if (call === null) return null;
  const price = heartbeatPrice(parts, repriced);
  if (price === null) return { ...named, ...NOT_PRICED, unpriced: true, flags: flagsOf(call) };
  return { ...named, ...explainPrice(price.by, call, cost) };
}

const NOT_PRICED = {
  cost: 0n,
  stated: false,
  pricedBy: null,
  tierAboveInputTokens: null,
  lines: [],
  unpriced: false,
} as const;

function explainPrice(pricedBy: RateMatch, call: LlmCall, cost: Picodollars) {
  const lines = costLines(pricedBy.row, call);
  // Whether cached tokens are part of the input or apart from it, the lines hold each of them once.
  const input = lines.reduce((sum, { kind, tokens }) => sum + (kind === "output" ? 0 : tokens), 0);
  const tier = pricedBy.row.tiers.findLast(({ aboveInputTokens }) => input > aboveInputTokens);
  return {
    cost,
    stated: false,
    pricedBy,
    tierAboveInputTokens: tier?.aboveInputTokens ?? null,
    lines,
    unpriced: false,
    flags: flagsOf(call),
  };
}

function namesOf(call: LlmCall | undefined) {
  return { provider: call?.provider ?? null, model: call?.model ?? null };
}

function flagsOf(call: LlmCall | undefined): CallFlag[] {
  if (call === undefined) return [];
  const { inputTokens, cachedInputTokens, cacheWriteTokens } = call;
  return cachedInputTokens + cacheWriteTokens > inputTokens ? ["cached_exceeds_input"] : [];
}
