/**
 * The stored text of what was summed up of a run.
 *
 * @module
 */
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { EventTotals } from "../../domain/runs/event_totals.ts";
import { packBlob, unpackBlob } from "./blob.ts";

/** Fields that are bigints. */
const BIGINT_FIELDS = new Set(["inputTokens", "outputTokens", "cachedInputTokens", "cost"]);

/**
 * Writes a summary, or sums over events. They always fit one value: 20 models whose names are 256
 * characters that JSON escapes in six are a few bytes too many, and a sixth of that once compressed.
 */
export function encodeSums(sums: RunSummary | EventTotals): Uint8Array {
  const text = JSON.stringify(sums, (_, value) => typeof value === "bigint" ? `${value}` : value);
  return packBlob(text, noPieces).head;
}

/** Reads what {@link encodeSums} wrote. */
export function decodeSums<Sums extends RunSummary | EventTotals>(bytes: Uint8Array): Sums {
  const sums = JSON.parse(unpackBlob(bytes, []));
  reviveBigints(sums);
  return sums;
}

/** Done here and not by `JSON.parse` itself, which takes twice as long once it is told to. */
function reviveBigints(value: Record<string, unknown>): void {
  for (const name in value) {
    const part = value[name];
    if (typeof part === "object") {
      if (part !== null) reviveBigints(part as Record<string, unknown>);
    } else if (typeof part === "string" && BIGINT_FIELDS.has(name)) {
      value[name] = BigInt(part);
    }
  }
}

function noPieces(): never {
  throw new TypeError("Sums are too large for one value");
}
