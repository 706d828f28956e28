/** The board of a team with more agents than are sorted, over stores that hold that many. */
import { assertEquals } from "@std/assert";
import type { AgentRecord, AgentsQuery } from "../../domain/agents/agents.ts";
import { createMonitor } from "../../domain/monitors/monitor.ts";
import { defaultGraceSeconds } from "../../domain/monitors/schedule.ts";
import type { MonitorsQuery } from "../../domain/monitors/store.ts";
import type { AppDeps } from "../../routes/http/context.ts";
import { parseBoardQuery, readBoard } from "../../routes/dashboard/agents/board.ts";
import { NOON } from "../support/harness/harness.ts";

const AGENTS = 1_200;

function anAgent(n: number): AgentRecord {
  const activity = {
    runs: 1,
    succeeded: 1,
    failed: 0,
    running: 0,
    lastSeen: NOON - n,
    lastRun: null,
  };
  const agent = `a${String(n).padStart(4, "0")}`;
  return { agent, firstSeen: NOON - n, activity, name: null, notes: null, archived: n === 1_150 };
}

const RECORDS = Array.from({ length: AGENTS }, (_, n) => anAgent(n));

/** A monitor of the agent that was seen last but one, one of an archived agent, and one in the list. */
const MONITORS = [7, 1_150, 1_198].map((n) => {
  const schedule = { everySeconds: 3_600 };
  const graceSeconds = defaultGraceSeconds(schedule);
  const limits = { maxRuntimeSeconds: null, failureThreshold: 1, recoveryThreshold: 1 };
  const settings = { schedule, graceSeconds, ...limits, enabled: true };
  const made = { by: "key_eu_1", at: NOON };
  const last = { lastArrivalAt: NOON, lastOkAt: NOON };
  const { monitor } = createMonitor(anAgent(n).agent, `mon_eu_${n}`, settings, made, last);
  return { monitor: { ...monitor, state: n === 7 ? "up" as const : "down" as const }, running: 0 };
});

/** Stores that hold more agents than a board sorts, and count the agents read on their own. */
function stores(read: string[]): AppDeps {
  const deps = {
    agents: {
      list: (_: unknown, { limit }: AgentsQuery) => {
        const agents = RECORDS.slice(0, limit).filter(({ archived }) => !archived);
        const next = { agent: agents.at(-1)?.agent ?? "", lastSeen: null };
        return Promise.resolve({ ok: true, value: { agents, next } });
      },
      read: (_: unknown, slug: string) => {
        read.push(slug);
        return Promise.resolve(RECORDS.find(({ agent }) => agent === slug) ?? null);
      },
    },
    monitors: {
      list: (_: unknown, { after }: MonitorsQuery) => {
        const monitors = MONITORS.filter(({ monitor }) => monitor.agent > (after ?? ""));
        return Promise.resolve({ monitors, next: null });
      },
      flipsOf: () => Promise.resolve(new Map()),
    },
    incidents: { list: () => Promise.resolve({ incidents: [], next: null }) },
    spend: { some: () => Promise.resolve([]) },
  };
  return deps as unknown as AppDeps;
}

async function board(query: string, read: string[] = []) {
  const parsed = parseBoardQuery(query);
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return await readBoard(stores(read), { id: "t_1" } as never, parsed.value, NOON);
}

Deno.test("a large team's board begins with agents that are down, also those not seen for long", async () => {
  const read: string[] = [];
  const { rows, isCut, counts, next } = await board("", read);
  assertEquals(rows.slice(0, 3).map(({ record }) => record.agent), ["a1198", "a0007", "a0000"]);
  assertEquals([isCut, rows.length, counts?.byState.get("down")], [true, 99, 2]);
  assertEquals(read.sort(), ["a1150", "a1198"], "only agents that the list did not have");
  assertEquals(next, "/dashboard/agents?skip=100");
  assertEquals((await board("archived=true")).rows.length, 100);
});

Deno.test("all agents of a large team are listed by slug", async () => {
  const { rows, isCut, counts, next } = await board("sort=agent");
  assertEquals([rows.length, isCut, counts], [100, false, null]);
  assertEquals(rows.filter(({ monitor }) => monitor !== null).length, 1);
  assertEquals(next?.startsWith("/dashboard/agents?sort=agent&cursor="), true);
});
