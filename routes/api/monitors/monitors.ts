/** Endpoints of monitors: `/v1/monitors`, and the monitor and the flips of an agent. */
import { existing, notFound, type Problem } from "../../../domain/core/errors.ts";
import { z } from "zod";
import { monitorBody, MONITORS, parsePause, pauseBody } from "../../../domain/monitors/body.ts";
import { MONITOR_STATES } from "../../../domain/monitors/monitor.ts";
import {
  type FlipsQuery,
  MONITORS_PER_PAGE,
  type MonitorsQuery,
} from "../../../domain/monitors/row.ts";
import { teamKey } from "../../http/access.ts";
import { answerWrite } from "../../http/answer.ts";
import { madeBy, type RequestContext } from "../../http/context.ts";
import { decodeCursor, encodeCursor, nameInPath, queryOf } from "../../http/query.ts";
import { endpoints, written } from "../../openapi/describe.ts";
import { RANGE, slug } from "../../openapi/fields.ts";
import { NO_SUCH_AGENT } from "../agents/agents.ts";
import * as wire from "./monitor_json.ts";
import { Query } from "../../../domain/core/query.ts";
import { isAgent } from "../../../domain/core/rules.ts";
import { listOf, returns } from "../answers.ts";

/** The same error for an agent without a monitor, an unknown agent, and an agent of another team. */
export const NO_SUCH_MONITOR = notFound(
  "No such monitor: list the monitors, or create one for an agent with PUT",
);

/** Returns the agent of the path; refuses a text that is no slug. */
function agentInPath(c: RequestContext, none: Problem): string {
  const slug = nameInPath(c);
  return existing(isAgent(slug) ? slug : null, none);
}

/** Parses the query of a list of monitors. */
function parseMonitorsQuery(text: string): MonitorsQuery {
  const query = new Query(text);
  return {
    state: query.choice("state", MONITOR_STATES) ?? null,
    ...query.page((cursor) => {
      const agent = decodeCursor(cursor);
      return isAgent(agent) ? agent : null;
    }, MONITORS_PER_PAGE),
  };
}

/** Parses the query of a list of flips. */
function parseFlipsQuery(text: string): FlipsQuery {
  const query = new Query(text);
  const page = query.page((cursor) => {
    const at = decodeCursor(cursor) ?? "";
    return /^\d{1,16}$/.test(at) ? Number(at) : null;
  }, MONITORS_PER_PAGE);
  const { from: fromMs, to: toMs } = query.range();
  return { ...page, fromMs, toMs };
}

const DELETED = "The settings of the deleted monitor.";

/** Flips that the uptime is computed from; of more only the latest count. */
const UPTIME_FLIPS_MAX = 1_000;

const pathFields = {
  slug: slug().describe("The agent's slug, percent-encoded: `a/b` is `a%2Fb`."),
};

