/** Gives the demo alert rules and monitors, as far as the key may. */
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

/**
 * Settings by agent. With them the board of agents shows each state after a while: a daily agent is
 * up, one that is expected each five minutes is late and then down, and one is paused.
 */
const MONITORS: Readonly<Record<string, ClientJson>> = {
  "issue-triage": { schedule: { every_seconds: 86_400 }, grace_seconds: 7_200 },
  "research": { schedule: { every_seconds: 300 }, grace_seconds: 300 },
  "nightly-report": { schedule: { cron: "0 2 * * *", tz: "UTC" }, grace_seconds: 3_600 },
};

/** The agent whose monitor is paused. */
const PAUSED = "nightly-report";

/** Status of a call that takes a scope that the key lacks. */
const FORBIDDEN = 403;

/**
 * Creates the missing rules, for open incidents; a later demo changes none.
 *
 * @returns slugs of those that were created
 */
export async function createRules(client: Client): Promise<readonly string[]> {
  const { body } = await client.get("/v1/rules");
  const known = new Set((body["rules"] as readonly { slug: string }[]).map(({ slug }) => slug));
  return await createEach(
    Object.keys(RULES).filter((slug) => !known.has(slug)),
    (slug) => client.put(`/v1/rules/${slug}`, RULES[slug]!),
  );
}

/**
 * Creates the missing monitors; a later demo changes none.
 *
 * @returns agents that got one
 */
export async function createMonitors(client: Client): Promise<readonly string[]> {
  const records = await Promise.all(
    Object.keys(MONITORS).map(async (agent) =>
      [agent, await client.get(`/v1/agents/${agent}`)] as const
    ),
  );
  const missing = records.filter(([, { body }]) => body["monitor"] === null);
  return await createEach(missing.map(([agent]) => agent), async (agent) => {
    const path = `/v1/agents/${agent}/monitor`;
    await client.put(path, MONITORS[agent]!);
    if (agent === PAUSED) await client.post(`${path}/pause`, { sticky: true });
  });
}

/** Creates objects until the key may not; returns the names of those that it created. */
async function createEach(
  names: readonly string[],
  create: (name: string) => Promise<unknown>,
): Promise<readonly string[]> {
  const created: string[] = [];
  for (const name of names) {
    try {
      await create(name);
    } catch (error) {
      if (error instanceof Refused && error.status === FORBIDDEN) return created;
      throw error;
    }
    created.push(name);
  }
  return created;
}
