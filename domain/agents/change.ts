/**
 * Changes to an agent: its display name, its notes, and whether it is archived.
 *
 * The slug that clients send never changes, so renaming an agent keeps its history.
 *
 * @module
 */
import { check } from "../core/validate.ts";
import type { Body } from "../core/body.ts";
import type { Parsed, Problem } from "../core/errors.ts";
import { AGENT_CHARS_MAX, AGENT_NOTES_CHARS_MAX, ARCHIVED_AGENTS_MAX } from "../core/limits.ts";
import { z } from "zod";
import { optional, text } from "../core/fields.ts";
import { isName } from "../core/rules.ts";

/** Texts of an agent that people edit. */
export interface AgentTexts {
  /** Display name; absent to show the slug. */
  readonly name?: string;
  /** Notes; absent for none. */
  readonly notes?: string;
}

/** Checks a `PATCH /v1/agents/{slug}`. */
export function parseAgentPatch(body: Body): Parsed<AgentPatch> {
  return check(agentPatchBody, body.value);
}

/** Returns the texts of an agent after a change; the empty text removes one. */
export function patchedTexts(stored: AgentTexts, { name, notes }: AgentPatch): AgentTexts {
  const now = { name: name ?? stored.name ?? "", notes: notes ?? stored.notes ?? "" };
  return {
    ...now.name === "" ? {} : { name: now.name },
    ...now.notes === "" ? {} : { notes: now.notes },
  };
}

/** Returns why a team may not archive another agent; null if it may. */
export function archiveRefusal(archived: number): Problem | null {
  return archived < ARCHIVED_AGENTS_MAX ? null : {
    code: "agent_cap_reached",
    message: `Cannot archive another agent: ${ARCHIVED_AGENTS_MAX} are archived; ` +
      "restore one of them instead of creating a new one",
    field: "archived",
  };
}

/**
 * Body of `PATCH /v1/agents/{slug}`.
 *
 * @internal
 */
export const agentPatchBody = z.object({
  name: optional(
    z.custom<string>(
      (value) => value === "" || isName(value, AGENT_CHARS_MAX),
      `empty or a name of 1 to ${AGENT_CHARS_MAX} characters, ` +
        "well-formed, without control characters or surrounding white space",
    ).meta({ type: "string", maxLength: AGENT_CHARS_MAX }),
  ).describe("Display name; empty to use the slug."),
  notes: optional(text(AGENT_NOTES_CHARS_MAX)).describe("Free text; empty to remove it."),
  archived: optional(z.boolean("true or false"))
    .describe("True to archive the agent, false to restore it."),
});

/**
 * A checked `PATCH /v1/agents/{slug}`; undefined fields stay unchanged.
 *
 * @internal
 */
export type AgentPatch = Readonly<z.output<typeof agentPatchBody>>;
