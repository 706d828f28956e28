/**
 * Replacing a credential: the new secret works at once, the old one for a while longer (decision 4).
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

/** A new credential with its secret, why there is none, or null where there is nothing to replace. */
export type RotateOutcome =
  | Parsed<{ readonly record: CredentialRecord; readonly secret: string }>
  | null;

const HOUR_MS = 3_600_000;

const HOURS = `a whole number of hours from 0 to ${OVERLAP_HOURS.max}`;

/**
 * Body of `POST /v1/keys/{id}/rotate`.
 *
 * @internal
 */
export const rotateBody = z.object({
  overlap_hours: optional(z.int(HOURS).min(0, HOURS).max(OVERLAP_HOURS.max, HOURS)),
});

/** Checks a rotation: answers how long the old secret goes on, in milliseconds. */
export function parseRotation(body: Body): Parsed<number> {
  const parsed = check(rotateBody, body.value);
  if (!parsed.ok) return parsed;
  return { ok: true, value: (parsed.value.overlap_hours ?? OVERLAP_HOURS.default) * HOUR_MS };
}

/**
 * The credential as it is once it is replaced, or why it cannot be.
 *
 * One credential is replaced by one other, once. A call that is sent again because its answer was lost
 * is told which that is, so no number of retries leaves more than two secrets that work.
 *
 * A credential that replaces itself cannot end at once: were the answer lost, nobody had a secret to ask
 * again with.
 *
 * @param caller identifier of the credential that asks
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
  message: "A key that rotates itself cannot end at once, because a lost answer would leave no " +
    "secret that works: send 1 hour or more, then revoke this key with the new secret",
};

const REVOKED: Problem = {
  code: "credential_ended",
  message: "This credential was revoked and nothing replaces it: create a new one",
};
