/**
 * Stored form of totals, of a run or of many: JSON with bigints as decimal text.
 *
 * @module
 */
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { EventTotals } from "../../domain/runs/event_totals.ts";
import { packBlob, unpackBlob } from "./blob.ts";

/** Fields that are bigints. */
const BIGINT_FIELDS = new Set([
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "cost",
  "unpricedInputTokens",
  "unpricedOutputTokens",
  "unpricedCachedInputTokens",
]);

/**
 * Encodes a summary or event totals. They always fit in one value: 20 models, each with a name of
 * 256 characters that JSON escapes to six, slightly exceed it; compression reduces that to a sixth.
 */
export function encodeSums(sums: RunSummary | EventTotals): Uint8Array {
  return packBlob(sumsText(sums), noPieces).head;
}

/** Decodes the value of {@link encodeSums}. */
export function decodeSums<Sums extends RunSummary | EventTotals>(bytes: Uint8Array): Sums {
  return parseSums<Sums>(unpackBlob(bytes, []));
}

/** Formats totals as JSON. */
export function sumsText(sums: object): string {
  return JSON.stringify(sums, (_, value) => typeof value === "bigint" ? `${value}` : value);
}

/** Parses the text of {@link sumsText}. */
export function parseSums<Sums>(text: string): Sums {
  const sums = JSON.parse(text);
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
