/** Builds the events of a demo run in sequence. */
import type { ClientJson } from "../client.ts";
import type { Random } from "../random.ts";

/** A model by the names that clients use. */
export interface Model {
  readonly provider: string;
  readonly model: string;
}

/** An event without an id. */
export interface DemoEvent {
  readonly type: string;
  /** Unix milliseconds. */
  readonly ts: number;
  readonly turn?: number;
  readonly data: ClientJson;
}

/** Collects events, each after the previous one. */
export class DemoTimeline {
  readonly events: DemoEvent[] = [];
  /** End of the latest event, unix milliseconds. */
  nowMs: number;

  constructor(startMs: number, readonly random: Random) {
    this.nowMs = startMs;
  }

  /** Advances the time. */
  wait(msMin: number, msMax: number): void {
    this.nowMs += this.random.int(msMin, msMax);
  }

  log(message: string, level = "info"): void {
    this.#add("log", 20, { level, message });
  }

  /** Adds a model call; its duration depends on its output. */
  llm(model: Model, inputTokens: number, outputTokens: number, more: ClientJson = {}): void {
    const latency = 300 + outputTokens * this.random.int(8, 22);
    this.#add("llm_call", latency, {
      ...model,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      latency_ms: latency,
      ...more,
    });
  }

  tool(name: string, args: ClientJson, result: ClientJson): void {
    const latency = this.random.int(40, 1_800);
    this.#add("tool_call", latency, { name, arguments: args, latency_ms: latency, ...result });
  }

  /** Adds an event of a custom type. */
  custom(type: string, data: ClientJson, turn?: number): void {
    this.#add(type, 5, data, turn);
  }

  #add(type: string, tookMs: number, data: ClientJson, turn?: number): void {
    this.events.push({ type, ts: this.nowMs, ...(turn === undefined ? {} : { turn }), data });
    this.nowMs += tookMs;
  }
}
