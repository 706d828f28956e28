/** Gives the demo's agents monitors, as far as they have none and the key may. */
import { type Client, type ClientJson, Refused } from "../client.ts";

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
 * Creates the missing monitors; a later demo changes none.
 *
 * @returns agents that got one
 */
export async function createMonitors(client: Client): Promise<readonly string[]> {
  const created: string[] = [];
  for (const [agent, settings] of Object.entries(MONITORS)) {
    const path = `/v1/agents/${agent}`;
    const { body } = await client.get(path);
    if (body["monitor"] !== null) continue;
    try {
      await client.put(`${path}/monitor`, settings);
      if (agent === PAUSED) await client.post(`${path}/monitor/pause`, { sticky: true });
    } catch (error) {
      if (error instanceof Refused && error.status === FORBIDDEN) return created;
      throw error;
    }
    created.push(agent);
  }
  return created;
}
