/**
 * Request bodies as JSON objects, and validated requests with their losses.
 *
 * @module
 */
import { Losses } from "./losses.ts";

/** Request body that is a JSON object, as text and as value. */
export interface Body {
  /** The text as sent. */
  readonly text: string;
  /** The parsed object. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Texts of the events of a large batch, which are not parsed yet. */
  readonly events?: readonly string[] | undefined;
  /** True if values may nest too deeply. */
  readonly mayBeDeep?: boolean;
}

/** Validated request with its losses. */
export interface CheckedRequest<T> {
  /** The validated request. */
  readonly request: T;
  /** Losses to report in the response; null for none. */
  readonly losses: Losses | null;
}

/** Wraps a validated request with its losses. */
export function checkedRequest<T>(request: T, losses: Losses): CheckedRequest<T> {
  return { request, losses: losses.isEmpty ? null : losses };
}

/** JSON object with arbitrary content from the user. */
export type JsonObject = Record<string, unknown>;

/** Read-only fields of an object as sent. */
export type JsonFields = Readonly<Record<string, unknown>>;
