/**
 * The stored text of a run's summary.
 *
 * @module
 */
import type { RunSummary } from "../../domain/pipeline/summary.ts";
import { packBlob, unpackBlob } from "../blob.ts";

/** Fields of a summary that are bigints. */
const BIGINT_FIELDS = new Set(["inputTokens", "outputTokens", "cachedInputTokens", "cost"]);

/**
 * Writes a summary. It always fits one value: 20 models whose names are 256 characters that JSON
 * escapes in six are a few bytes too many, and a sixth of that once compressed.
 */
export function encodeSummary(summary: RunSummary): Uint8Array {
  const text = JSON.stringify(
    summary,
    (_, value) => typeof value === "bigint" ? `${value}` : value,
  );
  return packBlob(text, noPieces).head;
}

/** Reads what {@link encodeSummary} wrote. */
export function decodeSummary(bytes: Uint8Array): RunSummary {
  return JSON.parse(
    unpackBlob(bytes, []),
    (name, value) => BIGINT_FIELDS.has(name) ? BigInt(value) : value,
  );
}

function noPieces(): never {
  throw new TypeError("A summary is too large for one value");
}
