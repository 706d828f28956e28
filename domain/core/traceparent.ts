/**
 * Parses the `traceparent` header of W3C Trace Context.
 *
 * @module
 */

import { ownText } from "./text.ts";

/** Position in a distributed trace where a run was started. */
export interface TraceParent {
  /** Trace ID, 32 hex digits. */
  readonly traceId: string;
  /** ID of the caller's span, 16 hex digits. */
  readonly spanId: string;
}

/** Version, trace, span, flags, and any suffix of later versions. */
const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Version 00 allows no suffix; version ff is invalid. */
const FIRST = "00", FORBIDDEN = "ff";

/** Parses the header; an invalid value counts as absent, as the standard requires. */
export function parseTraceparent(header: string | null | undefined): TraceParent | undefined {
  if (typeof header !== "string") return undefined;
  const [, version, traceId = "", spanId = "", more] = PATTERN.exec(header) ?? [];
  const isKnown = version !== undefined && version !== FORBIDDEN &&
    (version !== FIRST || more === undefined);
  if (!isKnown || isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId: ownText(traceId), spanId: ownText(spanId) };
}

function isZero(digits: string): boolean {
  return /^0+$/.test(digits);
}
