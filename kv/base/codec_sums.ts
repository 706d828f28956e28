/**
 * Stored form of a run's totals and summary, by position (`codec_shape.ts`).
 *
 * @module
 */
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { EventTotals } from "../../domain/runs/event_totals.ts";
import type { RunSums } from "../../domain/runs/contribution.ts";
import type { ModelUsage } from "../../domain/runs/model_usage.ts";
import { packBlob, unpackBlob } from "./blob.ts";
import { type Form, packRecord, storedShape, unpackRecord } from "./codec_shape.ts";

const MODEL = {
  provider: "plain",
  model: "plain",
  priced: "plain",
  calls: "plain",
  inputTokens: "big",
  outputTokens: "big",
  cachedInputTokens: "big",
  cost: "big",
} satisfies Record<keyof ModelUsage, Form>;

/** Shape of {@link EventTotals}. */
export const TOTALS = storedShape(
  "totals",
  {
    events: "plain",
    llmCalls: "plain",
    toolCalls: "plain",
    logs: "plain",
    errors: "plain",
    inputTokens: "big",
    outputTokens: "big",
    cachedInputTokens: "big",
    cost: "big",
    cachedExceedsInput: "plain",
    fullRateBatchCalls: "plain",
    flags: "plain",
    models: [MODEL],
  } as const satisfies Record<keyof EventTotals, Form>,
);

const RUN_SUMS = {
  labels: { agent: "plain", customer: "plain", feature: "plain", status: "plain" },
  models: [MODEL],
  reported: "optional",
  events: "plain",
  calls: "plain",
  inputTokens: "big",
  outputTokens: "big",
  cachedInputTokens: "big",
  cost: "big",
} as const satisfies Record<keyof RunSums, Form>;

const SUMMARY = storedShape("summary", {
  seen: {
    opening: "plain",
    closing: "plain",
    closedBy: "optional",
    batches: "plain",
    repricings: "plain",
    scores: "optional",
  },
  revision: "plain",
  contribution: { ...RUN_SUMS, day: "plain" },
  times: { startedAt: "plain", receivedAt: "plain" },
  listed: { kind: "plain", at: "plain", has: "plain" },
  shown: {
    toolCalls: "plain",
    logs: "plain",
    errors: "plain",
    openedAt: "plain",
    finishedAt: "plain",
    durationMs: "plain",
    flags: "plain",
    costFlags: "plain",
    sums: RUN_SUMS,
  },
  changes: {
    latest: "plain",
    opened: "plain",
    finished: "plain",
    costFinal: "plain",
    checked: "optional",
  },
  parent: "optional",
  finalAt: "optional",
  blocks: "optional",
  expiry: { retentionClass: "plain", since: "plain" },
  isCounted: "optional",
  checks: { notPassed: "plain" },
  awaitsChecks: "optional",
});

/** First value of stored event totals, and of a stored summary. */
const TOTALS_KIND = 0, SUMMARY_KIND = 1;

/**
 * Encodes a summary or event totals. They always fit in one value: 20 models, each with a name of
 * 256 characters that JSON escapes to six, slightly exceed it; compression reduces that to a sixth.
 */
export function encodeSums(sums: RunSummary | EventTotals): Uint8Array {
  const packed = "seen" in sums
    ? [SUMMARY_KIND, ...packRecord(sums, SUMMARY)]
    : [TOTALS_KIND, ...packRecord(sums, TOTALS)];
  return packBlob(JSON.stringify(packed), noPieces).head;
}

/** Decodes the value of {@link encodeSums}. */
export function decodeSums<Sums extends RunSummary | EventTotals>(bytes: Uint8Array): Sums {
  const [kind, ...packed] = JSON.parse(unpackBlob(bytes, []));
  return unpackRecord(packed, kind === SUMMARY_KIND ? SUMMARY : TOTALS) as unknown as Sums;
}

function noPieces(): never {
  throw new TypeError("The totals are too large for one value");
}
