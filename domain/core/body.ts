/**
 * Request bodies as JSON objects, and checked requests with their losses.
 *
 * @module
 */
import { Losses } from "./losses.ts";
import type { Parsed } from "./errors.ts";
import type { RawJson } from "./raw_json.ts";

/** A body that is a JSON object, as its text and as its value. */
export interface Body {
  /** The text as sent. */
  readonly text: string;
  /** The object it parses to. */
  readonly value: Readonly<Record<string, unknown>>;
  /** The events of a batch that was cut, see `cutBody`. */
  readonly events?: readonly CutEvent[];
  /** Fields left out of a body that was cut, and how many values of each. */
  readonly leftOut?: ReadonlyMap<string, number>;
}

/** A checked request, and what of it is not stored. */
export interface CheckedRequest<T> {
  /** The request to decide. */
  readonly request: T;
  /** What the answer reports as not stored; null for nothing. */
  readonly losses: Losses | null;
}

/** Returns a checked request with what is lost of it. */
export function checkedRequest<T>(request: T, losses: Losses): Parsed<CheckedRequest<T>> {
  return { ok: true, value: { request, losses: losses.isEmpty ? null : losses } };
}

/** An event as it is read, and whether its payload was cut. */
export interface CutEvent {
  /** The event, small enough to be parsed. */
  readonly text: RawJson;
  /** Whether its `data` is the truncated form. */
  readonly isTruncated: boolean;
}

/** A JSON object whose inside is the user's own. */
export type JsonObject = Record<string, unknown>;

/** An object as sent. */
export type JsonFields = Readonly<Record<string, unknown>>;