export const MONITOR_ENDPOINTS = endpoints("Monitors", {
  putMonitor: {
    route: "PUT /v1/agents/:slug/monitor",
    access: teamKey("admin"),
    handler: async (c, deps, { team }) => {
      const { settings, version } = MONITORS.parse(c.get("body").value, 0);
      const agent = agentInPath(c, NO_SUCH_AGENT);
      const stored = await deps.monitors.put(team, agent, settings, version, madeBy(c, deps));
      const put = existing(stored, NO_SUCH_AGENT);
      const row = await wire.monitorRow(deps, team, put.record);
      return answerWrite(c, put.kind, wire.monitorValue.write(row), null);
    },
    summary: "Set the monitor of an agent",
    description: "Creates the monitor of an agent, or replaces all its settings: fields that are " +
      "not sent get their defaults. Returns 202 for a new version, 200 when nothing differs. An " +
      "agent that has finished a run before is `up` and expected from now on; any other is `new` " +
      "until its first run ends. Unknown fields are refused.",
    pathFields,
    body: monitorBody.meta({ id: "MonitorRequest" }),
    answers: written(wire.monitorValue),
    errors: ["missing_field", "not_found", "version_conflict"],
    idempotency: "content",
  },
  getMonitor: {
    route: "GET /v1/agents/:slug/monitor",
    access: teamKey("read"),
    ...returns("The monitor.", wire.monitorDetailValue, async (c, deps, { team }) => {
      const { monitors, environment } = deps;
      const tz = wire.parseZone(queryOf(c));
      const agent = agentInPath(c, NO_SUCH_MONITOR);
      const record = existing(await monitors.read(team, agent), NO_SUCH_MONITOR);
      const nowMs = environment.now();
      const [flips, proposal] = await Promise.all([
        monitors.flipsOf(team, [agent], wire.uptimeFrom(nowMs), UPTIME_FLIPS_MAX),
        monitors.proposal(team, agent, tz),
      ]);
      const row = await wire.monitorRow(deps, team, record);
      return { record: row, flips: flips.get(agent) ?? [], proposal, nowMs };
    }),
    summary: "Read the monitor of an agent",
    description: "Returns the settings and the state, the uptime, and a proposal of settings. An " +
      "agent without a monitor returns 404, as an unknown one does.",
    pathFields,
    query: { tz: wire.zone },
    errors: ["not_found"],
  },
  deleteMonitor: {
    route: "DELETE /v1/agents/:slug/monitor",
    access: teamKey("admin"),
    ...returns(DELETED, wire.deletedMonitorValue, async (c, deps, { team }) => {
      const agent = agentInPath(c, NO_SUCH_MONITOR);
      return existing(await deps.monitors.remove(team, agent, madeBy(c, deps)), NO_SUCH_MONITOR);
    }),
    summary: "Delete the monitor of an agent",
    description: "Deletes the monitor and its flips. A repeat returns 404. A ping with `every` " +
      "or `cron` creates a new one.",
    pathFields,
    errors: ["not_found"],
    idempotency: "target",
  },
  pauseMonitor: {
    route: "POST /v1/agents/:slug/monitor/pause",
    access: teamKey("admin"),
    mayLackBody: true,
    ...returns("The paused monitor.", wire.monitorValue, async (c, deps, { team }) => {
      const made = madeBy(c, deps);
      const pause = parsePause(c.get("body"), made.at);
      const record = await deps.monitors.pause(team, agentInPath(c, NO_SUCH_MONITOR), pause, made);
      return await wire.monitorRow(deps, team, existing(record, NO_SUCH_MONITOR));
    }),
    summary: "Pause a monitor",
    description:
      "Nothing is expected and nothing is judged until `until`, a resume, or, unless it " +
      "is `sticky`, the next successful run. The body may be empty. Pausing again replaces the pause.",
    pathFields,
    body: pauseBody.meta({ id: "MonitorPauseRequest" }),
    errors: ["not_found"],
    idempotency: "content",
  },
  resumeMonitor: {
    route: "POST /v1/agents/:slug/monitor/resume",
    access: teamKey("admin"),
    ...returns("The monitor.", wire.monitorValue, async (c, deps, { team }) => {
      const agent = agentInPath(c, NO_SUCH_MONITOR);
      const record = await deps.monitors.resume(team, agent, madeBy(c, deps));
      return await wire.monitorRow(deps, team, existing(record, NO_SUCH_MONITOR));
    }),
    summary: "Resume a monitor",
    description: "Ends a pause. The next run is expected as if one had come now. Changes nothing " +
      "without a pause.",
    pathFields,
    errors: ["not_found"],
    idempotency: "target",
  },
  listMonitors: {
    route: "GET /v1/monitors",
    access: teamKey("read"),
    ...listOf("monitors", wire.monitorPage, MONITORS_PER_PAGE, async (c, deps, { team }) => {
      const { monitors, next } = await deps.monitors.list(team, parseMonitorsQuery(queryOf(c)));
      const items = await wire.monitorRows(deps, team, monitors);
      return { items, cursor: next && encodeCursor(next) };
    }, {
      state: z.enum(MONITOR_STATES).meta({ id: "MonitorState" }).optional()
        .describe("Only monitors in this state."),
    }),
    summary: "List monitors",
    description: "Lists monitors by the slug of their agent.",
  },
  listFlips: {
    route: "GET /v1/agents/:slug/flips",
    access: teamKey("read"),
    ...listOf("flips", wire.flipPage, MONITORS_PER_PAGE, async (c, { monitors }, { team }) => {
      const query = parseFlipsQuery(queryOf(c));
      const agent = agentInPath(c, NO_SUCH_MONITOR);
      existing(await monitors.read(team, agent), NO_SUCH_MONITOR);
      const { flips, next } = await monitors.flips(team, agent, query);
      return { items: flips, cursor: next === null ? null : encodeCursor(String(next)) };
    }, RANGE),
    summary: "List the flips of a monitor",
    description: "Lists the changes of its state, latest first, and the times in which the " +
      "service was not there to judge, as `unknown`. Flips are kept for 400 days.",
    pathFields,
    errors: ["not_found"],
  },
});
