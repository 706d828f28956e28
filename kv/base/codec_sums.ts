/**
 * Stored form of a run's totals.
 *
 * @module
 */
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { EventTotals } from "../../domain/runs/event_totals.ts";
import { packBlob, unpackBlob } from "./blob.ts";

/** Fields that are bigints. */
const BIGINT_FIELDS = new Set(["inputTokens", "outputTokens", "cachedInputTokens", "cost"]);

/**
 * Encodes a summary or event totals. They always fit in one value: 20 models, each with a name of
 * 256 characters that JSON escapes to six, slightly exceed it; compression reduces that to a sixth.
 */
export function encodeSums(sums: RunSummary | EventTotals): Uint8Array {
  const text = JSON.stringify(sums, (_, value) => typeof value === "bigint" ? `${value}` : value);
  return packBlob(text, noPieces).head;
}

/** Decodes the value of {@link encodeSums}. */
export function decodeSums<Sums extends RunSummary | EventTotals>(bytes: Uint8Array): Sums {
  const sums = JSON.parse(unpackBlob(bytes, []));
  reviveBigints(sums);
  return sums;
}

/** Restores bigints in place; a `JSON.parse` reviver takes twice as long. */
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
  throw new TypeError("The totals are too large for one value");
}
