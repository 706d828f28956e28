/** The board of a team with more agents than are sorted, over stores that hold that many. */
import { assertEquals } from "@std/assert";
import type { AgentRecord, AgentsQuery } from "../../domain/agents/agents.ts";
import { createMonitor } from "../../domain/monitors/monitor.ts";
import { defaultGraceSeconds } from "../../domain/monitors/schedule.ts";
import type { MonitorsQuery } from "../../domain/monitors/row.ts";
import { agentCursor } from "../../routes/api/agents/agents.ts";
import type { AppDeps } from "../../routes/http/context.ts";
import { loadBoard, parseBoardQuery } from "../../routes/dashboard/agents/board_load.ts";
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
      list: (_: unknown, { limit, sort, after }: AgentsQuery) => {
        const from = sort === "agent" && after !== null ? after.agent : "";
        const agents = RECORDS.filter(({ agent }) => agent > from).slice(0, limit)
          .filter(({ archived }) => !archived);
        const [last, final] = [agents.at(-1)?.agent ?? "", RECORDS.at(-1)?.agent];
        const next = last === final ? null : { agent: last, lastSeen: null };
        return Promise.resolve({ agents, next });
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
    runList: { page: () => Promise.resolve({ rows: [], next: null, searchedTo: null }) },
    spend: { some: () => Promise.resolve([]) },
  };
  return deps as unknown as AppDeps;
}

async function board(query: string, read: string[] = []) {
  const parsed = parseBoardQuery(query);
  const time = { nowMs: NOON, zone: "UTC" };
  const team = { id: "t_1" } as never;
  return await loadBoard({ deps: stores(read), team }, parsed, time);
}

Deno.test("a large team's board begins with agents that are down, also those not seen for long", async () => {
  const read: string[] = [];
  const { rows, isCut, all, next } = await board("", read);
  assertEquals(rows.slice(0, 3).map(({ agent }) => agent), ["a1198", "a0007", "a0000"]);
  assertEquals([isCut, rows.length], [true, 100]);
  assertEquals(all.filter(({ state }) => state === "down").map(({ agent }) => agent), ["a1198"]);
  assertEquals(
    read.sort(),
    ["a1150", "a1198"],
    "only agents in trouble that the list did not have",
  );
  assertEquals(next, { agent: "a0098", lastSeen: NOON - 98 });
  const archived = await board("archived=true");
  assertEquals(archived.rows.slice(0, 2).map(({ agent }) => agent), ["a1150", "a1198"]);
});

Deno.test("all agents of a large team are listed by slug", async () => {
  const { rows, isCut, all, next } = await board("sort=agent");
  assertEquals([rows.length, isCut, all], [100, false, []]);
  assertEquals(rows.filter(({ monitor }) => monitor !== null).length, 1);
  let [count, after] = [rows.length, next];
  while (after !== null) {
    const page = await board(`sort=agent&cursor=${agentCursor(after, "agent")}`);
    count += page.rows.length;
    after = page.next;
  }
  assertEquals(count, AGENTS - 1, "all but the archived one");
});
