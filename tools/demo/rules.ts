/** Gives the demo alert rules, so that it has open incidents, as far as the key may. */
import { type Client, type ClientJson, Refused } from "../client.ts";

/**
 * Settings by slug: one failed run of the triage opens an incident that takes many good ones to
 * resolve, and so does an expensive run, which nothing resolves for a day.
 */
const RULES: Readonly<Record<string, ClientJson>> = {
  "triage-fails": {
    kind: "run_failed",
    params: { statuses: ["failed", "timeout"], consecutive: 1 },
    match: { agents: ["issue-triage"] },
    group_by: "agent",
    severity: "warning",
    resolve_after: 32,
  },
  "costly-research": {
    kind: "run_cost",
    params: { usd: 0.25 },
    match: { agents: ["research"] },
    group_by: "agent",
    severity: "info",
  },
};

/** Status of a call that takes a scope that the key lacks. */
const FORBIDDEN = 403;

/**
 * Creates the missing rules; a later demo changes none.
 *
 * @returns slugs of those that were created
 */
export async function createRules(client: Client): Promise<readonly string[]> {
  const { body } = await client.get("/v1/rules");
  const known = new Set((body["rules"] as readonly { slug: string }[]).map(({ slug }) => slug));
  const created: string[] = [];
  for (const [slug, settings] of Object.entries(RULES)) {
    if (known.has(slug)) continue;
    try {
      await client.put(`/v1/rules/${slug}`, settings);
    } catch (error) {
      if (error instanceof Refused && error.status === FORBIDDEN) return created;
      throw error;
    }
    created.push(slug);
  }
  return created;
}
