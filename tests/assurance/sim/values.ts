/** Values derived from a run's parts: its duration and cost (decisions 25 and 30, section 5). */
import { type Event, type Fields, pick, RATES, type Run } from "./shape.ts";

/** Fields that a heartbeat reports about itself. */
export const REPORTED = [
  "cost_usd",
  "model",
  "provider",
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
] as const;

/** Merges the reports of a heartbeat's parts: the close's fields win (decision 25). */
export function reportedOf({ opening, closing }: Run): Fields {
  // Full runs are priced by their events alone (pricing rule 4).
  return opening?.kind === "heartbeat" ? pick({ ...opening, ...closing }, ...REPORTED) : {};
}

/**
 * Returns the duration of a closed run: the sent value, else the span, never negative. Null while
 * the run is open.
 */
export function durationOf({ opening, closing }: Run): number | null {
  if (closing === undefined) return null;
  if (closing.duration_ms !== undefined) return Number(closing.duration_ms);
  return opening === undefined ? null : Math.max(0, closing.finished_at - opening.started_at);
}

/** One call of a model: from an event, or the heartbeat itself. */
export interface Call {
  readonly provider: string | null;
  readonly model: string | null;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** True if it has token counts; without them there is nothing to price. */
  readonly isCounted: boolean;
}

/** Returns the call that the fields of an `llm_call` or of a heartbeat describe. */
export function callOf(fields: Fields): Call {
  const tokens = pick(fields, "input_tokens", "output_tokens", "cached_input_tokens");
  return {
    provider: (fields.provider ?? null) as string | null,
    model: (fields.model ?? null) as string | null,
    input: Number(tokens.input_tokens ?? 0),
    cached: Number(tokens.cached_input_tokens ?? 0),
    output: Number(tokens.output_tokens ?? 0),
    isCounted: Object.keys(tokens).length > 0,
  };
}

/** Returns the cost of a call in picodollars; null without a price. */
export function priceOf({ model, input, cached, output, isCounted }: Call): number | null {
  const rates = model === null || !isCounted ? undefined : RATES[model];
  if (rates === undefined) return null;
  // More cached than input tokens means that the provider reports them separately.
  const plain = cached > input ? input : input - cached;
  return plain * rates.input + cached * rates.cached + output * rates.output;
}

/** Returns a heartbeat's reported cost, or the cost of its tokens, in picodollars. */
export function reportedCost(run: Run): number {
  const reported = reportedOf(run);
  if (reported.cost_usd !== undefined) return Math.round(Number(reported.cost_usd) * 1e12);
  return priceOf(callOf(reported)) ?? 0;
}

const TOKENS = ["input_tokens", "output_tokens", "cached_input_tokens"] as const;

/** Returns the call of an `llm_call` event by its readable numbers; null for other events (R3). */
export function eventCall({ type, data }: Event): Call | null {
  if (type !== "llm_call") return null;
  const numbers = TOKENS.map((name) => [name, numberOf(data[name])]);
  return callOf({ ...data, ...Object.fromEntries(numbers) });
}

export function eventCalls({ events }: Run): Call[] {
  return events.map(eventCall).filter((call) => call !== null);
}

/** Returns whether heartbeats say the cost of their run, so that its events add none (R34). */
export function saysCost(run: Run): boolean {
  const reported = reportedOf(run);
  const { model, isCounted } = callOf(reported);
  return reported.cost_usd !== undefined || (model !== null && isCounted);
}

/** Returns a run's cost in picodollars: what heartbeats say replaces the cost of events. */
export function costOf(run: Run): number {
  const ofEvents = saysCost(run) ? [] : eventCalls(run);
  return ofEvents.reduce((sum, call) => sum + (priceOf(call) ?? 0), reportedCost(run));
}

/** Returns the names of numbers that are present but unreadable. */
export function unreadableOf({ type, data }: Event): string[] {
  if (type !== "llm_call") return [];
  return TOKENS.filter((name) => (data[name] ?? null) !== null && numberOf(data[name]) === null);
}

function numberOf(value: unknown): number | null {
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) && Number(number) >= 0 ? Number(number) : null;
}
