/** Endpoints of monitors: `/v1/monitors`, and the monitor and the flips of an agent. */
import { existing, orRefuse } from "../../../domain/core/errors.ts";
import { z } from "zod";
import { instantText } from "../../../domain/core/fields.ts";
import { monitorBody, parseMonitor, parsePause, pauseBody } from "../../../domain/monitors/body.ts";
import { MONITOR_STATES } from "../../../domain/monitors/monitor.ts";
import { MONITORS_PER_PAGE } from "../../../domain/monitors/store.ts";
import { teamKey } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { answer, answerWrite } from "../../http/answer.ts";
import { madeBy } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { endpoints, ok, written } from "../../openapi/describe.ts";
import { cursorOf, limitOf, slug } from "../../openapi/fields.ts";
import { NO_SUCH_AGENT } from "../agents/agents.ts";
import { AGENT, DELETED, DETAIL, FLIPS, MONITOR, PAUSED, SETTINGS_SENT } from "./examples.ts";
import {
  deletedMonitorValue,
  flipPage,
  monitorDetailValue,
  monitorJson,
  monitorPage,
  type MonitorRow,
  monitorRows,
  monitorValue,
  uptimeFrom,
} from "./monitor_json.ts";
import {
  agentInPath,
  flipCursor,
  monitorCursor,
  NO_SUCH_MONITOR,
  parseFlipsQuery,
  parseMonitorsQuery,
  parseZone,
  zone,
} from "./monitors.ts";

/** Flips that the uptime is computed from; of more only the latest count. */
const UPTIME_FLIPS_MAX = 1_000;

const pathFields = {
  slug: slug().describe("The agent's slug, percent-encoded: `a/b` is `a%2Fb`."),
};

const getMonitor: Handler = async (c, deps) => {
  const tz = orRefuse(parseZone(queryOf(c)));
  const { monitors, environment } = deps;
  const { team } = c.get("principal");
  const agent = agentInPath(c, NO_SUCH_MONITOR);
  const record = existing(await monitors.read(team, agent), NO_SUCH_MONITOR);
  const nowMs = environment.now();
  const fromMs = uptimeFrom(nowMs);
  const [flips, proposal] = await Promise.all([
    monitors.flipsOf(team, [agent], fromMs, UPTIME_FLIPS_MAX),
    monitors.proposal(team, agent, tz),
  ]);
  const [row] = await monitorRows(deps, team, [record]) as [MonitorRow];
  const detail = { record: row, flips: flips.get(agent) ?? [], proposal, nowMs };
  return answer(c, 200, monitorDetailValue.write(detail));
};

