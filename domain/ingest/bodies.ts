/**
 * Bodies as they are once checked: wire names, instants as unix milliseconds, absent and `null`
 * fields as `undefined`.
 *
 * @module
 */
import type { EventId, RunId, ScoreId } from "../core/ids.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { FinishStatus, HeartbeatStatus, Score } from "../runs/run.ts";
import type { JsonObject } from "../core/body.ts";

/** `POST /v1/runs` (spec, Run; decisions, section 4). */
export interface OpenBody {
  /** The run. */
  readonly id: RunId;
  /** Slug of the agent. */
  readonly agent: string;
  /** Start by the client's clock. */
  readonly started_at: number;
  /** Whom the cost is attributed to. */
  readonly customer_id: string | undefined;
  /** Label to filter by. */
  readonly feature: string | undefined;
  /** Labels, trimmed by the plan. */
  readonly metadata: JsonObject | undefined;
  /** The run that started this one. */
  readonly parent_run_id: RunId | undefined;
  /** What the run should achieve. */
  readonly goal: string | undefined;
  /** Seconds without an event after which the run may be closed. */
  readonly idle_timeout_seconds: number | undefined;
  /** Status such a close sets. */
  readonly idle_timeout_status: FinishStatus | undefined;
}

/** One event of a batch (spec, Event). */
export interface EventBody {
  /** The event. */
  readonly id: EventId;
  /** `llm_call`, `log`, `tool_call` or any other name. */
  readonly type: string;
  /** Instant by the client's clock. */
  readonly ts: number;
  /** The payload. */
  readonly data: JsonObject;
  /** Which exchange of a conversation, from 1. */
  readonly turn: number | undefined;
}

/** What is checked of an `llm_call`'s payload. */
export interface LlmCallData {
  /** Provider of the model. */
  readonly provider: string | undefined;
  /** Model. */
  readonly model: string | undefined;
  /** All input tokens. */
  readonly input_tokens: number | undefined;
  /** Output tokens. */
  readonly output_tokens: number | undefined;
  /** Duration of the call in milliseconds. */
  readonly latency_ms: number | undefined;
  /** Input tokens read from a cache. */
  readonly cached_input_tokens: number | undefined;
  /** Input tokens written to a cache. */
  readonly cache_creation_input_tokens: number | undefined;
  /** Output tokens spent on reasoning. */
  readonly reasoning_tokens: number | undefined;
}

/** `POST /v1/runs/{id}/finish` (spec, Finish record). */
export interface FinishBody {
  /** How the run ended. */
  readonly status: FinishStatus;
  /** End by the client's clock. */
  readonly finished_at: number;
  /** Result of the run: any JSON value. */
  readonly output?: unknown;
  /** Self-reported scores. */
  readonly scores: readonly Score[] | undefined;
  /** Labels, trimmed by the plan. */
  readonly metadata: JsonObject | undefined;
}

/** `POST /v1/heartbeats` (spec, Heartbeat). */
export interface HeartbeatFields {
  /** The run; minted when absent. */
  readonly id: RunId | undefined;
  /** Slug of the agent. */
  readonly agent: string;
  /** What the heartbeat says; `ok` when absent. */
  readonly status: HeartbeatStatus | undefined;
  /** Start by the client's clock. */
  readonly started_at: number | undefined;
  /** End by the client's clock. */
  readonly finished_at: number | undefined;
  /** Total cost. */
  readonly cost_usd: Picodollars | undefined;
  /** Model the tokens were spent on. */
  readonly model: string | undefined;
  /** Provider of the model. */
  readonly provider: string | undefined;
  /** All input tokens. */
  readonly input_tokens: number | undefined;
  /** Output tokens. */
  readonly output_tokens: number | undefined;
  /** Input tokens read from a cache. */
  readonly cached_input_tokens: number | undefined;
  /** Measured duration in milliseconds. */
  readonly duration_ms: number | undefined;
  /** Labels, trimmed by the plan. */
  readonly metadata: JsonObject | undefined;
  /** Whom the cost is attributed to. */
  readonly customer_id: string | undefined;
  /** Label to filter by. */
  readonly feature: string | undefined;
  /** Result of the run: any JSON value. */
  readonly output?: unknown;
}

/** `POST /v1/runs/{id}/scores`. */
export interface ScoreBody {
  /** The score. */
  readonly id: ScoreId;
  /** What it measures. */
  readonly name: string;
  /** What it says. */
  readonly value: number | boolean;
  /** What it comes from. */
  readonly source: string | undefined;
}
