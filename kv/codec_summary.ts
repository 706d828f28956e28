/**
 * The stored text of a run's summary.
 *
 * @module
 */
import type { RunSummary } from "../domain/summary.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Fields of a summary that are bigints. */
const BIGINT_FIELDS = new Set(["inputTokens", "outputTokens", "cachedInputTokens", "cost"]);

/** Writes a summary. */
export function encodeSummary(summary: RunSummary): Uint8Array {
  const text = JSON.stringify(
    summary,
    (_, value) => typeof value === "bigint" ? `${value}` : value,
  );
  return encoder.encode(text);
}

/** Reads what {@link encodeSummary} wrote. */
export function decodeSummary(bytes: Uint8Array): RunSummary {
  return JSON.parse(
    decoder.decode(bytes),
    (name, value) => BIGINT_FIELDS.has(name) ? BigInt(value) : value,
  );
}
