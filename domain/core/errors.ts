/**
 * The error vocabulary: every code the service can return, declared once.
 *
 * @module
 */

/** HTTP status of each code, and whether retrying the same request can succeed. */
export const ERRORS = {
  invalid_id: { status: 400, retry: false },
  missing_field: { status: 400, retry: false },
  invalid_field: { status: 400, retry: false },
  invalid_json: { status: 400, retry: false },
  unknown_region: { status: 400, retry: false },
  batch_too_large: { status: 400, retry: false },
  egress_denied: { status: 400, retry: false },
  invalid_credential: { status: 401, retry: false },
  region_mismatch: { status: 401, retry: false },
  scope_violation: { status: 401, retry: false },
  forbidden: { status: 403, retry: false },
  agent_cap_reached: { status: 403, retry: false },
  score_cap_reached: { status: 403, retry: false },
  object_cap_reached: { status: 403, retry: false },
  not_found: { status: 404, retry: false },
  method_not_allowed: { status: 405, retry: false },
  body_timeout: { status: 408, retry: true },
  id_conflict: { status: 409, retry: false },
  credential_ended: { status: 409, retry: false },
  version_conflict: { status: 409, retry: false },
  payload_too_large: { status: 413, retry: false },
  unsupported_encoding: { status: 415, retry: false },
  unsupported_media_type: { status: 415, retry: false },
  guard_blocked: { status: 423, retry: true },
  rate_limit: { status: 429, retry: true },
  internal_error: { status: 500, retry: true },
  overloaded: { status: 503, retry: true },
  storage_unavailable: { status: 503, retry: true },
  shutting_down: { status: 503, retry: true },
} as const;

/** Machine-readable code of the error envelope (contract 9, decision 7). */
export type ErrorCode = keyof typeof ERRORS;

/** Refusal: content of the error envelope. `field` is the bare name of a request field. */
export interface Problem {
  /** Stable code. */
  readonly code: ErrorCode;
  /** Sentence for people that says what to do next. */
  readonly message: string;
  /** Request field at fault, if any (decision 6). */
  readonly field?: string;
}

/** Ends a call that is refused: the call is answered with the problem. */
export class Refused extends Error {
  /** The refusal. */
  readonly problem: Problem;

  /** Creates an error with the message of the problem. */
  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** Refuses a call: throws {@link Refused}. */
export function refuse(code: ErrorCode, message: string, field?: string): never {
  throw new Refused({ code, message, ...(field === undefined ? {} : { field }) });
}

/** Returns the result of `work`; if it refuses, that of `otherwise`. */
export function unlessRefused<T, Other>(
  work: () => T,
  otherwise: (problem: Problem) => Other,
): T | Other {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refused) return otherwise(error.problem);
    throw error;
  }
}

/** Returns null for a refusal; throws any other error again. */
export function nullIfRefused(error: unknown): null {
  if (error instanceof Refused) return null;
  throw error;
}

/** Returns a value that exists; throws {@link Refused} if there is none. */
export function existing<T>(value: T | null, none: Problem): T {
  if (value !== null) return value;
  throw new Refused(none);
}

/** Returns the refusal of an unknown name, or of a name that belongs to another team. */
export function notFound(message: string): Problem {
  return { code: "not_found", message };
}

/**
 * Error for a store that did not confirm: it failed, was locked, or exceeded its deadline.
 *
 * The write may or may not have happened; ids make a retry safe. Returned as 503.
 */
export class StorageUnavailable extends Error {
  /** Name of the error in logs. */
  override readonly name = "StorageUnavailable";
  /** Resolves when the write has ended; absent if it had ended before. */
  readonly ended: Promise<void> | undefined;

  /**
   * Creates an error.
   *
   * @param options the cause, and the end of a write that may still be stored
   */
  constructor(message: string, options: ErrorOptions & { readonly ended?: Promise<void> } = {}) {
    super(message, options);
    this.ended = options.ended;
  }
}

/** Error for a full queue; nothing is stored. Returned as 503. */
export class Overloaded extends Error {
  /** Name of the error in logs. */
  override readonly name = "Overloaded";
}

/**
 * Returns whether an error is a failure or overload of the store, unrelated to the work that hit it.
 */
export function isOfStore(error: unknown): error is StorageUnavailable | Overloaded {
  return error instanceof StorageUnavailable || error instanceof Overloaded;
}
