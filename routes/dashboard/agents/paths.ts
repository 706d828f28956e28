/** Where the pages of agents are. */
import { DASHBOARD } from "../frame/paths.ts";

/** The list. */
export const AGENTS = `${DASHBOARD}/agents`;

/** An agent's page. */
export function agentPath(slug: string): string {
  return `${AGENTS}/${encodeURIComponent(slug)}`;
}

/** A run's page. */
export function runPath(id: string): string {
  return `${DASHBOARD}/runs/${encodeURIComponent(id)}`;
}
