/**
 * Templates of checks: expressions to edit.
 *
 * @module
 */
import templates from "./templates.json" with { type: "json" };

/** A template. */
export interface CheckTemplate {
  /** Slug, which is also the suggested name of the check. */
  readonly name: string;
  /** Title. */
  readonly title: string;
  /** Its purpose, in one line. */
  readonly words: string;
  /** Expression with values to replace. */
  readonly expression: string;
}

/** All templates, in the order of the form. */
export const CHECK_TEMPLATES: readonly CheckTemplate[] = templates;
