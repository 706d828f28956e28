/** What follows from a run's parts: how long it took and what it cost (decisions 25 and 30, section 5). */
import { type Event, type Fields, pick, RATES, type Run } from "./shape.ts";

/** What a heartbeat reports of itself. */
export const REPORTED = [
  "cost_usd",
  "model",
  "provider",
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
] as const;

/** What a heartbeat's parts report together: the close's fields win (decision 25). */
export function reportedOf({ opening, closing }: Run): Fields {
  // Full runs are priced by their events alone (pricing rule 4).
  return opening?.kind === "heartbeat" ? pick({ ...opening, ...closing }, ...REPORTED) : {};
}

/** Milliseconds a closed run took: as sent, else the span, never negative; null while open. */
export function durationOf({ opening, closing }: Run): number | null {
  if (closing === undefined) return null;
  if (closing.duration_ms !== undefined) return Number(closing.duration_ms);
  return opening === undefined ? null : Math.max(0, closing.finished_at - opening.started_at);
}

/** One call of a model: of an event, or the one a heartbeat is. */
export interface Call {
  readonly provider: string | null;
  readonly model: string | null;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** Whether any tokens were told; without them there is nothing to price. */
  readonly isCounted: boolean;
}

/** The call that fields of an `llm_call` or of a heartbeat tell of. */
export function callOf(told: Fields): Call {
  const tokens = pick(told, "input_tokens", "output_tokens", "cached_input_tokens");
  return {
    provider: (told.provider ?? null) as string | null,
    model: (told.model ?? null) as string | null,
    input: Number(tokens.input_tokens ?? 0),
    cached: Number(tokens.cached_input_tokens ?? 0),
    output: Number(tokens.output_tokens ?? 0),
    isCounted: Object.keys(tokens).length > 0,
  };
}

/** What a call costs in picodollars; null without a price. */
export function priceOf({ model, input, cached, output, isCounted }: Call): number | null {
  const rates = model === null || !isCounted ? undefined : RATES[model];
  if (rates === undefined) return null;
  // More cached than input tokens were reported apart from it.
  const plain = cached > input ? input : input - cached;
  return plain * rates.input + cached * rates.cached + output * rates.output;
}

/** What a heartbeat says it cost, or what its tokens cost, in picodollars. */
export function reportedCost(run: Run): number {
  const reported = reportedOf(run);
  if (reported.cost_usd !== undefined) return Math.round(Number(reported.cost_usd) * 1e12);
  return priceOf(callOf(reported)) ?? 0;
}

const TOKENS = ["input_tokens", "output_tokens", "cached_input_tokens"] as const;

/** The call of an `llm_call` event, by the figures that can be read; null of any other (R3). */
export function eventCall({ type, data }: Event): Call | null {
  if (type !== "llm_call") return null;
  const figures = TOKENS.map((name) => [name, figureOf(data[name])]);
  return callOf({ ...data, ...Object.fromEntries(figures) });
}

/** The names of figures that are there and cannot be read. */
export function unreadableOf({ type, data }: Event): string[] {
  if (type !== "llm_call") return [];
  return TOKENS.filter((name) => (data[name] ?? null) !== null && figureOf(data[name]) === null);
}

function figureOf(sent: unknown): number | null {
  const number = typeof sent === "string" && /^\d+$/.test(sent) ? Number(sent) : sent;
  return Number.isSafeInteger(number) && Number(number) >= 0 ? Number(number) : null;
}
