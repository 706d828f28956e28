/**
 * The error vocabulary: every code the service can answer, declared once.
 *
 * @module
 */

/** Each code's HTTP status and whether sending the same request again can help. */
export const ERRORS = {
  invalid_id: { status: 400, retry: false },
  missing_field: { status: 400, retry: false },
  invalid_field: { status: 400, retry: false },
  invalid_json: { status: 400, retry: false },
  unknown_region: { status: 400, retry: false },
  batch_too_large: { status: 400, retry: false },
  invalid_credential: { status: 401, retry: false },
  region_mismatch: { status: 401, retry: false },
  scope_violation: { status: 401, retry: false },
  forbidden: { status: 403, retry: false },
  agent_cap_reached: { status: 403, retry: false },
  score_cap_reached: { status: 403, retry: false },
  not_found: { status: 404, retry: false },
  method_not_allowed: { status: 405, retry: false },
  body_timeout: { status: 408, retry: true },
  id_conflict: { status: 409, retry: false },
  credential_ended: { status: 409, retry: false },
  payload_too_large: { status: 413, retry: false },
  unsupported_encoding: { status: 415, retry: false },
  rate_limit: { status: 429, retry: true },
  internal_error: { status: 500, retry: true },
  overloaded: { status: 503, retry: true },
  storage_unavailable: { status: 503, retry: true },
  shutting_down: { status: 503, retry: true },
} as const;

/** A machine-readable code of the error envelope (contract 9, decision 7). */
export type ErrorCode = keyof typeof ERRORS;

/** A refusal: what the error envelope says. `field` is the bare name of a request field. */
export interface Problem {
  /** The stable code. */
  readonly code: ErrorCode;
  /** A sentence for people that says what to do next. */
  readonly message: string;
  /** The request field at fault, when there is one (decision 6). */
  readonly field?: string;
}

/** What a parser answers: the value, or the first thing wrong with it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: Problem };

/** Wraps a refusal as a parser's answer. */
export function refuse<T>(code: ErrorCode, message: string, field?: string): Parsed<T> {
  return { ok: false, problem: { code, message, ...(field === undefined ? {} : { field }) } };
}

/** Returns the refusal of a name that stands for nothing, or for something of another team. */
export function notFound(message: string): Problem {
  return { code: "not_found", message };
}

/**
 * The store did not confirm: it failed, was locked, or took longer than its deadline.
 *
 * Whether the write happened is unknown; ids make the retry safe. Answered as 503.
 */
export class StorageUnavailable extends Error {
  /** Tells this error from others in logs. */
  override readonly name = "StorageUnavailable";
}

/** More waits than the service takes on; nothing is stored. Answered as 503. */
export class Overloaded extends Error {
  /** Tells this error from others in logs. */
  override readonly name = "Overloaded";
}

/**
 * Returns whether an error says nothing about the work that met it: the store failed, or had too much to do.
 */
export function isOfStore(error: unknown): error is StorageUnavailable | Overloaded {
  return error instanceof StorageUnavailable || error instanceof Overloaded;
}
