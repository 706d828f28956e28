/**
 * Spans of OpenTelemetry as a request carries them, and as they are read.
 *
 * @module
 */
import { isContent, type KeyUse, useOfKey } from "./keys.ts";

/** Value of an attribute; arrays and maps are nested. */
export type AttributeValue =
  | string
  | number
  | boolean
  | readonly AttributeValue[]
  | { readonly [key: string]: AttributeValue };

/** Attributes by key; those that no rule reads are absent. */
export type Attributes = ReadonlyMap<string, AttributeValue>;

/** Span as sent, before its ids and instants are checked. */
export interface SentSpan {
  /** Hex digits of the trace's id, in lower case. */
  readonly traceId: string;
  /** Hex digits of the span's id. */
  readonly spanId: string;
  /** Hex digits of the parent's id; empty for none. */
  readonly parentId: string;
  /** Name. */
  readonly name: string;
  /** Kind as numbered by the protocol; 3 is a client. */
  readonly kind: number;
  /** Start, unix nanoseconds. */
  readonly startNs: number;
  /** End, unix nanoseconds. */
  readonly endNs: number;
  /** Flags, which say whether the parent is in another process. */
  readonly flags: number;
  /** Attributes. */
  readonly attributes: Attributes;
  /** Status as numbered by the protocol; 2 is an error. */
  readonly statusCode: number;
  /** Message of the status. */
  readonly statusMessage: string;
  /** Attributes of the first `exception` event; null for none. */
  readonly exception: Attributes | null;
}

/** Spans of one instrumentation. */
export interface ScopeSpans {
  /** Name of the instrumentation. */
  readonly scope: string;
  /** The spans. */
  readonly spans: readonly SentSpan[];
}

/** Spans of one resource, which is a process. */
export interface ResourceSpans {
  /** Attributes of the resource. */
  readonly resource: Attributes;
  /** Its spans by instrumentation. */
  readonly scopes: readonly ScopeSpans[];
}

/** Names of the fields of a span that are the same once it is checked; its name is cut to its limit. */
export type SameFields = "traceId" | "spanId" | "name" | "attributes" | "exception";

/** Span whose ids and instants are valid. */
export interface Span extends Pick<SentSpan, SameFields> {
  /** Hex digits of the parent's id; null for none. */
  readonly parentId: string | null;
  /** True if the parent is known to be in another process. */
  readonly isParentRemote: boolean;
  /** True if the span is a call of another service. */
  readonly isClient: boolean;
  /** Start, unix milliseconds with a fraction. */
  readonly startMs: number;
  /** End, never before the start. */
  readonly endMs: number;
  /** True if the status is an error. */
  readonly isError: boolean;
  /** Message of the status. */
  readonly message: string;
  /** Name of the instrumentation. */
  readonly scope: string;
  /** Attributes of the resource. */
  readonly resource: Attributes;
}

/** Maximum characters of a name. */
export const SPAN_NAME_CHARS_MAX = 256;

/** Maximum attributes that are read of a span, a resource or an exception. */
export const SPAN_ATTRIBUTES_MAX = 128;

/** Maximum characters of an attribute; content beyond them is cut. */
export const ATTRIBUTE_CHARS_MAX = 16_000;

/** Maximum levels of nested attribute values. */
export const ATTRIBUTE_DEPTH_MAX = 8;

/** Reason why a span is rejected. */
export type SpanProblem = "bad_ids" | "bad_instants";

/** Spans of a request that are valid, with the number of the others by reason. */
export interface CheckedSpans {
  /** The valid ones, in the order sent. */
  readonly spans: readonly Span[];
  /** Number of rejected ones by reason. */
  readonly rejected: ReadonlyMap<SpanProblem, number>;
}

/** Checks ids and instants. A span is judged alone: a bad one rejects no other. */
export function checkSpans(sent: readonly ResourceSpans[]): CheckedSpans {
  const spans: Span[] = [];
  const rejected = new Map<SpanProblem, number>();
  for (const { resource, scopes } of sent) {
    for (const { scope, spans: ofScope } of scopes) {
      for (const span of ofScope) {
        const problem = problemOf(span);
        if (problem === null) spans.push(spanOf(span, scope, resource));
        else rejected.set(problem, (rejected.get(problem) ?? 0) + 1);
      }
    }
  }
  return { spans, rejected };
}

/** Instants from 1970 to 9999. */
const INSTANT_NS_MAX = 253_402_300_800e9;

function problemOf({ traceId, spanId, startNs, endNs }: SentSpan): SpanProblem | null {
  if (!isId(traceId, 32) || !isId(spanId, 16)) return "bad_ids";
  const isInstant = (ns: number) => ns > 0 && ns < INSTANT_NS_MAX;
  return isInstant(startNs) && (endNs === 0 || isInstant(endNs)) ? null : "bad_instants";
}

function isId(hex: string, digits: number): boolean {
  return hex.length === digits && /^[0-9a-f]*[1-9a-f][0-9a-f]*$/.test(hex);
}

/** Bits of the flags: the second says that the first is known. */
const IS_REMOTE = 0x200, HAS_REMOTE = 0x100;

function spanOf(sent: SentSpan, scope: string, resource: Attributes): Span {
  const { traceId, spanId, parentId, name, kind, startNs, endNs, flags, attributes } = sent;
  // Some tools send the trace's id as the parent of a root.
  const hasParent = isId(parentId, 16) && parentId !== spanId;
  return {
    traceId,
    spanId,
    parentId: hasParent ? parentId : null,
    isParentRemote: hasParent && (flags & HAS_REMOTE) !== 0 && (flags & IS_REMOTE) !== 0,
    name: name.slice(0, SPAN_NAME_CHARS_MAX).toWellFormed(),
    isClient: kind === 3,
    startMs: startNs / 1e6,
    endMs: Math.max(startNs, endNs) / 1e6,
    attributes,
    isError: sent.statusCode === 2,
    message: sent.statusMessage,
    exception: sent.exception,
    scope,
    resource,
  };
}

/** Returns the filter of the attributes that a request's spans keep. */
export function attributeFilter(keepsContent: boolean): (key: string) => KeyUse {
  if (keepsContent) return useOfKey;
  return (key) => {
    const use = useOfKey(key);
    return isContent(key, use) ? false : use;
  };
}