/** Endpoints of monitors. */
export const MONITOR_ENDPOINTS = endpoints("Monitors", {
  putMonitor: {
    route: "PUT /v1/agents/:slug/monitor",
    access: teamKey("admin"),
    handler: async (c, deps) => {
      const { settings, version } = orRefuse(parseMonitor(c.get("body")));
      const agent = agentInPath(c, NO_SUCH_AGENT);
      const { team } = c.get("principal");
      const stored = await deps.monitors.put(team, agent, settings, version, madeBy(c, deps));
      const put = orRefuse(existing(stored, NO_SUCH_AGENT));
      return answerWrite(c, put.kind, await monitorJson(deps, team, put.record), null);
    },
    summary: "Set the monitor of an agent",
    description: "Creates the monitor of an agent, or replaces all its settings: fields that are " +
      "not sent get their defaults. Returns 202 for a new version, 200 when nothing differs. An " +
      "agent that has finished a run before is `up` and expected from now on; any other is `new` " +
      "until its first run ends. Unknown fields are refused.",
    pathFields,
    body: monitorBody.meta({ id: "MonitorRequest" }),
    answers: written(monitorValue),
    errors: ["missing_field", "not_found", "version_conflict"],
    idempotency: "content",
    example: {
      path: { slug: AGENT },
      body: SETTINGS_SENT,
      answer: MONITOR,
      needs: ["sendHeartbeat"],
    },
  },
  getMonitor: {
    route: "GET /v1/agents/:slug/monitor",
    access: teamKey("read"),
    handler: getMonitor,
    summary: "Read the monitor of an agent",
    description: "Returns the settings and the state, the uptime, and a proposal of settings. An " +
      "agent without a monitor returns 404, as an unknown one does.",
    pathFields,
    query: { tz: zone },
    answers: ok("The monitor.", monitorDetailValue),
    errors: ["not_found"],
    example: { path: { slug: AGENT }, answer: DETAIL, needs: ["sendHeartbeat", "putMonitor"] },
  },
  deleteMonitor: {
    route: "DELETE /v1/agents/:slug/monitor",
    access: teamKey("admin"),
    handler: async (c, deps) => {
      const agent = agentInPath(c, NO_SUCH_MONITOR);
      const removed = await deps.monitors.remove(c.get("principal").team, agent, madeBy(c, deps));
      return answer(c, 200, deletedMonitorValue.write(existing(removed, NO_SUCH_MONITOR)));
    },
    summary: "Delete the monitor of an agent",
    description:
      "Deletes the monitor and its flips. A repeat returns 404. A ping with `every` or " +
      "`cron` creates a new one.",
    pathFields,
    answers: ok("The settings of the deleted monitor.", deletedMonitorValue),
    errors: ["not_found"],
    idempotency: "target",
    example: { path: { slug: AGENT }, answer: DELETED, needs: ["sendHeartbeat", "putMonitor"] },
  },
  pauseMonitor: {
    route: "POST /v1/agents/:slug/monitor/pause",
    access: teamKey("admin"),
    mayLackBody: true,
    handler: async (c, deps) => {
      const made = madeBy(c, deps);
      const pause = orRefuse(parsePause(c.get("body"), made.at));
      const { team } = c.get("principal");
      const record = await deps.monitors.pause(team, agentInPath(c, NO_SUCH_MONITOR), pause, made);
      return answer(c, 200, await monitorJson(deps, team, existing(record, NO_SUCH_MONITOR)));
    },
    summary: "Pause a monitor",
    description:
      "Nothing is expected and nothing is judged until `until`, a resume, or, unless it " +
      "is `sticky`, the next successful run. The body may be empty. Pausing again replaces the pause.",
    pathFields,
    body: pauseBody.meta({ id: "MonitorPauseRequest" }),
    answers: ok("The paused monitor.", monitorValue),
    errors: ["not_found"],
    idempotency: "content",
    example: {
      path: { slug: AGENT },
      body: { sticky: true },
      answer: PAUSED,
      needs: ["sendHeartbeat", "putMonitor"],
    },
  },
  resumeMonitor: {
    route: "POST /v1/agents/:slug/monitor/resume",
    access: teamKey("admin"),
    handler: async (c, deps) => {
      const agent = agentInPath(c, NO_SUCH_MONITOR);
      const { team } = c.get("principal");
      const record = await deps.monitors.resume(team, agent, madeBy(c, deps));
      return answer(c, 200, await monitorJson(deps, team, existing(record, NO_SUCH_MONITOR)));
    },
    summary: "Resume a monitor",
    description: "Ends a pause. The next run is expected as if one had come now. Changes nothing " +
      "without a pause.",
    pathFields,
    answers: ok("The monitor.", monitorValue),
    errors: ["not_found"],
    idempotency: "target",
    example: { path: { slug: AGENT }, answer: MONITOR, needs: ["sendHeartbeat", "putMonitor"] },
  },
  listMonitors: {
    route: "GET /v1/monitors",
    access: teamKey("read"),
    handler: async (c, deps) => {
      const query = orRefuse(parseMonitorsQuery(queryOf(c)));
      const { team } = c.get("principal");
      const page = await deps.monitors.list(team, query);
      const cursor = page.next === null ? null : monitorCursor(page.next);
      const items = await monitorRows(deps, team, page.monitors);
      return answer(c, 200, monitorPage.write({ items, cursor }));
    },
    summary: "List monitors",
    description: "Lists monitors by the slug of their agent.",
    query: {
      state: z.enum(MONITOR_STATES).meta({ id: "MonitorState" }).optional()
        .describe("Only monitors in this state."),
      limit: limitOf(MONITORS_PER_PAGE, "monitors"),
      cursor: cursorOf("cursor"),
    },
    answers: ok("A page of monitors.", monitorPage),
    example: {
      query: { state: "up" },
      answer: { monitors: [MONITOR], cursor: null },
      needs: ["sendHeartbeat", "putMonitor"],
    },
  },
  listFlips: {
    route: "GET /v1/agents/:slug/flips",
    access: teamKey("read"),
    handler: async (c, { monitors }) => {
      const query = orRefuse(parseFlipsQuery(queryOf(c)));
      const { team } = c.get("principal");
      const agent = agentInPath(c, NO_SUCH_MONITOR);
      existing(await monitors.read(team, agent), NO_SUCH_MONITOR);
      const { flips, next } = await monitors.flips(team, agent, query);
      const cursor = next === null ? null : flipCursor(next);
      return answer(c, 200, flipPage.write({ items: flips, cursor }));
    },
    summary: "List the flips of a monitor",
    description:
      "Lists the changes of its state, latest first, and the times in which the service " +
      "was not there to judge, as `unknown`. Flips are kept for 400 days.",
    pathFields,
    query: {
      from: instantText.optional().describe("Start of the range, inclusive."),
      to: instantText.optional().describe("End of the range, exclusive; not before `from`."),
      limit: limitOf(MONITORS_PER_PAGE, "flips"),
      cursor: cursorOf("cursor"),
    },
    answers: ok("A page of flips.", flipPage),
    errors: ["not_found"],
    example: { path: { slug: AGENT }, answer: FLIPS, needs: ["sendHeartbeat", "putMonitor"] },
  },
});
