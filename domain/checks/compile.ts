/**
 * Compiles expressions.
 *
 * @module
 */
import { type Parsed, refuse } from "../core/errors.ts";
import type { Program } from "./program.ts";

/**
 * Compiles an expression.
 *
 * @returns `invalid_field` of `expression`, which says where it is wrong and what to write instead
 */
export function compile(expression: string): Parsed<Program> {
  return refuse("invalid_field", `Not built yet: ${expression}`, "expression");
}
