/**
 * Makes stored checks ready to judge.
 *
 * @module
 */
import type { Check, CompiledCheck } from "./check.ts";
import { compile } from "./compile.ts";
import type { Patterns } from "./language/pattern.ts";
import type { Program } from "./program.ts";

/**
 * Compiles a stored check. One whose expression this version cannot compile judges each run as an
 * `error` with the reason `does_not_compile`: it never stops the runs of its team.
 */
export function compiledCheck(check: Check, patterns: Patterns): CompiledCheck {
  const compiled = compile(check.settings.expression, patterns, true);
  const program = compiled.ok ? compiled.value : failing(compiled.problem.message);
  return { ...check, id: check.id ?? "", program };
}

function failing(message: string): Program {
  return {
    names: new Set(),
    bytes: 0,
    stepsFor: () => 1,
    judge: () => ({ status: "error", got: "", message, reason: "does_not_compile" }),
  };
}
