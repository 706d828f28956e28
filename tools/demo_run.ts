/**
 * A run of the demo, and what becomes of it.
 *
 * @module
 */
import type { ClientJson } from "./client.ts";

/** One request. */
export interface DemoCall {
  readonly path: string;
  readonly body: ClientJson;
}

/** What is special about a run, for those who look at it afterwards. */
export type DemoScenario =
  | "failed"
  | "running"
  | "timeout"
  | "cancelled"
  | "out of order"
  | "delivered twice"
  | "unknown model"
  | "with children"
  | "started, then closed"
  | "never came back";

/** One run and the requests that send it, in the order they leave. */
export interface DemoRun {
  readonly id: string;
  readonly agent: string;
  readonly story: DemoScenario | null;
  /** Unix milliseconds. */
  readonly startMs: number;
  /** Unix milliseconds; null when the run never ends. */
  readonly endMs: number | null;
  readonly calls: readonly DemoCall[];
}
