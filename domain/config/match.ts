/**
 * What configured objects apply to.
 *
 * @module
 */

/** Returns whether an agent is among patterns; `*` at the end of one matches any rest. */
export function matchesAgent(patterns: readonly string[], agent: string | null): boolean {
  if (patterns.length === 0) return true;
  return patterns.some((pattern) => {
    if (!pattern.endsWith("*")) return pattern === agent;
    return pattern === "*" || agent !== null && agent.startsWith(pattern.slice(0, -1));
  });
}
