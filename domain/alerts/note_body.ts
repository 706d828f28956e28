/**
 * Validates the body of an acknowledgement or a resolution of an incident.
 *
 * @module
 */
import { z } from "zod";
import type { Body } from "../core/body.ts";
import type { Parsed } from "../core/errors.ts";
import { optional, text } from "../core/fields.ts";
import { check } from "../core/validate.ts";
import { NOTE_CHARS_MAX } from "./incident.ts";

/**
 * Body of `POST /v1/incidents/{id}/ack` and `…/resolve`.
 *
 * @internal
 */
export const noteBody = z.object({
  note: optional(text(NOTE_CHARS_MAX)).describe("Words for the timeline and the messages."),
});

/** Parses the note of a change by hand; null for none. */
export function parseNote(body: Body): Parsed<string | null> {
  const parsed = check(noteBody, body.value);
  return parsed.ok ? { ok: true, value: parsed.value.note || null } : parsed;
}
