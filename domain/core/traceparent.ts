/**
 * The header `traceparent` of W3C Trace Context: which trace a caller is part of.
 *
 * @module
 */

import { ownText } from "./text.ts";

/** Where in a distributed trace a run was started. */
export interface TraceParent {
  /** The trace, 32 hex digits. */
  readonly traceId: string;
  /** The caller's span in it, 16 hex digits. */
  readonly spanId: string;
}

/** Version, trace, span, flags, and what later versions may add. */
const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** The only version without anything behind its flags, and the one that is none. */
const FIRST = "00", FORBIDDEN = "ff";

/** Reads the header; one that is invalid counts as not sent, as the standard asks. */
export function parseTraceparent(sent: string | null | undefined): TraceParent | undefined {
  if (typeof sent !== "string") return undefined;
  const [, version, traceId = "", spanId = "", more] = PATTERN.exec(sent) ?? [];
  const isKnown = version !== undefined && version !== FORBIDDEN &&
    (version !== FIRST || more === undefined);
  if (!isKnown || isZero(traceId) || isZero(spanId)) return undefined;
  return { traceId: ownText(traceId), spanId: ownText(spanId) };
}

function isZero(digits: string): boolean {
  return /^0+$/.test(digits);
}
