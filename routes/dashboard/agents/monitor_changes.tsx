/** Submissions of a monitor's forms. Each is the same as the API's call. */
import type { Handler } from "../../http/admission.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { parseMonitor } from "../../../domain/monitors/body.ts";
import { NO_SUCH_AGENT } from "../../api/agents/agents.ts";
import { NO_SUCH_MONITOR } from "../../api/monitors/monitors.ts";
import { fail } from "../../http/answer.ts";
import { agentPath, AGENTS_PATH } from "../layout/paths.ts";
import { seeOther, showFormOnProblem } from "../layout/reply.tsx";
import { Crumbs, DELETED, SAVED } from "../components/elements.tsx";
import { readAgent } from "./form.tsx";
import { bodyOfTexts, MonitorForm, readMonitorTexts, readPause } from "./monitor_form.tsx";

function madeBy(c: RequestContext, { environment }: AppDeps) {
  return { by: c.get("principal").credentialId, at: environment.now() };
}

/** Creates or changes the monitor, or shows the form again. */
export const submitMonitor: Handler = async (c, deps) => {
  const record = await readAgent(deps, c);
  if (record === null) return fail(c, NO_SUCH_AGENT);
  const { agent } = record;
  const { team } = c.get("principal");
  const texts = readMonitorTexts(c.get("form"));
  const exists = texts["version"] !== "";
  showFormOnProblem(c, (problem) => ({
    title: exists ? "Change the monitor" : "Create a monitor",
    crumbs: <Crumbs links={[["Agents", AGENTS_PATH], [record.name ?? agent, agentPath(agent)]]} />,
    body: <MonitorForm {...{ agent, texts, problem, exists }} />,
  }));
  const body = bodyOfTexts(texts);
  if ("code" in body) return fail(c, body);
  const parsed = parseMonitor(body);
  if (!parsed.ok) return fail(c, parsed.problem);
  const { settings, version } = parsed.value;
  const put = await deps.monitors.put(team, agent, settings, version, madeBy(c, deps));
  if (put === null) return fail(c, NO_SUCH_AGENT);
  return put.ok ? seeOther(agentPath(agent) + SAVED) : fail(c, put.problem);
};

/** Pauses the monitor. */
export const submitPause: Handler = async (c, deps) => {
  const record = await readAgent(deps, c);
  if (record === null) return fail(c, NO_SUCH_AGENT);
  const made = madeBy(c, deps);
  const pause = readPause(c.get("form"), made.at);
  const { team } = c.get("principal");
  const paused = await deps.monitors.pause(team, record.agent, pause, made);
  return paused === null ? fail(c, NO_SUCH_MONITOR) : seeOther(agentPath(record.agent));
};

/** Ends the pause of the monitor. */
export const submitResume: Handler = async (c, deps) => {
  const record = await readAgent(deps, c);
  if (record === null) return fail(c, NO_SUCH_AGENT);
  const { team } = c.get("principal");
  const resumed = await deps.monitors.resume(team, record.agent, madeBy(c, deps));
  return resumed === null ? fail(c, NO_SUCH_MONITOR) : seeOther(agentPath(record.agent));
};

/** Deletes the monitor with its history. */
export const submitMonitorDeletion: Handler = async (c, deps) => {
  const record = await readAgent(deps, c);
  if (record === null) return fail(c, NO_SUCH_AGENT);
  const { team } = c.get("principal");
  const removed = await deps.monitors.remove(team, record.agent, madeBy(c, deps));
  return removed === null ? fail(c, NO_SUCH_MONITOR) : seeOther(agentPath(record.agent) + DELETED);
};
