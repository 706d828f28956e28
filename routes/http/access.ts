/** Access requirements of routes. */
import {
  type Principal,
  refusalOf,
  type Requirement,
  type Scope,
} from "../../domain/teams/credentials.ts";

/** A team key or a ping token that may send runs. */
export const KEY_OR_TOKEN: Requirement = { scope: "ingest", pingTokens: true, operator: false };

/** The operator's key. */
export const OPERATOR_ONLY: Requirement = { scope: null, pingTokens: false, operator: true };

/** A team key with a scope. */
export function teamKey(scope: Scope): Requirement {
  return { scope, pingTokens: false, operator: false };
}

/** A team key with a scope, or the operator's. */
export function teamKeyOrOperator(scope: Scope): Requirement {
  return { scope, pingTokens: false, operator: true };
}

/** Returns whether a principal may change its team's settings, for pages that offer it. */
export function mayAdmin(principal: Principal): boolean {
  return refusalOf(principal, teamKey("admin")) === null;
}
