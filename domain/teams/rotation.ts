/**
 * Credential rotation: the new secret works immediately, and the old one for an overlap (decision 4).
 *
 * @module
 */
import { z } from "zod";
import { type CredentialRecord, isLive } from "./credentials.ts";
import { type Parsed, type Problem, refuse } from "../core/errors.ts";
import { check } from "../core/validate.ts";
import { optional } from "../core/fields.ts";
import type { Body } from "../core/body.ts";
import { OVERLAP_HOURS } from "../core/limits.ts";
import { HOUR_MS } from "../core/time.ts";

/** New credential with its secret, or a refusal; null if there is no credential to replace. */
export type RotateOutcome =
  | Parsed<{ readonly record: CredentialRecord; readonly secret: string }>
  | null;

const HOURS = `a whole number of hours from 0 to ${OVERLAP_HOURS.max}`;

/**
 * Body of `POST /v1/keys/{id}/rotate`.
 *
 * @internal
 */
export const rotateBody = z.object({
  overlap_hours: optional(z.int(HOURS).min(0, HOURS).max(OVERLAP_HOURS.max, HOURS)).describe(
    "Hours for which the old secret keeps working; 24 when absent. At least 1 when a " +
      "credential rotates itself.",
  ),
});

/** Validates a rotation and returns the overlap in milliseconds. */
export function parseRotation(body: Body): Parsed<number> {
  const parsed = check(rotateBody, body.value);
  if (!parsed.ok) return parsed;
  return { ok: true, value: (parsed.value.overlap_hours ?? OVERLAP_HOURS.default) * HOUR_MS };
}

/**
 * Returns the replaced credential, or the refusal.
 *
 * A credential is replaced once, by one other. A retry after a lost response is refused with the id of
 * that other credential, so retries never leave more than two valid secrets.
 *
 * A credential that rotates itself cannot expire immediately: if the response were lost, the caller
 * would have no valid secret to retry with.
 *
 * @param caller identifier of the calling credential
 */
export function rotatedCredentials(
  record: CredentialRecord,
  by: string,
  overlapMs: number,
  nowMs: number,
  caller: string,
): Parsed<CredentialRecord> {
  if (record.replacedBy !== undefined) {
    const message = `This credential was replaced by "${record.replacedBy}": rotate that one, ` +
      "with overlap_hours 0 if its secret never arrived, or revoke it";
    return refuse("credential_ended", message);
  }
  if (!isLive(record, nowMs)) return { ok: false, problem: REVOKED };
  if (overlapMs === 0 && caller === record.id) return { ok: false, problem: SELF_ENDED };
  return { ok: true, value: { ...record, endsAt: nowMs + overlapMs, replacedBy: by } };
}

const SELF_ENDED: Problem = {
  code: "invalid_field",
  field: "overlap_hours",
  message:
    "A key that rotates itself cannot expire immediately, because a lost response would leave " +
    "no valid secret: send 1 hour or more, then revoke this key with the new secret",
};

const REVOKED: Problem = {
  code: "credential_ended",
  message: "This credential was revoked and has no replacement: create a new one",
};
