/** Moves problems of API bodies to the fields of forms. */
import type { Problem } from "../../../domain/core/errors.ts";

/** Names a field of a body: the object that it is in, its own name, and the place in a list. */
const NAMED = /^Field "(?:[a-z]+\.)?([a-z_]+)(?:[.[][^"]*)?" (.*)/s;

/**
 * Returns a problem at the field that its message names, in words that follow the field's label.
 *
 * @param renamed fields of the form by the field of the body, where they differ
 */
export function atFormField(
  problem: Problem | null,
  renamed: Readonly<Record<string, string>> = {},
): Problem | null {
  const [, field, message] = NAMED.exec(problem?.message ?? "") ?? [];
  if (problem === null || field === undefined || message === undefined) return problem;
  return {
    ...problem,
    field: renamed[field] ?? field,
    message: message.charAt(0).toUpperCase() + message.slice(1),
  };
}

/** Splits a text at commas and line ends; returns the parts that are not empty. */
export function listIn(text: string): readonly string[] {
  return text.split(/[,\n]/).map((part) => part.trim()).filter((part) => part !== "");
}

/** Refusal of a text that names no object. */
export const WRONG_SLUG: Problem = {
  code: "invalid_field",
  message: "Must begin with a letter or digit; up to 64 characters a-z, 0-9, dot, dash, underscore",
  field: "slug",
};
