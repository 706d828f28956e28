/** Runs that clients send call by call, and their totals once every call is stored. */
import type { RunId } from "../../../domain/core/ids.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "./requests.ts";
import { noTotals, type Totals } from "../oracles/totals.ts";

/** Parts that a call stores: an opening, a close, both, or events up to a number. */
type Stores = "opening" | "closing" | "both" | number;

/** A call, and its state as the client knows it. */
export interface Call {
  readonly stores: Stores;
  readonly path: string;
  /** Null for a GET. */
  readonly body: unknown;
  state: "unsent" | "sent" | "acknowledged";
}

/** A run and its calls, sent one after the other. */
export interface Script {
  readonly id: RunId;
  readonly calls: readonly Call[];
  /** Model calls that its events, or the heartbeat itself, report. */
  readonly uses: readonly Use[];
}

interface Use {
  readonly model: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** The second batch repeats two events of the first. */
export const EVENTS = { first: 10, both: 18, repeated: 2 } as const;

/** Days of all runs of {@link scriptOf}. */
export const DAYS = [at().slice(0, 10), at().slice(0, 10)] as const;

/** A price, in dollars per million tokens. */
export const PRICES = { input: 2.5, output: 10 } as const;

/** A model on the default card, at {@link PRICES}. */
const PRICED = "gpt-4o";

/** Creates run number `n`; its events name a model on the default card and another one. */
export function scriptOf(n: number, otherModel: string): Script {
  const id = runId(n) as RunId;
  const use = { model: PRICED, input_tokens: n % 1_000, output_tokens: 7 };
  const beat = aHeartbeat(n, { started_at: at(), ...use });
  const call = (stores: Stores, path: string, body: unknown): Call => ({
    stores,
    path,
    body,
    state: "unsent",
  });
  switch (n % 6) {
    case 0:
      return { id, calls: [call("both", "/v1/heartbeats", beat)], uses: [use] };
    case 1:
      return { id, calls: [call("both", `/v1/ping?${queryOf(beat)}`, null)], uses: [use] };
    case 2: {
      const start = call("opening", "/v1/heartbeats", { ...beat, status: "start" });
      return { id, calls: [start, call("closing", "/v1/heartbeats", beat)], uses: [use] };
    }
    default: {
      const events = Array.from({ length: EVENTS.both }, (_, i) => eventOf(i, otherModel));
      const [first, second] = [
        events.slice(0, EVENTS.first),
        events.slice(EVENTS.first - EVENTS.repeated),
      ];
      const path = `/v1/runs/${id}`;
      const calls = [
        call("opening", "/v1/runs", aRun(n)),
        call(EVENTS.first, `${path}/events`, { events: first }),
        call(EVENTS.both, `${path}/events`, { events: second }),
        call("closing", `${path}/finish`, aFinish()),
      ];
      return { id, calls, uses: events.flatMap(({ type, data }) => type === "log" ? [] : [data]) };
    }
  }
}

/** Every other event is a model call, of either model. */
function eventOf(n: number, otherModel: string): { type: string; data: Use } {
  const model = n % 4 > 0 ? PRICED : otherModel;
  const data = { model, input_tokens: 100 + n, output_tokens: n };
  return anEvent(n, n % 2 > 0 ? {} : { type: "llm_call", data }) as never;
}

function queryOf(beat: Record<string, unknown>): URLSearchParams {
  return new URLSearchParams(Object.entries(beat).map(([name, value]) => [name, String(value)]));
}

/** Returns the totals of a completely stored run while the other model has no price. */
export function totalsOf({ calls, uses }: Script): Totals {
  const totals = { ...noTotals(), runs: 1, llmCalls: uses.length };
  for (const { stores } of calls) {
    if (typeof stores === "number") totals.events = stores;
    else totals.counted++;
  }
  totals.counted += totals.events;
  for (const use of uses) {
    totals.inputTokens += use.input_tokens;
    if (use.model === PRICED) totals.cost += costOf(use);
    else totals.unpriced++;
  }
  return totals;
}

/** Returns the cost that the other model's calls add once it is priced at {@link PRICES}. */
export function costOfOthers({ uses }: Script): number {
  return uses.reduce((sum, use) => use.model === PRICED ? sum : sum + costOf(use), 0);
}

/** Dollars per million tokens equal millions of picodollars per token. */
function costOf({ input_tokens, output_tokens }: Use): number {
  return 1e6 * (PRICES.input * input_tokens + PRICES.output * output_tokens);
}
