/**
 * Explains a run's cost: each call, the rate row that priced it, and tokens times rate.
 *
 * @module
 */
import { addTotals, type ModelUsage } from "./model_usage.ts";
import type { LlmCall } from "../pricing/llm_call.ts";
import type { EventId } from "../core/ids.ts";
import type { Picodollars } from "../pricing/money.ts";
import { storedCall } from "./event.ts";
import type { EventsPage, PagedEvent } from "./event_page.ts";
import {
  heartbeatPrice,
  isStated,
  reportedBy,
  reportedCall,
  reportedCost,
  reportedTokens,
  type RunParts,
} from "./run.ts";
import { type CostLine, costLines, isApart, isPriceable } from "../pricing/price.ts";
import type { CallTokens, RateMatch } from "../pricing/rates.ts";
import { type CostFlag, costOfRun, coversCalls, type RunHead, usageOfRun } from "./cost.ts";

/**
 * An anomaly of a call's cost: one of a run's, or that the call costs nothing because the run's
 * heartbeat says what all of it costs, by a cost or by its tokens (R34).
 */
export type CallFlag = CostFlag | "covered_by_stated_cost" | "covered_by_tokens";

/** Cost of a call and how it was computed. */
export interface ExplainedCall extends Pick<LlmCall, "provider" | "model" | "counted"> {
  /** Id of the event; null for the usage a heartbeat reports itself. */
  readonly eventId: EventId | null;
  /** Instant whose rates priced it, unix milliseconds. */
  readonly ts: number;
  /** Cost it adds to the run: the total of its lines, or the stated cost. */
  readonly cost: Picodollars;
  /** True if the client stated the cost and nothing was priced. */
  readonly stated: boolean;
  /** Rate row that priced it, with its rates at the time; null if none did. */
  readonly pricedBy: RateMatch | null;
  /** Threshold of the rate tier the call reached; null for the base rates. */
  readonly tierAboveInputTokens: number | null;
  /** Tokens times rate, by kind of token. */
  readonly lines: readonly CostLine[];
  /** True if the rate card had no price for it. */
  readonly unpriced: boolean;
  /** Anomalies of its cost. */
  readonly flags: readonly CallFlag[];
}

/** Cost and usage of one model; the model is null for usage that belongs to none. */
export interface ModelCost extends Omit<ModelUsage, "model"> {
  /** Model as sent; null for usage that belongs to none. */
  readonly model: string | null;
}

/**
 * Returns the cost of a run by model. The lines add up to the run's cost, calls and tokens. If some
 * usage belongs to no model, it is the last line.
 */
export function costByModel(head: RunHead): readonly ModelCost[] {
  const { amount, calls, models } = costOfRun(head);
  const { inputTokens, outputTokens, cachedInputTokens } = usageOfRun(head);
  const total = { calls, inputTokens, outputTokens, cachedInputTokens, cost: amount };
  const rest = models.reduce((remainder, line) => addTotals(remainder, line, -1), total);
  const isNothing = Object.values(rest).every((measure) => measure === 0 || measure === 0n);
  return isNothing
    ? models
    : [...models, { provider: null, model: null, priced: coversCalls(head.parts), ...rest }];
}

/**
 * Explains the calls on a page of a run, in event order.
 *
 * The usage that a heartbeat reports itself is the first call of the first page. So the calls of
 * all pages add up to the run's cost.
 *
 * @param isFirst true if the page is the first
 */
export function explainCalls(
  page: RunHead & Pick<EventsPage, "events">,
  isFirst: boolean,
): ExplainedCall[] {
  const own = isFirst ? explainReported(page) : null;
  const covered = coverOf(page.parts);
  const calls = page.events.flatMap((event) => explainEvent(event, covered) ?? []);
  return own === null ? calls : [own, ...calls];
}

/** Returns why the calls of events cost nothing; null if they cost something. */
function coverOf(parts: RunParts): CallFlag | null {
  if (!coversCalls(parts)) return null;
  return isStated(parts) ? "covered_by_stated_cost" : "covered_by_tokens";
}

function explainEvent(event: PagedEvent, covered: CallFlag | null): ExplainedCall | null {
  const call = storedCall(event.type, event.data);
  if (call === undefined || event.twin !== undefined) return null;
  const { provider, model, counted } = call;
  const flags = flagsOf(call);
  const own = { eventId: event.id, ts: event.ts, provider, model, counted, ...NOT_PRICED, flags };
  if (covered !== null) return { ...own, flags: [...flags, covered] };
  if (event.pricedBy === null) return { ...own, unpriced: isPriceable(call) };
  return { ...own, ...explainPrice(event.pricedBy, call, event.cost) };
}

/** Explains the usage a heartbeat reports, which counts as one call; null if there is none. */
function explainReported({ parts, repriced }: RunHead): ExplainedCall | null {
  const { opening } = parts;
  if (opening?.kind !== "heartbeat") return null;
  const reported = reportedBy(parts);
  const { model = null, provider = null } = reported;
  const tokens = reportedTokens(reported);
  const names = { eventId: null, ts: opening.startedAt, provider, model, counted: true };
  const own = { ...names, ...NOT_PRICED, flags: flagsOf(tokens) };
  const cost = reportedCost(parts, repriced);
  if (reported.cost !== undefined) return { ...own, cost, stated: true };
  if (reportedCall(reported) === null) return null;
  const price = heartbeatPrice(parts, repriced);
  if (price === null) return { ...own, unpriced: true };
  return { ...own, ...explainPrice(price.by, tokens, cost) };
}

const NOT_PRICED = {
  cost: 0n,
  stated: false,
  pricedBy: null,
  tierAboveInputTokens: null,
  lines: [],
  unpriced: false,
} as const;

function explainPrice(pricedBy: RateMatch, tokens: CallTokens, cost: Picodollars) {
  const lines = costLines(pricedBy.row, tokens);
  // The lines hold each input token once, whether or not the input count includes cached tokens.
  const input = lines.reduce((sum, { kind, tokens }) => sum + (kind === "output" ? 0 : tokens), 0);
  const tier = pricedBy.row.tiers.findLast(({ aboveInputTokens }) => input > aboveInputTokens);
  return { cost, pricedBy, tierAboveInputTokens: tier?.aboveInputTokens ?? null, lines };
}

function flagsOf(tokens: CallTokens): CallFlag[] {
  return isApart(tokens) ? ["cached_exceeds_input"] : [];
}
