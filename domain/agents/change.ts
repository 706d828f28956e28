/**
 * What people change of an agent: the name they see, their notes, and whether it is in use.
 *
 * The slug that clients send stays, so a new name loses no history.
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

/** What people say of an agent. */
export interface AgentTexts {
  /** What they see; absent for the slug. */
  readonly name?: string;
  /** Anything worth knowing; absent for nothing. */
  readonly notes?: string;
}

/** Checks a `PATCH /v1/agents/{slug}`. */
export function parseAgentPatch(body: Body): Parsed<AgentPatch> {
  return check(agentPatchBody, body.value);
}

/** What is said of an agent after a change; the empty text takes a word back. */
export function patchedTexts(known: AgentTexts, { name, notes }: AgentPatch): AgentTexts {
  const now = { name: name ?? known.name ?? "", notes: notes ?? known.notes ?? "" };
  return {
    ...now.name === "" ? {} : { name: now.name },
    ...now.notes === "" ? {} : { notes: now.notes },
  };
}

/** Why a team may not archive one more agent; null when it may. */
export function archiveRefusal(archived: number): Problem | null {
  return archived < ARCHIVED_AGENTS_MAX ? null : {
    code: "agent_cap_reached",
    message: `Cannot archive another agent: ${ARCHIVED_AGENTS_MAX} are archived; ` +
      "use one of them again in place of a new one",
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
  ),
  notes: optional(text(AGENT_NOTES_CHARS_MAX)),
  archived: optional(z.boolean("true or false")),
});

/**
 * A checked `PATCH /v1/agents/{slug}`: what is undefined stays as it is.
 *
 * @internal
 */
export type AgentPatch = Readonly<z.output<typeof agentPatchBody>>;
